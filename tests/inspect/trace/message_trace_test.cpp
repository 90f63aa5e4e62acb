#include "inspect/trace/message_trace.hpp"

#include "core/client_code.hpp"
#include "inspect/trace/client_trace.hpp"
#include "inspect/trace/trace_words.hpp"
#include "records/events.hpp"
#include "reliability/history/milestone_codec.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/publish.hpp"

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using core::FinishReason;
using inspect::TraceOutcome;

namespace {

constexpr core::Partition kPartitions = 4;

/// A log, and a client in it.
struct World {
    void write(log::Topic topic, const core::Record& record) {
        const auto partition = topic == log::Topic::kReliability
                                   ? core::partition_of(record.key, kPartitions)
                                   : core::partition_of(uaid, kPartitions);
        test::publish(*log, {topic, partition}, record);
    }
    core::MessageRef put(std::optional<std::string_view> topic = std::nullopt,
                         std::optional<std::string_view> tracked = std::nullopt) {
        const core::MessageRef message{uaid, core::new_message_key(clock.wall())};
        clock.advance(3ms);  // between the request and the log's append
        core::NotificationAccepted event;
        event.uaid = uaid;
        event.key = message.key;
        event.message_id = "id";
        event.channel = channel;
        event.ttl_s = 60;
        event.topic = topic;
        event.reliability_id = tracked;
        event.source = "endpoint-1";
        event.body = "body";
        write(log::Topic::kNotifications, core::encode(event));
        return message;
    }
    void finish(const core::MessageRef& message, FinishReason reason,
                std::optional<std::uint32_t> code = std::nullopt,
                std::optional<std::string_view> sent = std::nullopt) {
        core::NotificationFinished event;
        event.uaid = message.uaid;
        event.key = message.key;
        event.reason = reason;
        auto tombstone = core::encode(event);
        core::add_client_code(tombstone, code);
        if (sent) tombstone.headers.push_back({core::kSentHeader, std::string{*sent}});
        write(log::Topic::kNotifications, std::move(tombstone));
    }
    inspect::TraceOptions options() const {
        return {.partitions = kPartitions, .now = clock.wall(), .limits = {.timeout = 5'000ms}};
    }
    inspect::MessageTrace trace(const core::MessageRef& message) {
        const auto trace = inspect::trace_message(*log, message, options());
        REQUIRE(trace);
        return *trace;
    }

    test::ManualClock clock;
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.partitions = kPartitions, .clock = &clock});
    const core::Uaid uaid{core::random_uuid4()};
    const core::ChannelId channel{core::random_uuid4()};
};

std::vector<std::string> whats(const inspect::MessageTrace& trace) {
    std::vector<std::string> out;
    for (const auto& step : trace.steps) out.push_back(step.what);
    return out;
}

}  // namespace

TEST_CASE("a message key says when it was made") {
    const test::ManualClock clock;
    CHECK(inspect::made_at(core::new_message_key(clock.wall())) == clock.wall());
}

TEST_CASE("the life of a message is its put, its end, and who was home") {
    World world;
    const auto message = world.put();
    world.clock.advance(2s);
    world.write(log::Topic::kNotifications,
                core::encode(core::Lease{.epoch = 7, .node = "edge-2", .role = "edge"}));
    world.clock.advance(1s);
    world.finish(message, FinishReason::acked);
    world.finish(world.put(), FinishReason::expired);  // another message
    const auto trace = world.trace(message);
    CHECK(trace.outcome == TraceOutcome::finished);
    CHECK(whats(trace) == std::vector<std::string>{"accepted", "home", "finished"});
    CHECK(trace.steps[2].at - trace.steps[0].at == 3s);
    CHECK_THAT(trace.steps[1].why, Catch::Contains("edge-2") && Catch::Contains("epoch 7"));
}

TEST_CASE("a trace distinguishes a message that waits from an expired one") {
    World world;
    const auto message = world.put();
    CHECK(world.trace(message).outcome == TraceOutcome::waiting);
    world.clock.advance(61s);
    CHECK(world.trace(message).outcome == TraceOutcome::overdue);
}

TEST_CASE("a trace says of a message that waits whether an edge lives that serves its client") {
    World world;
    const auto message = world.put();
    auto options = world.options();
    for (const bool homeless : {false, true}) {
        options.homeless = [&](core::Partition) { return homeless; };
        const auto trace = inspect::trace_message(*world.log, message, options);
        REQUIRE(trace);
        CHECK(trace->homeless == homeless);
        CHECK((trace->verdict.find("No living edge serves") != std::string::npos) == homeless);
    }
}

TEST_CASE("a trace says of an expired message whether its client got it") {
    World world;
    const auto verdict = [&](std::optional<std::string_view> sent) {
        const auto message = world.put();
        world.finish(message, FinishReason::expired, std::nullopt, sent);
        return world.trace(message).verdict;
    };
    CHECK_THAT(verdict(std::nullopt), Catch::Contains("before its home had sent it"));
    CHECK_THAT(verdict(core::kSentUnanswered), Catch::Contains("had not acknowledged it"));
    CHECK_THAT(verdict(core::kSentAcked), Catch::Contains("the client acknowledged it"));
}

TEST_CASE("a trace shows an ack by which the client could not read the message") {
    World world;
    const auto message = world.put();
    world.finish(message, FinishReason::acked, 101);
    CHECK_THAT(world.trace(message).steps[1].why, Catch::Contains("could not decrypt it"));
}

TEST_CASE("a replaced message names the one that took its place") {
    World world;
    const auto message = world.put("news");
    world.put("other");
    const auto newer = world.put("news");
    world.finish(message, FinishReason::replaced);
    const auto trace = world.trace(message);
    CHECK(whats(trace) == std::vector<std::string>{"accepted", "newer", "finished"});
    CHECK_THAT(trace.steps[1].why, Catch::Contains(core::to_hex(newer.key)));
}

TEST_CASE("milestones of a tracked message are on its time line") {
    World world;
    const auto message = world.put({}, "track-1");
    const auto reached = world.clock.wall() + 1s;
    world.clock.advance(2s);
    world.write(log::Topic::kReliability,
                reliability::encode({.id = "track-1",
                                     .expires = reached + 1h,
                                     .source = "edge-1",
                                     .reached = {{core::Milestone::delivered, reached}}}));
    world.finish(message, FinishReason::acked);
    const auto trace = world.trace(message);
    CHECK(whats(trace) == std::vector<std::string>{"accepted", "delivered", "finished"});
    CHECK(trace.reliability_id == "track-1");
    const auto found = inspect::find_tracked(*world.log, "track-1", world.options());
    REQUIRE(found);
    CHECK(*found == message);
    CHECK(*inspect::find_tracked(*world.log, "track-2", world.options()) == std::nullopt);
}

TEST_CASE("the client's own changes are on the time line too") {
    World world;
    core::ChannelRecorded channel;
    channel.uaid = world.uaid;
    channel.channel = world.channel;
    world.write(log::Topic::kSubscriptions, core::encode(channel));
    world.clock.advance(1s);
    const auto message = world.put();
    CHECK(whats(world.trace(message)) == std::vector<std::string>{"client", "accepted"});
}

TEST_CASE("a message is found though the endpoint's clock is minutes off") {
    World world;
    for (const auto apart : {-5min, 5min}) {
        const core::MessageRef message{world.uaid,
                                       core::new_message_key(world.clock.wall() + apart)};
        core::NotificationAccepted event;
        event.uaid = message.uaid;
        event.key = message.key;
        event.message_id = "id";
        event.ttl_s = 60;
        world.write(log::Topic::kNotifications, core::encode(event));
        CHECK(world.trace(message).outcome == TraceOutcome::waiting);
        world.clock.advance(1h);
    }
}

TEST_CASE("a message is found however wrong the endpoint's clock was") {
    World world;
    for (const auto apart : {-24h, -2h, 2h, 24h}) {
        const core::MessageRef message{world.uaid,
                                       core::new_message_key(world.clock.wall() + apart)};
        core::NotificationAccepted event;
        event.uaid = message.uaid;
        event.key = message.key;
        event.message_id = "id";
        event.ttl_s = 60;
        world.write(log::Topic::kNotifications, core::encode(event));
        const auto trace = world.trace(message);
        CHECK(trace.outcome == TraceOutcome::waiting);
        CHECK_THAT(inspect::steps_text(trace), Catch::Contains("+0.000 s  notifications/"));
        CHECK(*inspect::find_message(*world.log, message.key, world.options()) == message);
        world.clock.advance(1h);
    }
}

TEST_CASE("a message that nobody has was made in the past or later than now") {
    const World world;
    const auto now = world.clock.wall();
    CHECK_THAT(inspect::unknown_words(now - 2h, now), Catch::Contains("(2 h ago)"));
    CHECK_THAT(inspect::unknown_words(now + 1h, now),
               Catch::Contains("later than now") && !Catch::Contains("ago"));
    CHECK(*inspect::find_message(*world.log, core::new_message_key(now), world.options()) ==
          std::nullopt);
}

TEST_CASE("a trace that had no time for the whole partition says so") {
    World world;
    world.put();
    world.clock.advance(1h);
    auto options = world.options();
    options.limits.given_up = [] { return true; };
    const core::MessageRef other{world.uaid, core::new_message_key(world.clock.wall() + 1h)};
    const auto trace = inspect::trace_message(*world.log, other, options);
    REQUIRE(trace);
    CHECK(trace->outcome == TraceOutcome::unknown);
    CHECK_THAT(trace->verdict, Catch::Contains("not known") && Catch::Contains("10 minutes"));
}

TEST_CASE("a trace shows the end of a message that compaction has removed") {
    World world;
    const auto message = world.put();
    world.finish(message, FinishReason::acked);
    const log::TopicPartition where{log::Topic::kNotifications,
                                    core::partition_of(world.uaid, kPartitions)};
    world.log->compact(where, 2, false);
    const auto trace = world.trace(message);
    CHECK(whats(trace) == std::vector<std::string>{"finished"});
    world.log->compact(where, 2, true);
    CHECK(world.trace(message).outcome == TraceOutcome::unknown);
}

TEST_CASE("a trace is text for people and JSON for scripts") {
    World world;
    const auto message = world.put();
    world.clock.advance(1s);
    world.finish(message, FinishReason::deleted);
    const auto trace = world.trace(message);
    const auto text = inspect::steps_text(trace);
    CHECK_THAT(trace.verdict, Catch::Contains("Its sender deleted it"));
    CHECK_THAT(text, Catch::Contains("+1.003 s  notifications/"));
    CHECK(inspect::trace_json(trace)["outcome"] == "finished");
}

TEST_CASE("the life of a client is its registrations, its messages and their ends") {
    World world;
    core::ChannelRecorded channel;
    channel.uaid = world.uaid;
    channel.channel = world.channel;
    world.write(log::Topic::kSubscriptions, core::encode(channel));
    world.clock.advance(1s);
    const auto message = world.put();
    world.clock.advance(1s);
    world.finish(message, FinishReason::acked);
    const auto trace = inspect::trace_client(*world.log, world.uaid, {.trace = world.options()});
    REQUIRE(trace);
    std::vector<std::string> whats;
    for (const auto& step : trace->steps) whats.push_back(step.what);
    CHECK(whats == std::vector<std::string>{"client", "accepted", "finished"});
    CHECK_THAT(trace->steps[2].why,
               Catch::Contains(core::to_hex(message.key)) && Catch::Contains("acknowledged"));
    CHECK_FALSE(trace->cut);
}

TEST_CASE("of a long life the newest steps are kept, and older messages left out") {
    World world;
    for (int i = 0; i < 5; ++i) {
        world.put();
        world.clock.advance(1s);
    }
    const inspect::ClientTraceOptions some{.trace = world.options(), .steps_max = 2};
    const auto newest = inspect::trace_client(*world.log, world.uaid, some);
    REQUIRE(newest);
    CHECK(newest->cut);
    REQUIRE(newest->steps.size() == 2);
    CHECK(newest->steps[1].offset == 4);
    const inspect::ClientTraceOptions late{.trace = world.options(), .since = newest->steps[0].at};
    CHECK(inspect::trace_client(*world.log, world.uaid, late)->steps.size() == 2);
}

TEST_CASE("a search that is given up says so") {
    World world;
    world.put();
    auto options = world.options();
    options.limits.given_up = [] { return true; };
    const auto trace = inspect::trace_client(*world.log, world.uaid, {.trace = options});
    REQUIRE_FALSE(trace);
    CHECK(trace.error().fault == core::Fault::timed_out);
}
