#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"
#include "log/embedded/sync_gate.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using Catch::Contains;
using log::EmbeddedConfig;
using log::Sync;
using log::Topic;
using log::TopicPartition;

namespace {

namespace fs = std::filesystem;

const TopicPartition kWhere{Topic::kNotifications, 1};
using Log = std::unique_ptr<EmbeddedUnderTest>;

EmbeddedUnderTest::Change with(Sync sync) {
    return [sync](EmbeddedConfig& c) {
        c.sync = sync;
        c.boot_id = "boot 1";
    };
}

std::vector<Read> append_one_by_one(EmbeddedUnderTest& log, int count, std::size_t size) {
    std::vector<Read> written;
    for (int i = 0; i < count; ++i) {
        const auto read =
            append(log, kWhere, {record("key" + std::to_string(i), std::string(size, 'x'))});
        written.push_back(read.front());
    }
    return written;
}

std::string content(const fs::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// The files as they stand, in a directory that goes with it.
struct Killed {
    explicit Killed(const EmbeddedUnderTest& log) {
        copy_as_killed(log.config.directory, directory / "log");
    }

    fs::path newest(const std::string& part) const {
        fs::path newest;
        for (const auto& entry : fs::directory_iterator(directory / "log")) {
            if (entry.path().filename().string().find(part) == std::string::npos) continue;
            newest = std::max(newest, entry.path());
        }
        return newest;
    }
    fs::path write_ahead_file() const { return newest(".log"); }
    fs::path manifest() const { return newest("MANIFEST-"); }
    fs::path mark() const { return directory / "log" / "HIGH_WATER"; }
    std::size_t written() const { return fs::file_size(write_ahead_file()); }
    void change(std::size_t at) const { damage(write_ahead_file(), at); }
    void zeros(const fs::path& name, std::size_t from, std::size_t size) const {
        std::fstream file{name, std::ios::binary | std::ios::in | std::ios::out};
        file.seekp(static_cast<std::streamoff>(from));
        file << std::string(size, '\0');
    }
    static void damage(const fs::path& name, std::size_t at) {
        auto bytes = content(name);
        bytes.at(at) = static_cast<char>(bytes[at] ^ 0x55);
        std::ofstream{name, std::ios::binary} << bytes;
    }
    Log open(Sync sync, const std::string& boot) const {
        return std::make_unique<EmbeddedUnderTest>([&](EmbeddedConfig& c) {
            c.sync = sync;
            c.boot_id = boot;
            fs::copy(directory / "log", c.directory, fs::copy_options::recursive);
        });
    }

    TempDir directory;
};

/// Why it does not open; empty: it does.
std::string why_not(const Killed& killed, const std::string& boot) {
    try {
        killed.open(Sync::always, boot);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

bool has_kept_file(const EmbeddedUnderTest& log) {
    for (const auto& entry : fs::directory_iterator(log.config.directory)) {
        if (entry.path().extension() == ".damaged") return true;
    }
    return false;
}

}  // namespace

TEST_CASE("a damaged byte of a write-ahead file is noticed, and the file is kept") {
    const auto sync = GENERATE(Sync::always, Sync::never);
    CAPTURE(static_cast<int>(sync));
    EmbeddedUnderTest log{with(sync)};
    append_one_by_one(log, 20, 300);
    const Killed killed{log};
    killed.change(killed.written() / 2);

    const auto again = killed.open(sync, "boot 1");
    CHECK(read_all(*again, kWhere).size() < 20);
    const auto damage = again->embedded->damage();
    REQUIRE(damage.size() == 1);
    const auto name = killed.write_ahead_file().filename().string() + ".damaged";
    CHECK_THAT(damage[0], Contains("are not in the write-ahead files any more") && Contains(name));
    CHECK(content(again->config.directory / name) == content(killed.write_ahead_file()));

    again->close();
    again->open();
    CHECK(again->embedded->damage() == damage);
    again->close();
    fs::remove(again->config.directory / "DAMAGED");
    again->open();
    CHECK(again->embedded->damage().empty());
    CHECK_FALSE(has_kept_file(*again));
}

TEST_CASE("wherever a byte is damaged, nothing is missing without a word") {
    const std::string boot = GENERATE("boot 1", "boot 2");
    const std::size_t size = GENERATE(200U, 5'000U, 40'000U);
    CAPTURE(boot, size);
    EmbeddedUnderTest log{with(Sync::always)};
    const auto written = append_one_by_one(log, 12, size);
    std::mt19937 random{7};
    for (int round = 0; round < 8; ++round) {
        const Killed killed{log};
        const auto at = random() % killed.written();
        CAPTURE(at);
        killed.change(at);
        const auto again = killed.open(Sync::always, boot);
        const bool missing = read_all(*again, kWhere) != written;
        CHECK(missing == !again->embedded->damage().empty());
        CHECK(has_kept_file(*again) == missing);
    }
}

TEST_CASE("wherever a write-ahead file is cut, nothing is missing without a word") {
    const std::string boot = GENERATE("boot 1", "boot 2");
    EmbeddedUnderTest log{with(Sync::always)};
    const auto written = append_one_by_one(log, 20, 2'000);
    const std::size_t bytes = GENERATE(0U, 4'096U, 20'001U, 1U << 20);
    CAPTURE(boot, bytes);
    const Killed killed{log};
    fs::resize_file(killed.write_ahead_file(), std::min(bytes, killed.written() - 1));
    const auto again = killed.open(Sync::always, boot);
    CHECK(read_all(*again, kWhere).size() < 20);
    CHECK(again->embedded->damage().size() == 1);
}

TEST_CASE("a page of zeros in the middle of a write-ahead file is noticed") {
    EmbeddedUnderTest log{with(Sync::always)};
    append_one_by_one(log, 20, 2'000);
    const Killed killed{log};
    killed.zeros(killed.write_ahead_file(), 8'192, 4'096);
    CHECK(killed.open(Sync::always, "boot 2")->embedded->damage().size() == 1);
}

TEST_CASE("the end of a write that a crash interrupted is no damage") {
    const auto sync = GENERATE(Sync::always, Sync::never);
    const std::string boot = GENERATE("boot 1", "boot 2");
    CAPTURE(static_cast<int>(sync), boot);
    EmbeddedUnderTest log{with(sync)};
    auto written = append_one_by_one(log, 5, 9'000);
    const Killed before{log};
    append(log, kWhere, {record("never answered", std::string(9'000, 'x'))});
    const Killed killed{log};
    // The mark is written once the write is whole.
    fs::copy_file(before.mark(), killed.mark(), fs::copy_options::overwrite_existing);
    SECTION("it was written, and not answered") { written = read_all(log, kWhere); }
    SECTION("its last pages are missing") {
        fs::resize_file(killed.write_ahead_file(), killed.written() / 4'096 * 4'096);
    }
    SECTION("a page in between is missing, as after a power loss") {
        killed.zeros(killed.write_ahead_file(), killed.written() / 4'096 * 4'096 - 4'096, 4'096);
    }
    const auto again = killed.open(sync, boot);
    CHECK(read_all(*again, kWhere) == written);
    CHECK(again->embedded->damage().empty());
    CHECK_FALSE(has_kept_file(*again));
}

TEST_CASE("writes that were not synced may be missing after a reboot") {
    EmbeddedUnderTest log{with(Sync::never)};
    append_one_by_one(log, 5, 300);
    const Killed killed{log};
    fs::resize_file(killed.write_ahead_file(), 300);
    CHECK(killed.open(Sync::never, "boot 2")->embedded->damage().empty());
    CHECK(killed.open(Sync::never, "boot 1")->embedded->damage().size() == 1);
}

TEST_CASE("damage of write-ahead files that no record needs is none") {
    EmbeddedUnderTest log{with(Sync::always)};
    const auto written = append_one_by_one(log, 5, 300);
    log.close();
    for (const auto& entry : fs::directory_iterator(log.config.directory)) {
        if (entry.path().extension() != ".log" || entry.file_size() < 20) continue;
        std::fstream file{entry.path(), std::ios::binary | std::ios::in | std::ios::out};
        file.seekp(15);
        file.put('\x55');
    }
    log.open();
    CHECK(read_all(log, kWhere) == written);
    CHECK(log.embedded->damage().empty());
}

TEST_CASE("without its newest write-ahead file a log does not start") {
    const std::string boot = GENERATE("boot 1", "boot 2");
    EmbeddedUnderTest log{with(Sync::always)};
    append_one_by_one(log, 5, 300);
    const Killed killed{log};
    const auto file = killed.write_ahead_file();
    fs::rename(file, file.string() + ".away");
    std::ofstream{killed.directory / "log" / "000001.log"};  // an older one is no help
    CHECK_THAT(why_not(killed, boot), Contains("is damaged: its write-ahead file " +
                                               file.filename().string() + " is missing"));
    fs::rename(file.string() + ".away", file);
    CHECK(why_not(killed, boot).empty());
}

TEST_CASE("a manifest that is not as it was ends the start") {
    EmbeddedUnderTest log{with(Sync::always)};
    append_one_by_one(log, 5, 300);
    const Killed killed{log};
    const auto size = fs::file_size(killed.manifest());
    SECTION("cut anywhere") {
        for (std::size_t cut = 1; cut < size; cut += 1 + size / 16) {
            CAPTURE(cut);
            const Killed one{log};
            fs::resize_file(one.manifest(), size - cut);
            CHECK_THAT(why_not(one, "boot 2"), Contains("is damaged"));
        }
    }
    SECTION("zeros at its end") {
        killed.zeros(killed.manifest(), size - 20, 20);
        CHECK_THAT(why_not(killed, "boot 2"), Contains("is not as it was"));
    }
    SECTION("CURRENT names an older one") {
        const auto older = killed.directory / "log" / "MANIFEST-000001";
        fs::copy_file(killed.manifest(), older);
        std::ofstream{killed.directory / "log" / "CURRENT"} << "MANIFEST-000001\n";
        CHECK_THAT(why_not(killed, "boot 2"), Contains("CURRENT names MANIFEST-000001"));
    }
}

TEST_CASE("a mark that is older, damaged or gone is no damage") {
    EmbeddedUnderTest log{with(Sync::always)};
    const Killed older{log};
    const auto written = append_one_by_one(log, 5, 300);
    const Killed killed{log};
    SECTION("older") {
        fs::copy_file(older.mark(), killed.mark(), fs::copy_options::overwrite_existing);
    }
    SECTION("gone") { fs::remove(killed.mark()); }
    SECTION("empty") { fs::resize_file(killed.mark(), 0); }
    SECTION("damaged") {
        for (const std::size_t at : {3U, 20U, 515U, 530U}) Killed::damage(killed.mark(), at);
    }
    for (int start = 0; start < 2; ++start) {
        const auto again = killed.open(Sync::always, "boot 2");
        CHECK(read_all(*again, kWhere) == written);
        CHECK(again->embedded->damage().empty());
    }
}
