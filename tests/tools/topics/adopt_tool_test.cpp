#include "core/clock.hpp"
#include "log/control.hpp"
#include "log/read_partition.hpp"
#include "records/dead_letter.hpp"
#include "records/done.hpp"
#include "retry/event/event.hpp"
#include "support/fake_topics_admin.hpp"
#include "support/memory_log.hpp"
#include "support/record_view.hpp"
#include "support/test_executor.hpp"
#include "tools/topics/topics_tool.hpp"

#include <sstream>

#include <catch2/catch.hpp>

using namespace beckon;
using log::Topic;
using log::TopicPartition;
using retry::DoneRecord;
using std::chrono::seconds;
using test::all_of;
using test::FakeAdmin;
using test::layout;

namespace {

constexpr seconds kWait{5};

/// A log that was made at cluster-a and is now, as a copy, at cluster-b.
struct Copy {
    Copy() {
        log = log::make_memory_log({.partitions = 8, .clock = &clock});
        options.prefix = "test.";
        options.layout = layout();
        REQUIRE(tools::create_topics(admin, *log, options, out));
        before = *log::read_control(*log, kWait);
        for (int i = 0; i < 10; ++i) {
            append({Topic::kEvents, 3}, {.key = "e", .value = "v", .headers = {}});
            append({Topic::retry(0), 3}, {.key = "d", .value = "v", .headers = {}});
            append({Topic::kRetryDead, 3}, {.key = "d", .value = "v", .headers = {}});
        }
        // Offsets of the first cluster, above all that is here.
        DoneRecord done;
        done.partition = 3;
        done.epoch = 7;
        done.delays = layout().tiers;
        done.tiers[0] = {.finished = {.low = 5000, .above = {{6000, 6001}}}, .scan = 5500};
        done.tiers[1] = {.finished = {.low = 40, .above = {}}, .scan = 50};
        done.dead_scan = 900;
        done.events_next = 90'000;
        append({Topic::kRetryDone, 3}, retry::encode(done));
        admin.cluster = "cluster-b";
    }

    void append(TopicPartition where, core::Record record) {
        const auto publisher = log->open_publisher(executor);
        bool written = false;
        publisher->publish(where, std::move(record),
                           [&](const auto& done) { written = done.has_value(); });
        executor.run_for(seconds{1});
        REQUIRE(written);
    }
    void commit(TopicPartition where, core::Offset offset) {
        bool written = false;
        log->commit("retry", {{where, offset}}, executor,
                    [&](const auto& done) { written = done.has_value(); });
        executor.run_for(seconds{1});
        REQUIRE(written);
    }
    core::Result<void> adopt() { return tools::adopt_topics(admin, *log, options, out); }
    DoneRecord newest() {
        std::optional<DoneRecord> found;
        const auto read = log::read_partition(
            *log, {Topic::kRetryDone, 3},
            [&](const core::RecordView& record) {
                if (auto done = retry::decode_done(record)) found = *done;
            },
            kWait);
        REQUIRE(read);
        return found.value();
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    FakeAdmin admin;
    std::unique_ptr<log::MemoryLog> log;
    tools::TopicsToolOptions options;
    log::Control before;
    std::ostringstream out;
};

}  // namespace

TEST_CASE("a copy of the log is refused until it is adopted") {
    Copy copy;
    CHECK(copy.before.cluster == "cluster-a");
    const auto refused = log::check_cluster(copy.admin, copy.before.cluster);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == core::Fault::conflict);
    CHECK_THAT(refused.error().message, Catch::Contains("cluster-a") &&
                                            Catch::Contains("cluster-b") &&
                                            Catch::Contains("beckon topics adopt"));
    const auto created = tools::create_topics(copy.admin, *copy.log, copy.options, copy.out);
    REQUIRE_FALSE(created);
    CHECK(created.error().fault == core::Fault::conflict);

    REQUIRE(copy.adopt());
    const auto after = *log::read_control(*copy.log, kWait);
    CHECK(after.cluster == "cluster-b");
    CHECK(after.log_id != copy.before.log_id);  // so stores of the first cluster are refused
    CHECK(after.partitions == copy.before.partitions);
    CHECK(log::check_cluster(copy.admin, after.cluster));
    CHECK(tools::create_topics(copy.admin, *copy.log, copy.options, copy.out));
}

TEST_CASE("deliveries of a copy go on where the group was") {
    Copy copy;
    copy.commit({Topic::kEvents, 3}, 8);
    copy.commit({Topic::retry(0), 3}, 6);
    REQUIRE(copy.adopt());
    const auto done = copy.newest();
    CHECK(done.epoch == 7);
    CHECK(done.events_next == 8);
    CHECK(done.tiers.at(0).finished == retry::Finished{.low = 6, .above = {}});
    CHECK(done.tiers.at(0).scan == 6);
    CHECK(done.dead_scan == 10);
    CHECK_THAT(copy.out.str(), Catch::Contains("events: 2 records are taken again at most\n") &&
                                   Catch::Contains("retry.0: 4 records are taken again at most\n"));
}

TEST_CASE("without the group's offsets everything that the copy holds is taken again") {
    Copy copy;
    REQUIRE(copy.adopt());
    CHECK(copy.newest().events_next == 0);
    CHECK(copy.newest().tiers.at(0).finished.low == 0);
    CHECK_THAT(copy.out.str(),
               Catch::Contains("events: 10 records are taken again at most; 1 of 1 partitions from "
                               "their beginning, since the copy has no offset of the group retry"));
}

TEST_CASE("adopt passes over no record that the copy has") {
    Copy copy;
    copy.commit({Topic::kEvents, 3}, 90'000);  // not translated
    REQUIRE(copy.adopt());
    CHECK(copy.newest().events_next == 10);
}

TEST_CASE("adopt changes nothing where the log was made, with --dry-run, or without a copy") {
    Copy copy;
    copy.options.dry_run = true;
    REQUIRE(copy.adopt());
    CHECK(*log::read_control(*copy.log, kWait) == copy.before);
    CHECK(copy.newest().events_next == 90'000);

    copy.options.dry_run = false;
    copy.admin.cluster = "cluster-a";
    REQUIRE(copy.adopt());
    CHECK(*log::read_control(*copy.log, kWait) == copy.before);

    copy.admin.cluster = "cluster-b";
    copy.admin.existing.at(Topic::kNotifications).settings["retention.ms"] = "1000";
    const auto refused = copy.adopt();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == core::Fault::conflict);
    CHECK(*log::read_control(*copy.log, kWait) == copy.before);

    const auto empty = log::make_memory_log({.partitions = 8, .clock = &copy.clock});
    const auto none = tools::adopt_topics(copy.admin, *empty, copy.options, copy.out);
    REQUIRE_FALSE(none);
    CHECK(none.error().fault == core::Fault::not_found);
}

TEST_CASE("a log of a build that did not write the cluster gets it by topics create") {
    Copy copy;
    auto older = copy.before;
    older.cluster.clear();
    REQUIRE(log::write_control(*copy.log, older, copy.before, kWait));
    CHECK(log::check_cluster(copy.admin, ""));
    REQUIRE(tools::create_topics(copy.admin, *copy.log, copy.options, copy.out));
    CHECK(log::read_control(*copy.log, kWait)->cluster == "cluster-b");
    CHECK(log::read_control(*copy.log, kWait)->log_id == copy.before.log_id);
}

namespace {

constexpr const char* kWebhook = "0123456789abcdef0123456789abcdef";

/// A delivery that names an event by its offset in the first cluster.
retry::Delivery named(const std::string& event, core::Offset before, std::uint32_t hop) {
    return {.id = retry::delivery_id("/shop", event, kWebhook),
            .webhook = kWebhook,
            .event = "",
            .place = retry::EventPlace{.partition = 3,
                                       .offset = before,
                                       .name = retry::event_name("/shop", event),
                                       .bytes = 2'000,
                                       .type = "t"},
            .hop = hop,
            .attempts = hop,
            .step = 1,
            .accepted = core::Timestamp{std::chrono::milliseconds{77}},
            .last = retry::Outcome::refused};
}

}  // namespace

// Fails where deliveries keep the offsets of the first cluster: each would be a dead letter.
TEST_CASE("what waits in a copy names the events by their places in the copy") {
    Copy copy;
    for (const auto* id : {"e1", "e2"}) {
        copy.append({Topic::kEvents, 3}, retry::encode(*retry::parse_structured(
                                             R"({"specversion":"1.0","id":")" + std::string{id} +
                                             R"(","source":"/shop","type":"t"})")));
    }
    copy.append({Topic::retry(0), 3}, retry::encode(named("e1", 5'001, 0)));  // finished
    copy.append({Topic::retry(0), 3}, retry::encode(named("e1", 5'001, 2)));
    copy.append({Topic::retry(0), 3}, {.key = "d", .value = "broken", .headers = {}});
    auto small = named("e3", 0, 1);
    small.place.reset();
    small.event = "{}";
    copy.append({Topic::retry(0), 3}, retry::encode(small));
    copy.append({Topic::retry(0), 3}, retry::encode(named("lost", 5'003, 1)));
    const auto letter = named("e2", 5'002, 4);
    const auto settled = named("e1", 5'001, 3);
    copy.append({Topic::kRetryDead, 3}, retry::encode_dead(letter));
    copy.append({Topic::kRetryDead, 3}, retry::encode_dead(settled));
    copy.append(
        {Topic::kRetryDead, 3},
        retry::encode(retry::Settled{.delivery = settled.id, .webhook = kWebhook, .hop = 3}));
    copy.commit({Topic::retry(0), 3}, 11);
    copy.options.dry_run = true;
    REQUIRE(copy.adopt());
    CHECK_THAT(
        copy.out.str(),
        Catch::Contains("deliveries and dead letters that name 3 events by their offsets are "
                        "written anew; the copy does not have 1 of these events\n"));
    CHECK(copy.log->records({Topic::retry(0), 3}).size() == 15);

    copy.options.dry_run = false;
    REQUIRE(copy.adopt());
    const auto& waiting = copy.log->records({Topic::retry(0), 3});
    REQUIRE(waiting.size() == 18);
    const auto written = [&](std::size_t at) {
        return *retry::decode_delivery(*test::ReadBack{waiting[at].record});
    };
    auto moved = named("e1", 10, 3);
    moved.attempts = 2;
    CHECK(written(15) == moved);
    CHECK(written(16).event == "{}");
    CHECK(written(16).hop == 2);
    CHECK(written(17).place->offset == 5'003);  // its attempt finds out
    const auto done = copy.newest();
    CHECK(done.tiers.at(0).finished == retry::Finished{.low = 15, .above = {}});
    CHECK(done.tiers.at(0).scan == 15);

    const auto& dead = copy.log->records({Topic::kRetryDead, 3});
    REQUIRE(dead.size() == 15);
    std::map<std::string, retry::Delivery> letters;
    for (std::size_t i = 13; i < dead.size(); ++i) {
        const auto one = *retry::decode_delivery(*test::ReadBack{dead[i].record});
        letters[one.id] = one;
    }
    auto moved_letter = named("e2", 11, 5);
    moved_letter.attempts = 4;
    CHECK(letters.at(letter.id) == moved_letter);
    CHECK(letters.contains("rec_retry-0-3-12"));  // the broken record
}
