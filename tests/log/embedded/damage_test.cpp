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

/// The files as they stand, in a directory that goes with it.
struct Killed {
    explicit Killed(const EmbeddedUnderTest& log) {
        copy_as_killed(log.config.directory, directory / "log");
    }

    fs::path write_ahead_file() const {
        fs::path newest;
        for (const auto& entry : fs::directory_iterator(directory / "log")) {
            if (entry.path().extension() == ".log") newest = std::max(newest, entry.path());
        }
        return newest;
    }
    std::string content() const {
        std::ifstream in{write_ahead_file(), std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    /// Bytes up to the zeros that are filled ahead.
    std::size_t written() const { return content().find_last_not_of('\0') + 1; }
    void change(std::size_t at) const {
        std::fstream file{write_ahead_file(), std::ios::binary | std::ios::in | std::ios::out};
        const char byte = static_cast<char>(content().at(at) ^ 0x55);
        file.seekp(static_cast<std::streamoff>(at));
        file.put(byte);
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

bool has_kept_file(const EmbeddedUnderTest& log) {
    for (const auto& entry : fs::directory_iterator(log.config.directory)) {
        if (entry.path().extension() == ".damaged") return true;
    }
    return false;
}

}  // namespace

TEST_CASE("a damaged byte of a write-ahead file is noticed, and the file is kept", "[embedded]") {
    const auto sync = GENERATE(Sync::always, Sync::never);
    CAPTURE(static_cast<int>(sync));
    EmbeddedUnderTest log{with(sync)};
    append_one_by_one(log, 20, 300);
    const Killed killed{log};
    const auto at = killed.written() / 2;
    killed.change(at);

    const auto again = killed.open(sync, "boot 1");
    CHECK(read_all(*again, kWhere).size() < 20);
    const auto damage = again->embedded->damage();
    REQUIRE(damage.size() == 1);
    const auto name = killed.write_ahead_file().filename().string();
    CHECK_THAT(damage[0], Contains("of " + name + " are damaged") && Contains("were not read"));
    std::ifstream kept{again->config.directory / (name + ".damaged"), std::ios::binary};
    CHECK(std::string{std::istreambuf_iterator<char>{kept}, {}} == killed.content());

    again->close();
    again->open();
    CHECK(again->embedded->damage() == damage);
    again->close();
    fs::remove(again->config.directory / "DAMAGED");
    again->open();
    CHECK(again->embedded->damage().empty());
}

TEST_CASE("wherever a byte is damaged, nothing is missing without a word", "[embedded]") {
    const std::string boot = GENERATE("boot 1", "boot 2");
    const std::size_t size = GENERATE(200U, 5'000U, 40'000U);
    CAPTURE(boot, size);
    EmbeddedUnderTest log{with(Sync::always)};
    const auto written = append_one_by_one(log, 12, size);
    std::mt19937 random{7};
    for (int round = 0; round < 8; ++round) {
        const Killed killed{log};
        // What stands behind another write was on the disk before; of the last ones nobody knows
        // that after a power loss.
        const auto at = random() % (killed.written() - 3 * (size + 200));
        CAPTURE(at);
        killed.change(at);
        const auto again = killed.open(Sync::always, boot);
        const bool missing = read_all(*again, kWhere) != written;
        CHECK(missing == !again->embedded->damage().empty());
        CHECK(has_kept_file(*again) == missing);
    }
}

TEST_CASE("a page of zeros in the middle of a write-ahead file is noticed", "[embedded]") {
    EmbeddedUnderTest log{with(Sync::always)};
    append_one_by_one(log, 20, 2'000);
    const Killed killed{log};
    std::fstream file{killed.write_ahead_file(), std::ios::binary | std::ios::in | std::ios::out};
    file.seekp(8'192);
    file << std::string(4'096, '\0');
    file.close();
    CHECK(killed.open(Sync::always, "boot 2")->embedded->damage().size() == 1);
}

TEST_CASE("a write-ahead file of whole pages that was cut within a write is noticed",
          "[embedded]") {
    EmbeddedUnderTest log{with(Sync::always)};
    append_one_by_one(log, 20, 2'000);
    const Killed killed{log};
    fs::resize_file(killed.write_ahead_file(), 20'001);
    const auto again = killed.open(Sync::always, "boot 2");
    CHECK(read_all(*again, kWhere).size() < 20);
    REQUIRE(again->embedded->damage().size() == 1);
    CHECK_THAT(again->embedded->damage()[0], Contains("the file was cut"));
}

TEST_CASE("what a crash leaves at the end of a write-ahead file is no damage", "[embedded]") {
    const auto sync = GENERATE(Sync::always, Sync::never);
    const std::string boot = GENERATE("boot 1", "boot 2");
    CAPTURE(static_cast<int>(sync), boot);
    EmbeddedUnderTest log{with(sync)};
    const auto written = append_one_by_one(log, 5, 9'000);
    const auto is_whole = [&](const Killed& killed) {
        const auto again = killed.open(sync, boot);
        const auto read = read_all(*again, kWhere);
        CHECK(again->embedded->damage().empty());
        CHECK_FALSE(has_kept_file(*again));
        return read == written;
    };
    CHECK(is_whole(Killed{log}));
    // The last write was interrupted: of its pages only the first ones are on the disk.
    const Killed killed{log};
    const auto end = killed.written() / 4'096 * 4'096;
    std::fstream file{killed.write_ahead_file(), std::ios::binary | std::ios::in | std::ios::out};
    file.seekp(static_cast<std::streamoff>(end));
    file << std::string(killed.written() - end, '\0');
    file.close();
    CHECK_FALSE(is_whole(killed));
    if (sync == Sync::never) return;
    // Or only the last ones, after a power loss: a page in between was not written.
    if (boot == "boot 1") return;
    const Killed holed{log};
    std::fstream other{holed.write_ahead_file(), std::ios::binary | std::ios::in | std::ios::out};
    other.seekp(static_cast<std::streamoff>(end - 4'096));
    other << std::string(4'096, '\0');
    other.close();
    CHECK_FALSE(is_whole(holed));
}

TEST_CASE("damage of write-ahead files that no record needs is none", "[embedded]") {
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
