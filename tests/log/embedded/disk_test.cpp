// The embedded log on a disk that fails, hangs or lies.
#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"
#include "log/embedded/writer.hpp"
#include "support/faulty_disk.hpp"
#include "support/shared_clock.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using Call = FaultyDisk::Call;
using log::EmbeddedConfig;
using log::Topic;
using log::TopicPartition;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const TopicPartition kWhere{Topic::kNotifications, 1};

/// Made before the log and gone after it.
struct WithDisk {
    SharedClock shared_clock;
    FaultyDisk disk;
};

/// Nothing stays in the log's own memory, so that readers see what is on disk.
struct DiskLog : WithDisk, EmbeddedUnderTest {
    explicit DiskLog(const Change& change = {})
        : EmbeddedUnderTest([this, &change](EmbeddedConfig& c) {
              c.env = disk.env();
              c.tail_bytes = 0;
              if (change) change(c);
          }) {}

    /// So much that the first of it is not in the block that a start reads (the last one).
    std::vector<Read> append_much() {
        std::vector<core::Record> records;
        for (int i = 0; i < 100; ++i) {
            records.push_back(record("key" + std::to_string(i), std::string(1'000, 'x')));
        }
        return append(*this, kWhere, records);
    }
    /// Opens the log again: then the records are in tables, not in memtables.
    void restart() {
        close();
        open();
    }
};

}  // namespace

TEST_CASE("a read that fails for a moment is repeated, without a new record to wake the reader") {
    DiskLog log;
    const auto written = log.append_much();
    log.restart();
    log.disk.fail_of_this_thread(Call::read, 1, ".sst");

    std::vector<Read> seen;
    std::vector<core::Fault> faults;
    std::unique_ptr<log::PartitionReader> reader;
    reader = log.log().open_reader(kWhere, 0, log.executor(), [&] {
        const auto taken =
            reader->take(100, [&](const core::RecordView& view) { seen.push_back(to_read(view)); });
        if (!taken) faults.push_back(taken.error().fault);
    });
    REQUIRE(log.wait_until([&] { return seen.size() == written.size(); }));
    CHECK(seen == written);
    CHECK(faults == std::vector{core::Fault::unavailable});
}

TEST_CASE("a block that is damaged is an error of its own, never an empty log") {
    DiskLog log;
    log.append_much();
    log.restart();
    log.disk.corrupt_reads(".sst");
    std::optional<core::Result<log::Taken>> taken;
    std::unique_ptr<log::PartitionReader> reader;
    reader = log.log().open_reader(kWhere, 0, log.executor(), [&] {
        taken = reader->take(100, [](const core::RecordView&) {});
    });
    REQUIRE(log.wait_until([&] { return taken.has_value(); }));
    REQUIRE_FALSE(*taken);
    CHECK(taken->error().fault == core::Fault::corrupt);
}

TEST_CASE("a disk that hangs is answered for within publish_timeout") {
    DiskLog log{[](EmbeddedConfig& c) {
        c.sync = log::Sync::always;
        c.publish_timeout = milliseconds{300};
    }};
    auto written = append(log, kWhere, {record("before")});
    auto publisher = log.log().open_publisher(log.executor());

    log.disk.hang(Call::write, ".log");
    std::vector<core::Result<log::Appended>> answers;
    const auto publish = [&](const std::string& key) {
        publisher->publish(kWhere, record(key), [&](const auto& r) { answers.push_back(r); });
    };
    publish("in the write that hangs");
    REQUIRE(log.wait_until([&] { return log.disk.struck() > 0; }));
    publish("behind it");
    REQUIRE(log.wait_until([&] { return answers.size() == 2; }, seconds{10}));
    for (const auto& answer : answers) {
        REQUIRE_FALSE(answer);
        CHECK(answer.error().fault == core::Fault::unavailable);
    }
    CHECK(publisher->unanswered() == 0);

    log.disk.heal();
    const auto after = publish_until_taken(log, *publisher, kWhere, record("after"));
    // The first may be there, since it was under way; the second was never written.
    std::vector<std::string> keys;
    for (const auto& r : read_all(log, kWhere)) keys.push_back(r.key);
    CHECK(keys.front() == "before");
    CHECK(keys.back() == "after");
    CHECK(std::count(keys.begin(), keys.end(), "behind it") == 0);
    CHECK(answers.size() == 2);  // the late answers of the writer are dropped
    publisher.reset();
}

// RocksDB keeps the write-ahead file that failed if it finds nothing in memory to write out, and
// would end the process with the next write.
TEST_CASE("a disk that is full when nothing is in memory ends no process") {
    DiskLog log{[](EmbeddedConfig& c) { c.sync = log::Sync::always; }};
    auto written = append(log, kWhere, {record("before")});
    for (int round = 0; round < 3; ++round) {
        log.restart();
        auto publisher = log.log().open_publisher(log.executor());
        log.disk.fill(".log");
        for (int i = 0; i < 3; ++i) {
            const auto refused = publish_all(log, *publisher, kWhere, {record("refused")})[0];
            REQUIRE_FALSE(refused);
            CHECK(refused.error().fault == core::Fault::full);
        }
        log.disk.heal();
        written.push_back(publish_until_taken(log, *publisher, kWhere, record("after")));
        publisher.reset();
        CHECK(read_all(log, kWhere) == written);
    }
}

TEST_CASE("publishes that were given up count until the disk has answered") {
    DiskLog log{[](EmbeddedConfig& c) {
        c.publish_timeout = milliseconds{200};
        c.waiting_max = 2;
    }};
    append(log, kWhere, {record("before")});
    auto publisher = log.log().open_publisher(log.executor());
    log.disk.hang(Call::write, ".log");
    const auto answers = publish_all(log, *publisher, kWhere, numbered("key", 2));
    for (const auto& answer : answers) REQUIRE_FALSE(answer);
    const auto one_more = publish_all(log, *publisher, kWhere, {record("one more")})[0];
    REQUIRE_FALSE(one_more);
    CHECK(one_more.error().fault == core::Fault::full);
    log.disk.heal();
    publish_until_taken(log, *publisher, kWhere, record("later"));
    publisher.reset();
}

TEST_CASE("commits beyond the bound are answered `full` while the disk hangs") {
    constexpr std::size_t kMost = log::embedded::Writer::kMetaWritesMax;
    DiskLog log;
    append(log, kWhere, {record("before")});
    auto publisher = log.log().open_publisher(log.executor());
    log.disk.hang(Call::write, ".log");
    publisher->publish(kWhere, record("holds the writer"), [](const auto&) {});
    REQUIRE(log.wait_until([&] { return log.disk.struck() > 0; }));
    std::vector<core::Result<void>> answers;
    const auto commit = [&] {
        log.log().commit("group", {{kWhere, 1}}, log.executor(),
                         [&](const auto& answer) { answers.push_back(answer); });
    };
    for (std::size_t i = 0; i < kMost + 1; ++i) commit();
    REQUIRE(log.wait_until([&] { return !answers.empty(); }));
    REQUIRE_FALSE(answers.front());
    CHECK(answers.front().error().fault == core::Fault::full);

    log.disk.heal();
    REQUIRE(log.wait_until([&] { return answers.size() == kMost + 1; }));
    CHECK(std::all_of(answers.begin() + 1, answers.end(),
                      [](const auto& a) { return a.has_value(); }));
    commit();
    REQUIRE(log.wait_until([&] { return answers.size() == kMost + 2; }));
    CHECK(answers.back());
    publisher.reset();
}

TEST_CASE("the newest record of a key outlives a cleaning whose write failed and yet survived") {
    DiskLog log{[](EmbeddedConfig& c) {
        c.history_window = hours{1};
        c.delete_retention = hours{24};
    }};
    log.close();
    log.config.clock = &log.shared_clock;
    log.open();
    append(log, kWhere, {record("a", "1"), record("b", "1"), record("b", "2")});
    log.shared_clock.advance(hours{2});

    log.disk.fail_after_the_fact(Call::write, 1, ".log");
    REQUIRE_FALSE(log.embedded->clean_now());
    REQUIRE(log.disk.struck() == 1);
    // The next publish finds the database broken and brings it back, with what survived.
    auto publisher = log.log().open_publisher(log.executor());
    bool taken = false;
    for (int i = 0; i < 100 && !taken; ++i) {
        log.shared_clock.advance(seconds{1});
        taken = publish_all(log, *publisher, kWhere, {record("c", "1")})[0].has_value();
    }
    REQUIRE(taken);
    publisher.reset();

    EmbeddedUnderTest::must(log.embedded->clean_now());
    std::vector<std::string> left;
    for (const auto& r : read_all(log, kWhere)) left.push_back(r.key + "=" + r.value.value_or(""));
    CHECK(left == std::vector<std::string>{"a=1", "b=2", "c=1"});
}

TEST_CASE(
    "after the n-th write or sync that fails, what was acknowledged is there and writing goes "
    "on") {
    const auto call = GENERATE(Call::write, Call::sync);
    const auto how = GENERATE(values({"fails", "fails after the fact"}));
    const auto nth = GENERATE(0, 1, 2, 5);
    CAPTURE(static_cast<int>(call), how, nth);
    DiskLog log{[](EmbeddedConfig& c) { c.sync = log::Sync::always; }};
    auto publisher = log.log().open_publisher(log.executor());
    std::vector<Read> acknowledged;
    const auto publish = [&](const std::string& key) {
        const auto answer = publish_all(log, *publisher, kWhere, {record(key)})[0];
        if (answer) acknowledged.push_back(expected(record(key), *answer));
        return answer.has_value();
    };
    for (int i = 0; i < nth; ++i) REQUIRE(publish("before " + std::to_string(i)));
    if (std::string_view{how} == "fails") {
        log.disk.fail(call, 1, ".log");
    } else {
        log.disk.fail_after_the_fact(call, 1, ".log");
    }
    CHECK_FALSE(publish("refused"));
    CHECK(log.disk.struck() == 1);
    CHECK(read_all(log, kWhere) == acknowledged);
    acknowledged.push_back(publish_until_taken(log, *publisher, kWhere, record("after")));
    publisher.reset();
    CHECK(read_all(log, kWhere) == acknowledged);
    log.restart();
    CHECK(read_all(log, kWhere) == acknowledged);
}
