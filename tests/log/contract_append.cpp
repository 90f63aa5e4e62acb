#include "log/contract_support.hpp"

#include <algorithm>
#include <map>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::Topic;
using log::TopicPartition;

namespace {
const TopicPartition kWhere{Topic::kNotifications, 1};
}

TEST_CASE("an acknowledged record can be read, with the offset and time of its answer") {
    const auto log = make_log_under_test({});
    const auto written = append(*log, kWhere, numbered("key", 3));
    CHECK(written[0].offset >= 0);
    CHECK(read_all(*log, kWhere) == written);
}

TEST_CASE("at the moment of its answer a record stands in the log for every new reader") {
    const auto log = make_log_under_test({});
    const auto publisher = log->log().open_publisher(log->executor());
    std::unique_ptr<Collector> reader;
    publisher->publish(kWhere, record("key"), [&](const auto& result) {
        REQUIRE(result);
        reader = std::make_unique<Collector>(*log, kWhere, result->offset);
    });
    CHECK(log->wait_until(
        [&] { return reader && reader->keys() == std::vector{std::string{"key"}}; }));
}

TEST_CASE("acknowledged records are there after a restart") {
    const auto log = make_log_under_test({});
    if (!log->restart) return;
    const auto before = append(*log, kWhere, numbered("before", 50));
    log->restart();
    const auto after = append(*log, kWhere, numbered("after", 2));
    CHECK(after[0].offset > before.back().offset);
    CHECK(after[0].time >= before.back().time);
    auto all = before;
    all.insert(all.end(), after.begin(), after.end());
    CHECK(read_all(*log, kWhere) == all);
}

TEST_CASE("records stand and are answered in the order of publish") {
    const auto log = make_log_under_test({});
    const auto publisher = log->log().open_publisher(log->executor());
    constexpr int kEach = 500;
    std::map<int, std::vector<int>> answered;
    std::map<int, std::vector<core::Offset>> offsets;
    int answers = 0;
    for (int i = 0; i < kEach; ++i) {
        for (int p = 0; p < 2; ++p) {
            publisher->publish({Topic::kNotifications, p}, record(std::to_string(i)),
                               [&, i, p](const auto& result) {
                                   REQUIRE(result);
                                   ++answers;
                                   answered[p].push_back(i);
                                   offsets[p].push_back(result->offset);
                               });
        }
    }
    CHECK(answers == 0);  // never from within publish()
    REQUIRE(log->wait_until([&] { return answers == 2 * kEach; }));
    std::vector<int> in_order;
    std::vector<std::string> keys;
    for (int i = 0; i < kEach; ++i) {
        in_order.push_back(i);
        keys.push_back(std::to_string(i));
    }
    for (int p = 0; p < 2; ++p) {
        CHECK(answered[p] == in_order);
        CHECK(std::is_sorted(offsets[p].begin(), offsets[p].end()));
        std::vector<std::string> read;
        for (const auto& r : read_all(*log, {Topic::kNotifications, p})) read.push_back(r.key);
        CHECK(read == keys);
    }
}

TEST_CASE("publishers of one partition get offsets of their own, each in its order") {
    const auto log = make_log_under_test({});
    const auto one = log->log().open_publisher(log->executor());
    const auto two = log->log().open_publisher(log->executor());
    std::map<core::Offset, std::string> by_offset;
    const auto note = [&](const std::string& key) {
        return [&, key](const auto& result) {
            REQUIRE(result);
            CHECK(by_offset.emplace(result->offset, key).second);
        };
    };
    for (int i = 0; i < 100; ++i) {
        const auto number = std::to_string(1000 + i);
        one->publish(kWhere, record("one" + number), note("one" + number));
        two->publish(kWhere, record("two" + number), note("two" + number));
    }
    REQUIRE(log->wait_until([&] { return by_offset.size() == 200; }));
    std::string last_one;
    std::string last_two;
    for (const auto& r : read_all(*log, kWhere)) {
        CHECK(by_offset.at(r.offset) == r.key);
        auto& last = r.key.starts_with("one") ? last_one : last_two;
        CHECK(r.key > last);
        last = r.key;
    }
}

TEST_CASE("the append time is the log's and never goes back") {
    const auto log = make_log_under_test({});
    const auto before = log->clock().wall();
    auto written = append(*log, kWhere, numbered("first", 10));
    for (const auto& r : append(*log, kWhere, numbered("second", 10))) written.push_back(r);
    const auto after = log->clock().wall();
    auto last = before - std::chrono::milliseconds{2};  // clocks read at a different granularity
    for (const auto& r : written) {
        CHECK(r.time >= last);
        CHECK(r.time <= after + std::chrono::milliseconds{2});
        last = r.time;
    }
    CHECK(read_all(*log, kWhere) == written);
}

TEST_CASE("keys, headers and values are bytes; empty and null are kept apart") {
    const auto log = make_log_under_test({});
    const std::string all_bytes = [] {
        std::string bytes;
        for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
        return bytes;
    }();
    const std::vector<core::Record> records{
        {"null", std::nullopt, {}},
        {"empty", "", {}},
        {"bytes", all_bytes, {{"ce_id", all_bytes}}},
        {all_bytes, all_bytes, {}},
        {"headers", "x", {{"ce_ttl", "60"}, {"ce_topic", ""}, {"ce_ttl", "61"}}},
        {"null with headers", std::nullopt, {{"ce_reason", "acked"}}},
    };
    const auto written = append(*log, kWhere, records);
    const auto read = read_all(*log, kWhere);
    REQUIRE(read == written);
    CHECK_FALSE(read[0].value.has_value());
    CHECK(read[1].value == std::string{});
}

TEST_CASE("a record of the greatest size goes through, a greater one is too large") {
    const auto log = make_log_under_test({});
    const auto publisher = log->log().open_publisher(log->executor());
    const auto greatest = record("key", std::string(log::kRecordBytesMax - 3, 'x'));
    const auto greater = record("key", std::string(log::kRecordBytesMax - 2, 'x'));
    const auto fits = publish_all(*log, *publisher, kWhere, {greatest});
    REQUIRE(fits[0]);
    const auto refused = publish_all(*log, *publisher, kWhere, {greater});
    REQUIRE_FALSE(refused[0]);
    CHECK(refused[0].error().fault == core::Fault::too_large);
    CHECK(read_all(*log, kWhere) == std::vector{expected(greatest, *fits[0])});
}

TEST_CASE("waiting publishes beyond the bound are answered `full`, later ones go through") {
    constexpr std::size_t kMax = 20;
    const auto log = make_log_under_test({.waiting_max = kMax});
    const auto publisher = log->log().open_publisher(log->executor());
    CHECK(publisher->unanswered() == 0);
    std::size_t accepted = 0;
    std::size_t full = 0;
    for (std::size_t i = 0; i < kMax + 5; ++i) {
        publisher->publish(kWhere, record("key" + std::to_string(i)), [&](const auto& result) {
            if (result) ++accepted;
            if (!result && result.error().fault == core::Fault::full) ++full;
        });
    }
    CHECK(publisher->unanswered() == kMax);
    REQUIRE(log->wait_until([&] { return accepted + full == kMax + 5; }));
    CHECK(full == 5);
    CHECK(publisher->unanswered() == 0);
    CHECK(publish_all(*log, *publisher, kWhere, {record("later")})[0].has_value());
    CHECK(read_all(*log, kWhere).size() == kMax + 1);
}

TEST_CASE("answers come on the executor's thread") {
    const auto log = make_log_under_test({});
    const auto publisher = log->log().open_publisher(log->executor());
    std::thread::id ran_on;
    publisher->publish(kWhere, record("key"),
                       [&](const auto&) { ran_on = std::this_thread::get_id(); });
    REQUIRE(log->wait_until([&] { return ran_on != std::thread::id{}; }));
    CHECK(ran_on == std::this_thread::get_id());
}

TEST_CASE("a publisher that is destroyed with publishes under way calls nothing afterwards") {
    const auto log = make_log_under_test({});
    auto called = 0;
    for (int round = 0; round < 20; ++round) {
        auto publisher = log->log().open_publisher(log->executor());
        for (int i = 0; i < 50; ++i) {
            publisher->publish(kWhere, record("key"), [&](const auto&) { ++called; });
        }
        publisher.reset();
    }
    append(*log, kWhere, {record("the log goes on")});
    CHECK(called == 0);
}

TEST_CASE("a publisher may be destroyed by its own answer") {
    const auto log = make_log_under_test({});
    auto publisher = log->log().open_publisher(log->executor());
    auto called = 0;
    for (int i = 0; i < 10; ++i) {
        publisher->publish(kWhere, record("key"), [&](const auto&) {
            ++called;
            publisher.reset();
        });
    }
    REQUIRE(log->wait_until([&] { return called > 0; }));
    append(*log, kWhere, {record("the log goes on")});
    CHECK(called == 1);
}

TEST_CASE("a publish to a partition that does not exist is refused") {
    const auto log = make_log_under_test({});
    const auto publisher = log->log().open_publisher(log->executor());
    const auto answers =
        publish_all(*log, *publisher, {Topic::kNotifications, log->partitions}, {record("key")});
    REQUIRE_FALSE(answers[0]);
    CHECK(answers[0].error().fault == core::Fault::not_found);
}
