#include "log/contract_support.hpp"
#include "log/control.hpp"
#include "log/embedded/embedded_under_test.hpp"

#include <fstream>

#include <catch2/catch.hpp>
#include <rocksdb/db.h>
#include <sys/mount.h>
#include <unistd.h>

using namespace beckon;
using namespace beckon::test;
using Catch::Contains;
using log::EmbeddedConfig;
using log::Topic;
using log::TopicPartition;

namespace {

const TopicPartition kWhere{Topic::kNotifications, 1};

std::string why_not(const EmbeddedConfig& config) {
    try {
        log::open_embedded_log(config);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "it opened";
}

std::vector<std::filesystem::path> files_with(const std::filesystem::path& directory,
                                              const std::string& part) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.path().filename().string().find(part) != std::string::npos) {
            found.push_back(entry.path());
        }
    }
    REQUIRE_FALSE(found.empty());
    return found;
}

std::filesystem::path file_with(const std::filesystem::path& directory, const std::string& part) {
    return files_with(directory, part).front();
}

/// The log as it would be found if its process ended now: a copy of its directory.
EmbeddedConfig as_if_killed(const EmbeddedUnderTest& log) {
    auto killed = log.config;
    killed.directory = log.directory / "killed";
    copy_as_killed(log.config.directory, killed.directory);
    return killed;
}

/// RocksDB alone in that directory, with the log's families if it holds a log.
void with_bare_database(const std::filesystem::path& directory, bool holds_log,
                        const std::function<void(rocksdb::DB&)>& change) {
    std::filesystem::create_directories(directory);
    rocksdb::Options options;
    options.create_if_missing = true;
    std::vector<rocksdb::ColumnFamilyDescriptor> families{{"default", {}}};
    if (holds_log) families.insert(families.end(), {{"records", {}}, {"latest", {}}});
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    const auto status = rocksdb::DB::Open(options, directory.string(), families, &handles, &opened);
    REQUIRE(status.ok());
    const std::unique_ptr<rocksdb::DB> database{opened};
    change(*database);
    for (auto* handle : handles) database->DestroyColumnFamilyHandle(handle);
}

/// A file system of so many bytes, where the machine lets us mount one.
class SmallDisk {
public:
    SmallDisk(const std::filesystem::path& at, std::size_t bytes) : at_(at) {
        std::filesystem::create_directories(at_);
        const auto options = "size=" + std::to_string(bytes);
        mounted = ::mount("tmpfs", at_.c_str(), "tmpfs", 0, options.c_str()) == 0;
    }
    ~SmallDisk() {
        if (mounted) ::umount2(at_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    bool mounted = false;

private:
    const std::filesystem::path at_;
};

/// Grows or cuts a file until its disk has so many bytes left.
void leave_free(const std::filesystem::path& file, std::uintmax_t bytes) {
    const auto free = std::filesystem::space(file).available;
    const auto size = std::filesystem::file_size(file);
    if (free < bytes) {
        std::filesystem::resize_file(file, size - std::min(size, bytes - free));
    } else if (free > bytes) {
        std::ofstream{file, std::ios::app} << std::string(free - bytes, 'x');
    }
}

}  // namespace

TEST_CASE("another number of partitions is refused with both numbers") {
    EmbeddedUnderTest log;
    log.close();
    auto other = log.config;
    other.partitions = 7;
    CHECK_THAT(why_not(other), Contains("4 partitions") && Contains("7"));
    other.partitions = 65'536;
    CHECK_THAT(why_not(other), Contains("at most 65,535"));
    log.open();
}

TEST_CASE("without a number a log keeps its partitions, and a new one has 12") {
    EmbeddedUnderTest log;
    log.close();
    log.config.partitions = 0;
    log.open();
    CHECK(log.embedded->partitions() == 4);
    log.close();
    log.config.directory = log.directory / "new";
    log.open();
    CHECK(log.embedded->partitions() == 12);
}

TEST_CASE("a layout without partitions is damage, whatever number is asked for") {
    EmbeddedUnderTest log;
    log.close();
    with_bare_database(log.config.directory, true, [](rocksdb::DB& db) {
        std::string layout;
        REQUIRE(db.Get({}, "layout", &layout).ok());
        REQUIRE(db.Put({}, "layout", layout.substr(0, layout.find(' ')) + " 0").ok());
    });
    log.config.partitions = 0;
    CHECK_THAT(why_not(log.config), Contains("its layout reads '"));
}

TEST_CASE("a place that cannot be a log directory is refused by name") {
    EmbeddedUnderTest log;
    log.close();
    auto config = log.config;
    config.directory = log.directory / "a file";
    std::ofstream{config.directory} << "text";
    CHECK_THAT(why_not(config), Contains(config.directory.string()) && Contains("cannot write"));
    config.directory = log.directory / "a file" / "below";
    CHECK_THAT(why_not(config), Contains(config.directory.string()) && Contains("cannot write"));
}

TEST_CASE("damaged files are refused, never taken for an empty log") {
    EmbeddedUnderTest log;
    append(log, kWhere, numbered("key", 10));
    log.close();
    const auto& directory = log.config.directory;
    SECTION("CURRENT is gone") { std::filesystem::remove(directory / "CURRENT"); }
    SECTION("CURRENT is not one") { std::ofstream{directory / "CURRENT"} << "nonsense\n"; }
    SECTION("the manifest is cut off") {
        std::filesystem::resize_file(file_with(directory, "MANIFEST"), 20);
    }
    SECTION("the manifest is overwritten") {
        std::fstream file{file_with(directory, "MANIFEST")};
        file.seekp(5);
        file << "????????????????????????????????????????????";
    }
    const auto why = why_not(log.config);
    CHECK_THAT(why, Contains(directory.string()));
    CHECK_THAT(why, Contains("damaged") || Contains("cannot open"));
}

TEST_CASE("a first start that ended half way is simply repeated") {
    EmbeddedUnderTest log;
    log.close();
    log.config.directory = log.directory / "half";
    const auto& directory = log.config.directory;
    std::filesystem::create_directory(directory);
    SECTION("RocksDB had made its first manifest, with nothing in it") {
        std::ofstream{directory / "LOCK"};
        std::ofstream{directory / "IDENTITY"} << "00000000-0000-0000-0000-000000000000";
        std::ofstream{directory / "MANIFEST-000001"};
    }
    SECTION("and had written some of it") {
        std::ofstream{directory / "MANIFEST-000001"} << std::string(20, 'x');
        std::ofstream{directory / "000001.dbtmp"} << "MANIFEST-0";
    }
    SECTION("RocksDB had made its database, and the log had written nothing to it") {
        with_bare_database(directory, false, [](rocksdb::DB&) {});
    }
    log.open();
    const auto written = append(log, kWhere, numbered("key", 10));
    log.close();
    log.open();
    CHECK(read_all(log, kWhere) == written);
}

TEST_CASE("what held data is damaged, never a first start that ended half way") {
    EmbeddedUnderTest log;
    append(log, kWhere, numbered("only in the write-ahead files", 10));
    const auto killed = as_if_killed(log);
    const auto& directory = killed.directory;
    SECTION("CURRENT is gone") { std::filesystem::remove(directory / "CURRENT"); }
    SECTION("CURRENT is gone, and the manifest has another name") {
        std::filesystem::remove(directory / "CURRENT");
        std::filesystem::rename(file_with(directory, "MANIFEST"), directory / "MANIFEST-000001");
    }
    SECTION("the log's layout is gone") {
        with_bare_database(directory, true,
                           [](rocksdb::DB& db) { REQUIRE(db.Delete({}, "layout").ok()); });
    }
    CHECK_THAT(why_not(killed), Contains("is damaged"));
}

TEST_CASE("after a clean stop everything is there without the write-ahead files") {
    EmbeddedUnderTest log;
    const auto written = append(log, kWhere, numbered("key", 10));
    log.close();
    SECTION("removed") {
        for (const auto& path : files_with(log.config.directory, ".log")) {
            std::filesystem::remove(path);
        }
    }
    SECTION("overwritten") {
        for (const auto& path : files_with(log.config.directory, ".log")) {
            std::ofstream{path} << "????????????????????????????????????????????";
        }
    }
    log.open();
    CHECK(read_all(log, kWhere) == written);
    CHECK(append(log, kWhere, {record("next")}).front().offset == written.back().offset + 1);
}

TEST_CASE("a clean stop is not believed twice") {
    EmbeddedUnderTest log;
    append(log, kWhere, numbered("of the first run", 10));
    log.close();
    log.open();
    const auto lost = append(log, kWhere, numbered("only in the write-ahead files", 10)).back();
    const auto killed = as_if_killed(log);
    for (const auto& path : files_with(killed.directory, ".log")) {
        std::filesystem::resize_file(path, 0);
    }
    log.close();
    log.config = killed;
    log.open();
    // A reader that has seen the lost records gets no others under their offsets.
    CHECK(append(log, kWhere, {record("next")}).front().offset > lost.offset);
}

TEST_CASE("a full disk refuses publishes, loses nothing acknowledged, and recovers") {
    EmbeddedUnderTest log{[](EmbeddedConfig& c) { c.sync = log::Sync::always; }};
    log.close();
    const SmallDisk disk{log.directory / "small", 48U << 20};
    if (!disk.mounted) {
        WARN("left out: this machine does not allow to mount a small file system");
        return;
    }
    log.config.directory = log.directory / "small" / "log";
    log.open();
    const auto ballast = log.directory / "small" / "ballast";
    std::ofstream{ballast} << std::string(24U << 20, 'x');

    auto publisher = log.log().open_publisher(log.executor());
    std::vector<Read> written;
    std::optional<core::Error> refused;
    for (int i = 0; i < 10'000 && !refused; ++i) {
        const auto r = record("key" + std::to_string(i), std::string(20'000, 'x'));
        const auto answer = publish_all(log, *publisher, kWhere, {r})[0];
        if (answer) written.push_back(expected(r, *answer));
        if (!answer) refused = answer.error();
    }
    REQUIRE(refused);
    CHECK(refused->fault == core::Fault::full);
    CHECK(read_all(log, kWhere) == written);

    // The little space that is left must not make the writer open the log again: readers would lose
    // their history. How much RocksDB has used and given back by now depends on how far its threads
    // have come.
    for (int i = 0; i < 8; ++i) {
        log.wait_until([] { return false; }, std::chrono::milliseconds{200});
        leave_free(ballast, 512U << 10);
        CHECK_FALSE(publish_all(log, *publisher, kWhere, {record("refused")})[0]);
        REQUIRE((read_all(log, kWhere) == written));
    }

    std::filesystem::remove(ballast);
    written.push_back(publish_until_taken(log, *publisher, kWhere, record("later")));
    CHECK(read_all(log, kWhere) == written);
    publisher.reset();
    log.close();
    log.open();
    CHECK(read_all(log, kWhere) == written);
    log.close();
}

TEST_CASE("a log that cannot write goes on serving readers") {
    EmbeddedUnderTest log{[](EmbeddedConfig& c) { c.tail_bytes = 1'000; }};
    const auto written = append(log, kWhere, numbered("key", 100));
    const FileSizeLimit limit;
    const auto publisher = log.log().open_publisher(log.executor());
    for (int i = 0; i < 3; ++i) {
        const auto answer = publish_all(log, *publisher, kWhere, {record("refused")})[0];
        REQUIRE_FALSE(answer);
        CHECK(answer.error().fault == core::Fault::unavailable);
        CHECK(read_all(log, kWhere) == written);
    }
}

TEST_CASE("the log and its directory are the owner's alone") {
    EmbeddedUnderTest log;
    const auto mode = std::filesystem::status(log.config.directory).permissions();
    CHECK(mode == std::filesystem::perms::owner_all);
}
