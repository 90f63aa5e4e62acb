#include "log/contract_support.hpp"

#include <fstream>
#include <memory>
#include <new>
#include <utility>

#include <catch2/catch.hpp>
#include <unistd.h>

using namespace beckon;
using namespace beckon::test;
using log::Ends;
using log::Topic;
using log::TopicPartition;

namespace {

const TopicPartition kWhere{Topic::kNotifications, 1};
using Keys = std::vector<std::string>;

std::size_t resident_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    std::size_t total = 0;
    std::size_t resident = 0;
    statm >> total >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("a partition can be read from any offset") {
    const auto log = make_log_under_test({});
    const auto written = append(*log, kWhere, numbered("key", 30));
    for (const std::size_t from : {0U, 1U, 17U, 29U}) {
        const std::vector rest(written.begin() + static_cast<std::ptrdiff_t>(from), written.end());
        CHECK(read_all(*log, kWhere, written[from].offset) == rest);
    }
    CHECK(read_all(*log, kWhere, written.back().offset + 1).empty());
}

TEST_CASE("a sink that throws loses no other record") {
    const auto log = make_log_under_test({});
    const auto written = append(*log, kWhere, numbered("key", 30));
    std::vector<Read> seen;
    bool thrown = false;
    std::unique_ptr<log::PartitionReader> reader;
    const auto sink = [&](const core::RecordView& view) {
        seen.push_back(to_read(view));
        if (seen.size() == 10 && !std::exchange(thrown, true)) throw std::bad_alloc{};
    };
    const auto take = [&] {
        for (;;) {
            try {
                const auto taken = reader->take(100, sink);
                if (!taken || taken->drained) return;
            } catch (const std::bad_alloc&) {
            }
        }
    };
    reader = log->log().open_reader(kWhere, 0, log->executor(), take);
    REQUIRE(log->wait_until([&] { return seen.size() >= 30; }));
    CHECK(thrown);
    CHECK(seen == written);
}

TEST_CASE("a reader opened at the end gets what comes after") {
    const auto log = make_log_under_test({});
    append(*log, kWhere, numbered("old", 5));
    const auto end = ends_of(*log, kWhere)->end;
    Collector reader{*log, kWhere, end};
    REQUIRE(log->wait_until([&] { return reader.drained; }));
    CHECK(reader.reader->position() == end);
    append(*log, kWhere, {record("new")});
    REQUIRE(log->wait_until([&] { return !reader.seen.empty(); }));
    CHECK(reader.keys() == Keys{"new"});
}

TEST_CASE("a reader opened above the end says out_of_range") {
    const auto log = make_log_under_test({});
    append(*log, kWhere, numbered("key", 3));
    Collector reader{*log, kWhere, ends_of(*log, kWhere)->end + 1};
    REQUIRE(log->wait_until([&] { return reader.fault == core::Fault::out_of_range; }));
    CHECK(reader.seen.empty());
}

TEST_CASE("a reader opened below the log's start begins at the start") {
    const auto log = make_log_under_test({});
    if (!log->truncate_before) return;
    auto written = append(*log, kWhere, numbered("key", 10));
    log->truncate_before(kWhere, written[6].offset);
    written.erase(written.begin(), written.begin() + 6);
    CHECK(ends_of(*log, kWhere)->start == written[0].offset);
    CHECK(read_all(*log, kWhere, 0) == written);
}

TEST_CASE("take passes on at most what it was asked for, and says when it was all") {
    const auto log = make_log_under_test({});
    const auto written = append(*log, kWhere, numbered("key", 5));
    HandReader hand{*log, kWhere, 0};
    REQUIRE(hand.take_until(1, [&] { return hand.seen.size() == 1; }));
    CHECK_FALSE(hand.drained);
    CHECK(hand.reader->position() == written[0].offset + 1);
    REQUIRE(hand.take_until(3, [&] { return hand.drained && hand.seen.size() == 5; }));
    CHECK(hand.seen == written);
    CHECK(hand.reader->position() == ends_of(*log, kWhere)->end);
}

TEST_CASE("`ready` comes after opening and again when more is there") {
    const auto log = make_log_under_test({});
    Collector reader{*log, kWhere, 0};
    REQUIRE(log->wait_until([&] { return reader.drained; }));
    CHECK(reader.ready_calls >= 1);
    for (const std::string key : {"a", "b", "c"}) {
        append(*log, kWhere, {record(key)});
        REQUIRE(
            log->wait_until([&] { return !reader.seen.empty() && reader.seen.back().key == key; }));
    }
    CHECK(reader.keys() == Keys{"a", "b", "c"});
}

TEST_CASE("readers of one partition are independent") {
    const auto log = make_log_under_test({});
    const auto written = append(*log, kWhere, numbered("key", 200));
    Collector one{*log, kWhere, 0, 7};
    auto two = std::make_unique<Collector>(*log, kWhere, written[100].offset, 50);
    Collector three{*log, kWhere, 0, 1000};
    REQUIRE(log->wait_until([&] {
        return one.seen.size() == 200 && two->seen.size() == 100 && three.seen.size() == 200;
    }));
    two.reset();
    append(*log, kWhere, {record("last")});
    REQUIRE(log->wait_until([&] { return one.seen.size() == 201 && three.seen.size() == 201; }));
    CHECK(one.seen == three.seen);
}

TEST_CASE("partitions and topics do not mix") {
    const auto log = make_log_under_test({});
    append(*log, {Topic::kNotifications, 0}, {record("n0")});
    append(*log, {Topic::kNotifications, 1}, {record("n1")});
    append(*log, {Topic::kSubscriptions, 0}, {record("s0")});
    append(*log, {Topic::kOwnership, 0}, {record("o0")});
    const auto keys_of = [&](TopicPartition where) {
        Keys keys;
        for (const auto& r : read_all(*log, where)) keys.push_back(r.key);
        return keys;
    };
    CHECK(keys_of({Topic::kNotifications, 0}) == Keys{"n0"});
    CHECK(keys_of({Topic::kNotifications, 1}) == Keys{"n1"});
    CHECK(keys_of({Topic::kSubscriptions, 0}) == Keys{"s0"});
    CHECK(keys_of({Topic::kSubscriptions, 1}).empty());
    CHECK(keys_of({Topic::kOwnership, 0}) == Keys{"o0"});
}

TEST_CASE("a paused reader passes on nothing and goes on where it stood") {
    const auto log = make_log_under_test({});
    auto written = append(*log, kWhere, numbered("key", 10));
    HandReader hand{*log, kWhere, 0};
    REQUIRE(hand.take_until(1, [&] { return hand.seen.size() == 4; }));
    hand.reader->pause();
    hand.reader->pause();
    written.push_back(append(*log, kWhere, {record("meanwhile")}).front());
    const auto paused = hand.reader->take(100, [](const auto&) { FAIL("a record while paused"); });
    REQUIRE(paused);
    CHECK(paused->records == 0);
    CHECK_FALSE(paused->drained);
    CHECK(hand.reader->position() == written[3].offset + 1);
    const auto ready_before = hand.ready_calls;
    hand.reader->resume();
    hand.reader->resume();
    REQUIRE(log->wait_until([&] { return hand.ready_calls > ready_before; }));
    REQUIRE(hand.take_until(100, [&] { return hand.seen.size() == 11; }));
    CHECK(hand.seen == written);
}

TEST_CASE("a reader that stops taking loses nothing and needs no unbounded memory") {
    const auto log = make_log_under_test({});
    const auto publisher = log->log().open_publisher(log->executor());
    HandReader slow{*log, kWhere, 0};
    constexpr int kRounds = 100;
    constexpr int kEach = 200;
    const std::string filler(8'000, 'x');  // 160 MB in all
    const auto before = resident_bytes();
    std::size_t most = before;
    for (int round = 0; round < kRounds; ++round) {
        std::vector<core::Record> records;
        for (int i = 0; i < kEach; ++i) {
            records.push_back(record(std::to_string(round * kEach + i), filler));
        }
        for (const auto& answer : publish_all(*log, *publisher, kWhere, records)) REQUIRE(answer);
        most = std::max(most, resident_bytes());
    }
    INFO("the memory grew by " << (most - before));
#if !defined(BECKON_SANITIZED)  // a sanitizer keeps what was freed
    if (log->slow_reader_bytes_max > 0) CHECK(most - before <= log->slow_reader_bytes_max);
#endif
    int next = 0;
    int out_of_order = 0;
    REQUIRE(slow.take_until(
        1000, [&] { return next == kRounds * kEach; },
        [&](const core::RecordView& view) {
            if (view.key != std::to_string(next++)) ++out_of_order;
        }));
    CHECK(out_of_order == 0);
}

TEST_CASE("a reader that is destroyed calls nothing afterwards") {
    const auto log = make_log_under_test({});
    int called = 0;
    for (int i = 0; i < 20; ++i) {
        log->log().open_reader(kWhere, 0, log->executor(), [&] { ++called; }).reset();
    }
    append(*log, kWhere, {record("key")});
    CHECK(called == 0);
}

TEST_CASE("a reader may be destroyed by its own `ready`") {
    const auto log = make_log_under_test({});
    std::unique_ptr<log::PartitionReader> reader;
    int called = 0;
    reader = log->log().open_reader(kWhere, 0, log->executor(), [&] {
        ++called;
        reader.reset();
    });
    REQUIRE(log->wait_until([&] { return called == 1; }));
    append(*log, kWhere, {record("key")});
    CHECK(called == 1);
}

TEST_CASE("the ends are the offsets that a partition holds") {
    const auto log = make_log_under_test({});
    const auto empty = ends_of(*log, kWhere);
    INFO((empty ? "" : empty.error().message));
    REQUIRE(empty);
    CHECK(*empty == Ends{0, 0});
    const auto written = append(*log, kWhere, numbered("key", 7));
    const auto ends = ends_of(*log, kWhere);
    REQUIRE(ends);
    CHECK(*ends == Ends{0, written.back().offset + 1});
    CHECK(ends_of(*log, {Topic::kNotifications, 0}) == Ends{0, 0});
}

TEST_CASE("a topic or partition that does not exist is not found") {
    const auto log = make_log_under_test({});
    const TopicPartition nowhere{Topic::kNotifications, log->partitions};
    const auto ends = ends_of(*log, nowhere);
    REQUIRE_FALSE(ends);
    CHECK(ends.error().fault == core::Fault::not_found);
    Collector reader{*log, nowhere, 0};
    REQUIRE(log->wait_until([&] { return reader.fault == core::Fault::not_found; }));
}

TEST_CASE("compaction keeps the newest of each key and lets tombstones go") {
    const auto log = make_log_under_test({});
    if (!log->compact_now) return;
    for (const auto topic : {Topic::kNotifications, Topic::kSubscriptions}) {
        const TopicPartition where{topic, 1};
        const auto written =
            append(*log, where,
                   {record("a", "1"), record("b", "1"), record("a", "2"), record("finished", "1"),
                    record("finished", std::nullopt), record("c", ""), record("b", "2")});
        Collector live{*log, where, 0};
        REQUIRE(log->wait_until([&] { return live.seen.size() == written.size(); }));
        log->compact_now(where);
        std::vector<Read> left;
        for (const auto& r : read_all(*log, where)) {
            if (!r.key.starts_with("!compact/")) left.push_back(r);
        }
        CHECK(left == std::vector{written[2], written[5], written[6]});
        // A reader that begins at a removed offset gets the next record that is left.
        const auto from_gap = read_all(*log, where, written[3].offset);
        REQUIRE_FALSE(from_gap.empty());
        CHECK(from_gap.front() == written[5]);
        append(*log, where, {record("d", "1")});
        REQUIRE(log->wait_until([&] { return live.seen.back().key == "d"; }));
    }
}

TEST_CASE("topics that are not compacted keep every record of a key") {
    const auto log = make_log_under_test({});
    const TopicPartition where{Topic::retry(0), 1};
    append(*log, where, {record("a", "1"), record("a", "2"), record("a", std::nullopt)});
    if (log->restart) log->restart();
    CHECK(read_all(*log, where).size() == 3);
}
