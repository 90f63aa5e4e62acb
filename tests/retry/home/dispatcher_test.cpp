#include "retry/home/dispatcher.hpp"

#include "core/logger.hpp"
#include "retry/event/event.hpp"
#include "retry/home/attempts_world.hpp"
#include "retry/home/queue/delivery_line.hpp"
#include "retry/home/queue/requeues.hpp"
#include "support/captured_output.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;
using End = HttpAnswer::End;
using Log = std::vector<std::string>;

namespace {

/// A delivery that was attempted before.
Delivery tried(std::uint32_t attempts, int step) {
    Delivery delivery;
    delivery.attempts = attempts;
    delivery.step = step;
    return delivery;
}

Delivery accepted_at(core::Timestamp time) {
    Delivery delivery;
    delivery.accepted = time;
    return delivery;
}

/// A dispatcher whose requests are answered by the test.
struct World : test::AttemptsWorld {
    explicit World(DeliveryOptions options = {.table = *TierTable::from({0s, 5s, 60s, 600s})},
                   WorkJournal::Slot* journal = nullptr)
        : AttemptsWorld(options, journal, [this](Job job) { dispatcher.begin(std::move(job)); }),
          dispatcher(std::move(options),
                     {.home = home,
                      .queue = queue,
                      .webhooks = webhooks,
                      .events = event_reader,
                      .outcomes = *this,
                      .send =
                          [this](HttpRequest request, auto done) {
                              if (sending) sending();
                              requests.push_back(std::move(request));
                              waiting.push_back(std::move(done));
                          },
                      .change_state =
                          [this](const std::string& id, const WebhookState& state) {
                              outcomes.push_back(
                                  id + (state.enabled ? " failing" : " disabled: " + state.reason));
                              webhooks.apply(*test::ReadBack{encode(id, state)});
                          },
                      .catch_up =
                          [this](core::Partition, std::function<void(bool)> done) {
                              ++barriers;
                              executor.post([this, done = std::move(done)] { done(log_is_read); });
                          }}) {}

    void add_webhook(const std::string& id, bool ordered = false) {
        Webhook webhook;
        webhook.id = id;
        webhook.owner = "o";
        webhook.url = "http://" + id + ".example/";
        webhook.ordered = ordered;
        webhooks.apply(*test::ReadBack{encode(webhook, webhooks.box())});
    }
    void ask_before(const std::string& id, const std::string& origin) {
        auto webhook = webhooks.find(id)->webhook;
        webhook.request_origin = origin;
        webhooks.apply(*test::ReadBack{encode(webhook, webhooks.box())});
    }
    void forget(core::Partition partition) {
        dispatcher.forget(partition);
        queue.forget(partition);
    }
    void remove_webhook(const std::string& id) {
        webhooks.apply(*test::ReadBack{encode_removed(id)});
    }
    void due(core::Offset offset, const std::string& webhook = "w", Delivery delivery = {}) {
        hand_on(offset, webhook, std::move(delivery));
        executor.run();
    }
    void hand_on(core::Offset offset, const std::string& webhook = "w", Delivery delivery = {}) {
        delivery.id = "d" + std::to_string(offset);
        delivery.webhook = webhook;
        if (!delivery.place) delivery.event = "{}";
        if (delivery.accepted == core::Timestamp{}) delivery.accepted = log_time();
        const int tier = delivery.step;  // where it waited
        dispatcher.due({.ticket = {.partition = 0, .tier = tier, .offset = offset},
                        .delivery = std::move(delivery),
                        .due = log_time(),
                        .now = log_time(),
                        .handed_on = clock.mono()});
    }
    void answer(HttpAnswer a) {
        REQUIRE_FALSE(waiting.empty());
        const auto done = std::move(waiting.front());
        waiting.pop_front();
        done(std::move(a));
        executor.run();
    }
    void answer(int status) { answer({.end = End::answered, .status = status, .took = 10ms}); }

    /// The log's; the host's clock may be ahead of it.
    core::Timestamp log_time() const { return clock.wall() - host_ahead; }

    std::chrono::milliseconds host_ahead{};
    EventCache cache;
    EventReader event_reader{*log, executor, cache};
    bool log_is_read = true;
    int barriers = 0;
    WebhookDirectory webhooks{
        SecretBox{std::make_shared<core::KeyRing>(core::KeyRing::generate())}};
    std::vector<HttpRequest> requests;
    std::deque<std::function<void(HttpAnswer)>> waiting;
    Dispatcher dispatcher;
};

}  // namespace

// Fails if one turn starts every attempt that may start: a thousand requests took a tenth of a
// second, in which the thread read nothing.
TEST_CASE("a turn begins a few attempts, and the next turns the others", "[retry][dispatch]") {
    World world;
    core::Offset offset = 0;
    for (const auto* webhook : {"a", "b", "c", "d", "e"}) {
        world.add_webhook(webhook);
        for (int i = 0; i < 8; ++i) world.hand_on(++offset, webhook);
    }
    world.executor.step();
    CHECK(world.requests.size() == AttemptQueue::kStartsPerTurn);
    world.executor.run();
    CHECK(world.requests.size() == 40);
}

TEST_CASE("a turn whose attempts take long to begin begins no more of them", "[retry][dispatch]") {
    World world;
    world.sending = [&] { world.clock.advance(AttemptQueue::kTurn); };
    for (const auto* webhook : {"a", "b", "c"}) {
        world.add_webhook(webhook);
        world.hand_on(1, webhook);
    }
    for (std::size_t turn = 1; turn <= 3; ++turn) {
        world.executor.step();
        CHECK(world.requests.size() == turn);
    }
}

TEST_CASE("a refused delivery goes to the next tier, and is dead-lettered after the last",
          "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    world.due(1);
    world.answer(500);
    CHECK(world.outcomes == Log{"tier 1 1 attempts 1"});
    CHECK(world.last->step == 1);
    CHECK(world.last->last == Outcome::refused);
    world.due(2, "w", tried(3, 3));
    world.answer(500);
    CHECK(world.outcomes.back() == "dead-letter 2 refused");
}

TEST_CASE("whatever a host does instead of an answer, its delivery goes on to the next tier",
          "[retry][dispatch]") {
    const auto [end, outcome] =
        GENERATE(table<End, Outcome>({{End::timed_out, Outcome::timed_out},
                                      {End::unreachable, Outcome::unreachable},
                                      {End::forbidden, Outcome::forbidden},
                                      {End::too_large, Outcome::too_large}}));
    World world;
    world.add_webhook("w");
    world.due(1);
    world.answer({.end = end, .why = "as it was", .took = 10ms});
    CHECK(world.outcomes == Log{"tier 1 1 attempts 1"});
    CHECK(world.last->last == outcome);
    CHECK(world.dispatcher.attempts().of("w").front().outcome == outcome);
    CHECK(world.dispatcher.attempts().of("w").front().why == "as it was");
}

TEST_CASE("a receiver that throttles gets the tier that fits", "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    world.due(1);
    world.answer({.end = End::answered, .status = 429, .retry_after = 100s});
    CHECK(world.outcomes == Log{"tier 3 1 attempts 1"});
}

TEST_CASE("410 disables the webhook, and later deliveries are dead-lettered at once",
          "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    world.due(1);
    world.answer(410);
    CHECK(world.outcomes == Log{"w disabled: gone", "dead-letter 1 gone"});
    world.due(2);
    CHECK(world.outcomes.back() == "dead-letter 2 webhook_disabled");
    CHECK(world.requests.size() == 1);
}

TEST_CASE("a delivery that is too old is not attempted", "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    world.due(1, "w", accepted_at(world.log_time() - 8 * 24h));
    CHECK(world.outcomes == Log{"dead-letter 1 expired"});
}

// Fails where an age is the difference of the host's wall clock and a time from the log.
TEST_CASE("a host whose clock is eight days ahead gives up nothing before its time",
          "[retry][dispatch]") {
    World world;
    world.host_ahead = 8 * 24h;
    world.add_webhook("w");
    world.due(1);
    REQUIRE(world.requests.size() == 1);
    for (int i = 2; i < 12; ++i) {
        world.answer(500);
        world.due(i);
    }
    CHECK(world.webhooks.find("w")->state.enabled);
    REQUIRE(world.webhooks.find("w")->state.failing_since);
    CHECK(*world.webhooks.find("w")->state.failing_since <= world.log_time());
}

// Fails where a delivery that is older than two minutes is dropped because the view does not know
// its webhook.
TEST_CASE("nothing is dropped by a view that may be stale", "[retry][dispatch]") {
    World world;
    world.log_is_read = false;
    world.due(1, "new", accepted_at(world.log_time() - 3min));
    CHECK(world.barriers == 1);
    CHECK(world.outcomes == Log{"tier 1 1 attempts 0"});
    world.log_is_read = true;
    world.dispatcher.due({.ticket = {.offset = 2},
                          .delivery = {.id = "d2",
                                       .webhook = "new",
                                       .event = "{}",
                                       .accepted = world.log_time() - 3min},
                          .now = world.log_time(),
                          .handed_on = world.clock.mono()});
    world.add_webhook("new");  // it is read while the barrier is under way
    world.executor.run();
    CHECK(world.requests.size() == 1);
}

TEST_CASE("what waits for a webhook that was deleted is dropped when it comes back",
          "[retry][dispatch]") {
    World world;
    for (int i = 0; i < 10; ++i) world.due(i, "gone", tried(0, 1));
    CHECK(std::all_of(world.outcomes.begin(), world.outcomes.end(),
                      [](const std::string& one) { return one.starts_with("finish "); }));
    CHECK(world.outcomes.size() == 10);
}

// Fails where only webhooks have a bound: an owner may have a thousand of them.
TEST_CASE("all webhooks of an owner together requeue into longer tiers", "[retry][dispatch]") {
    World world;
    const auto webhooks = {"a", "b", "c"};
    for (const auto* webhook : webhooks) {
        world.add_webhook(webhook);
        for (int i = 0; i < 10; ++i) {
            world.due(i, webhook);
            world.answer({.end = End::unreachable});
        }
    }
    world.clock.advance(26s);  // their breakers close in 4 s, which fit into the shortest tier
    world.outcomes.clear();
    for (const auto* webhook : webhooks) {
        for (int i = 10; i < 2'500; ++i) world.due(i, webhook);
    }
    const auto in_tier = [&](const std::string& tier) {
        return std::count_if(world.outcomes.begin(), world.outcomes.end(),
                             [&](const std::string& one) { return one.starts_with(tier); });
    };
    CHECK(in_tier("tier 1 ") == 6'000 - 30);  // with the attempts that failed
    CHECK(in_tier("tier 2 ") == 1'500);
}

// Fails where the log says nothing of a receiver that fails, or a line for each attempt.
TEST_CASE("the log says when a webhook fails, and when it works again", "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    core::configure_logging(core::LogLevel::info, core::LogFormat::text);
    test::CapturedOutput captured;
    for (int i = 0; i < 12; ++i) {
        world.due(i);
        if (i < 10) world.answer({.end = End::unreachable, .why = "nothing listens"});
    }
    world.clock.advance(31s);
    world.due(51);
    world.answer(500);  // the breaker opens again
    world.clock.advance(61s);
    world.due(52);
    world.answer(200);
    world.due(53);
    world.answer(200);
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    const auto lines = captured.finish();
    CAPTURE(lines);
    const auto count_of = [&](const std::string& text) {
        std::size_t count = 0;
        for (auto at = lines.find(text); at != std::string::npos; at = lines.find(text, at + 1)) {
            ++count;
        }
        return count;
    };
    CHECK(count_of("webhook_failing") == 1);
    CHECK(count_of("nothing listens") == 1);
    CHECK(count_of("unreachable") == 1);
    CHECK(count_of("webhook_works_again") == 1);
    CHECK(count_of("webhook=w") == 2);
}

TEST_CASE("while the breaker is open no attempt is spent", "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    for (int i = 0; i < 10; ++i) {
        world.due(i);
        world.answer({.end = End::unreachable});
    }
    world.due(50);
    CHECK(world.outcomes.back() == "tier 2 50 attempts 0");  // 30 s fit into a minute
    CHECK(world.requests.size() == 10);
    world.clock.advance(31s);
    world.due(51);
    CHECK(world.requests.size() == 11);  // one tries
    world.due(52);
    CHECK(world.requests.size() == 11);
    world.answer(200);
    world.due(53);
    CHECK(world.requests.size() == 12);
}

// Fails where the attempt that tries ends unjudged: then no delivery is ever attempted again.
TEST_CASE("a webhook that was disabled while its breaker tried is attempted once it is enabled",
          "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    for (int i = 0; i < 10; ++i) {
        world.due(i);
        world.answer({.end = End::unreachable});
    }
    const auto set_state = [&](const WebhookState& state) {
        world.webhooks.apply(*test::ReadBack{encode("w", state)});
    };
    world.clock.advance(31s);
    world.due(11);
    set_state({.enabled = false, .reason = "owner"});
    world.answer({.end = End::timed_out});
    CHECK(world.requests.size() == 11);
    SECTION("at once, since its owner says that it works") {
        set_state({.enabled = true, .enabled_at = world.log_time()});
        world.due(12);
        CHECK(world.requests.size() == 12);
    }
    SECTION("or when the breaker's time is over") {
        set_state({.enabled = true});
        world.due(12);
        CHECK(world.requests.size() == 11);
        world.clock.advance(61s);
        world.due(13);
        CHECK(world.requests.size() == 12);
    }
}

TEST_CASE("a webhook that has accepted nothing for days is disabled, and only then",
          "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    for (int i = 0; i < 10; ++i) {
        world.due(i);
        world.answer(500);
    }
    CHECK(std::count(world.outcomes.begin(), world.outcomes.end(), "w failing") == 1);
    CHECK(world.webhooks.find("w")->state.failing_since);
    world.clock.advance(6 * 24h);
    world.due(20);
    world.answer(500);
    CHECK(std::count(world.outcomes.begin(), world.outcomes.end(), "w disabled: failing") == 1);
    CHECK_FALSE(world.webhooks.find("w")->state.enabled);
}

TEST_CASE("one success ends a failing streak, in the log too", "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    for (int i = 0; i < 10; ++i) {
        world.due(i);
        world.answer(500);
    }
    world.clock.advance(1h);
    world.due(20);
    world.answer(200);
    CHECK_FALSE(world.webhooks.find("w")->state.failing_since);
}

TEST_CASE("behind a failed delivery of an ordered webhook nothing is attempted",
          "[retry][dispatch]") {
    World world;
    world.add_webhook("w", true);
    world.due(1);
    world.due(2);
    CHECK(world.requests.size() == 1);  // one at a time
    world.answer(500);
    CHECK(world.outcomes == Log{"tier 1 1 attempts 1", "tier 1 2 attempts 0"});
    world.due(3);
    CHECK(world.outcomes.back() == "tier 1 3 attempts 0");
    // The tier matures in its order: 1, 2, 3.
    for (const core::Offset id : {1, 2, 3}) world.due(id, "w", tried(1, 1));
    world.answer(200);
    world.answer(200);
    world.answer(200);
    CHECK(Log(world.outcomes.end() - 3, world.outcomes.end()) ==
          Log{"finish 1", "finish 2", "finish 3"});
}

TEST_CASE("behind a line that is full an ordered webhook's deliveries keep their order too",
          "[retry][dispatch][bounds]") {
    World world;
    world.add_webhook("w", true);
    constexpr core::Offset kCount = static_cast<core::Offset>(DeliveryLine::kDeliveriesMax) + 10;
    for (int round = 0; round < 2; ++round) {  // the second finds as much space as the first
        world.outcomes.clear();
        world.due(1);
        world.answer(500);
        for (core::Offset id = 2; id <= kCount; ++id) world.due(id);
        REQUIRE(world.outcomes.size() == kCount);
        CHECK(world.waiting.empty());
        // So many would come back too often in the shortest tier.
        CHECK(world.outcomes.back() == "tier 2 " + std::to_string(kCount) + " attempts 0");
        // The tier matures in its order.
        world.outcomes.clear();
        for (core::Offset id = 1; id <= kCount; ++id) {
            world.due(id, "w", tried(1, 1));
            world.answer(200);
            REQUIRE(world.outcomes.back() == "finish " + std::to_string(id));
        }
        CHECK(world.outcomes.size() == kCount);
    }
}

// Verified to fail when forget() leaves the line as it is: then the second waits for ever.
TEST_CASE(
    "a delivery that another node has ended holds up no ordered webhook whose partition comes back",
    "[retry][dispatch]") {
    World world;
    world.add_webhook("w", true);
    world.due(1);
    world.answer(500);
    world.forget(0);  // another node delivers it
    world.due(2);
    REQUIRE(world.waiting.size() == 1);
    world.answer(200);
    CHECK(world.outcomes.back() == "finish 2");
}

// Else what was taken before the window was full joins the line behind what was not.
TEST_CASE("deliveries of an ordered webhook that were requeued keep their order",
          "[retry][dispatch]") {
    World world{{.table = *TierTable::from({0s, 5s, 60s}), .schedule = {.queued_max = 16}}};
    world.add_webhook("w", true);
    constexpr core::Offset kCount = 6;
    for (core::Offset id = 1; id <= kCount; ++id) world.due(id);
    REQUIRE_FALSE(world.outcomes.empty());  // the last ones were requeued
    const auto requeued = static_cast<core::Offset>(world.outcomes.size());
    CHECK(world.tally.deliveries[DeliveryEnd::spilled] == world.outcomes.size());
    for (core::Offset id = 1; id <= kCount - requeued; ++id) {
        world.answer(200);
        CHECK(world.outcomes.back() == "finish " + std::to_string(id));
    }
    for (core::Offset id = kCount - requeued + 1; id <= kCount; ++id) {
        world.due(id, "w", tried(0, 1));
        world.answer(200);
        CHECK(world.outcomes.back() == "finish " + std::to_string(id));
    }
}

// Fails where all wait in the tier of the one that failed, for as long as the line is not empty: a
// backlog then takes hours, a window's share each time, although the receiver accepts again.
TEST_CASE("the backlog of an ordered webhook whose receiver accepts again waits in no long tier",
          "[retry][dispatch]") {
    World world{{.table = *TierTable::from({0s, 5s, 60s, 600s}), .schedule = {.queued_max = 64}}};
    world.add_webhook("w", true);
    constexpr core::Offset kCount = 30;
    for (int step = 0; step < 3; ++step) {
        world.due(1, "w", tried(static_cast<std::uint32_t>(step), step));
        world.answer(500);
    }
    REQUIRE(world.outcomes.back() == "tier 3 1 attempts 3");
    for (core::Offset id = 2; id <= kCount; ++id) {
        world.due(id);
        REQUIRE(world.outcomes.back() == "tier 3 " + std::to_string(id) + " attempts 0");
    }
    world.clock.advance(600s);
    std::vector<core::Offset> order;
    std::set<core::Offset> waiting;
    for (core::Offset id = 1; id <= kCount; ++id) waiting.insert(id);
    int tier = 3;
    for (int round = 0; round < 10 && !waiting.empty(); ++round, world.clock.advance(5s)) {
        world.outcomes.clear();
        for (const auto id : waiting) world.due(id, "w", tried(id == 1 ? 3 : 0, tier));
        while (!world.waiting.empty()) world.answer(200);
        for (const auto& outcome : world.outcomes) {
            if (outcome.starts_with("finish ")) {
                order.push_back(std::stol(outcome.substr(7)));
                waiting.erase(order.back());
            } else {
                CHECK(outcome.starts_with("tier 1 "));
            }
        }
        tier = 1;
    }
    CHECK(waiting.empty());
    CHECK(order.size() == kCount);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("an ordered webhook waits for none that was here when its partition was forgotten",
          "[retry][dispatch]") {
    World world;
    world.add_webhook("w", true);
    const auto due_in = [&](core::Partition partition, const std::string& id) {
        world.dispatcher.due(
            {.ticket = {.partition = partition, .tier = 0, .offset = 1},
             .delivery = {.id = id, .webhook = "w", .event = "{}", .accepted = world.log_time()},
             .due = world.log_time(),
             .now = world.log_time(),
             .handed_on = world.clock.mono()});
        world.executor.run();
    };
    due_in(3, "a");
    due_in(3, "b");
    world.forget(3);
    world.answer(200);  // of the first, which the next home attempts again
    due_in(3, "c");
    REQUIRE(world.waiting.size() == 1);
    CHECK(world.outcomes == Log{});
}

// A copy of it was in the tier, or a former home has ended it.
TEST_CASE("an ordered webhook waits no longer for a delivery that does not come back",
          "[retry][dispatch]") {
    World world;
    world.add_webhook("w", true);
    world.due(1);
    world.answer(500);
    world.due(2);
    CHECK(world.outcomes.back() == "tier 1 2 attempts 0");
    world.clock.advance(5s);
    world.due(2, "w", tried(0, 1));
    CHECK(world.outcomes.back() == "tier 1 2 attempts 0");
    world.clock.advance(Requeues::kLate + 1s);
    world.due(2, "w", tried(0, 1));
    REQUIRE(world.waiting.size() == 1);
    world.answer(200);
    CHECK(world.outcomes.back() == "finish 2");
}

// Else the next home delivers the first, and the others wait behind it for ever.
TEST_CASE("an attempt that ends after its partition was forgotten joins no line",
          "[retry][dispatch]") {
    World world;
    world.add_webhook("w", true);
    world.due(1);
    world.forget(0);
    world.answer(500);
    CHECK(world.outcomes == Log{});
    world.due(2);
    REQUIRE(world.waiting.size() == 1);
    world.answer(200);
    CHECK(world.outcomes == Log{"finish 2"});
}

// Verified to fail when only deliveries in the line count as requeued.
TEST_CASE("a new delivery overtakes none that was requeued behind a full line",
          "[retry][dispatch][bounds]") {
    World world;
    world.add_webhook("w", true);
    constexpr core::Offset kLine = static_cast<core::Offset>(DeliveryLine::kDeliveriesMax);
    world.due(1);
    world.answer(500);
    for (core::Offset id = 2; id <= kLine + 2; ++id) world.due(id);
    for (core::Offset id = 1; id <= kLine; ++id) {
        world.due(id, "w", tried(1, 1));
        world.answer(200);
    }
    world.due(kLine + 3);  // new, while two wait in the tier
    CHECK(world.waiting.empty());
    CHECK(world.outcomes.back() == "tier 2 " + std::to_string(kLine + 3) + " attempts 0");
    for (core::Offset id = kLine + 1; id <= kLine + 3; ++id) {
        world.due(id, "w", tried(1, 1));
        world.answer(200);
        REQUIRE(world.outcomes.back() == "finish " + std::to_string(id));
    }
    world.due(kLine + 4);
    world.answer(200);
    CHECK(world.outcomes.back() == "finish " + std::to_string(kLine + 4));
}

TEST_CASE("no attempt starts that could outlive the end of the run", "[retry][dispatch]") {
    test::ManualClock start;
    World world{{.table = *TierTable::from({0s, 5s}), .stop_at = start.mono() + 60s}};
    world.add_webhook("w");
    world.due(1);
    CHECK(world.requests.size() == 1);
    world.clock.advance(50s);
    world.due(2);
    CHECK(world.requests.size() == 1);
    CHECK(world.outcomes.empty());  // it stays where it is
}

TEST_CASE("of webhooks that were deleted nothing is remembered for long", "[retry][dispatch]") {
    World world;
    world.add_webhook("stays");
    for (int i = 0; i < 10; ++i) {
        world.due(i, "stays");
        world.answer({.end = End::unreachable});
    }
    for (int i = 0; i < 5'000; ++i) {
        const auto id = "w" + std::to_string(i);
        world.add_webhook(id);
        world.due(100 + i, id);
        world.answer(i % 2 == 0 ? 204 : 500);
        world.remove_webhook(id);
        CHECK(world.dispatcher.remembered() <= Dispatcher::kRememberedMin);
    }
    const auto attempts = world.requests.size();
    world.due(10'000, "stays");
    CHECK(world.requests.size() == attempts);  // its breaker is open still
}

TEST_CASE("a drain ends when the last attempt has", "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    world.due(1);
    bool drained = false;
    world.queue.drain([&] { drained = true; });
    world.executor.run();
    CHECK_FALSE(drained);
    world.answer(200);
    CHECK(drained);
    world.due(2);
    CHECK(world.requests.size() == 1);
}

namespace {

/// Runs a process that attempts this delivery and gets the answer `status`. Returns its outcomes.
Log run(const test::Processes& processes, core::Offset offset, int status,
        const std::function<void(World&)>& prepare) {
    return processes.run([&](auto* journal) {
        World world{{.table = *TierTable::from({0s, 5s})}, journal};
        world.add_webhook("w");
        prepare(world);
        world.due(offset);
        if (!world.waiting.empty()) world.answer(status);
        return world.outcomes;
    });
}

}  // namespace

// Fails if no file names the delivery that a thread was working on: then it ends each process.
TEST_CASE("a delivery whose attempt ended two processes is a dead letter", "[retry][dispatch]") {
    test::Processes processes;
    const bool at_its_start = GENERATE(true, false);
    const auto ends = [&](World& world) {
        (at_its_start ? world.sending : world.promoting) = [&] { processes.end_process(); };
    };
    for (int times = 0; times < 2; ++times) {
        CHECK(run(processes, 7, 500, ends) == Log{"tier 1 7 attempts 1"});
    }
    CHECK(run(processes, 8, 204, [](World&) {}) == Log{"finish 8"});
    CHECK(run(processes, 7, 500, ends) == Log{"dead-letter 7 crashed"});
    CHECK(run(processes, 7, 500, ends) == Log{"dead-letter 7 crashed"});
}

TEST_CASE(
    "a delivery during which one process ended, or that waited for its answer, is attempted again",
    "[retry][dispatch]") {
    test::Processes processes;
    for (core::Offset offset = 0; offset < 1'000; ++offset) {
        CHECK(run(processes, offset, 204, [&](World& world) {
                  world.sending = [&] { processes.end_process(); };
              }) == Log{"finish " + std::to_string(offset)});
    }
    for (int times = 0; times < 3; ++times) {
        // The process ends after the attempt has begun, while it waits for the answer.
        CHECK(run(processes, 0, 204, [&](World& world) {
                  world.executor.post_after(0ms, [&] { processes.end_process(); });
              }) == Log{"finish 0"});
    }
    // At another offset it counts as another delivery: it was redriven.
    for (const core::Offset offset : {3'000, 3'000, 3'001}) {
        CHECK(run(processes, offset, 204, [&](World& world) {
                  world.sending = [&] { processes.end_process(); };
              }) == Log{"finish " + std::to_string(offset)});
    }
}

TEST_CASE("a journal that cannot be written, or holds nonsense, prevents no attempt",
          "[retry][dispatch]") {
    test::Processes processes;
    SECTION("its directory is not there") { processes.file = processes.directory.path() / "a/b"; }
    SECTION("it is not ours") { std::ofstream{processes.file} << std::string(50'000, 'x'); }
    SECTION("it ends in the middle of an entry") { std::ofstream{processes.file} << "dlv_"; }
    for (int times = 0; times < 3; ++times) {
        CHECK(run(processes, 1, 204, [](World&) {}) == Log{"finish 1"});
    }
}

namespace {

/// A world whose log has one event, which its deliveries name.
struct NamedWorld : World {
    explicit NamedWorld(DeliveryOptions options = {.table = *TierTable::from({0s, 5s, 60s})})
        : World(std::move(options)) {
        const auto event = *parse_structured(
            R"({"specversion":"1.0","id":"e1","source":"/shop","type":"t","data":"large"})");
        publisher->publish({log::Topic::kEvents, 0}, encode(event), [](const auto&) {});
        executor.run_for(1s);
        json = event.json;
        add_webhook("w");
    }
    static Delivery named(core::Offset at = 0) {
        Delivery delivery;
        delivery.place = {.partition = 0,
                          .offset = at,
                          .name = event_name("/shop", "e1"),
                          .bytes = 2'000,
                          .type = "t"};
        return delivery;
    }
    /// The log gives no event meanwhile.
    void hold(bool is) { log->set_away(is); }
    std::string json;
};

}  // namespace

TEST_CASE("an event that its delivery names is read before the attempt, and once for all",
          "[retry][dispatch]") {
    NamedWorld world;
    world.add_webhook("v");
    world.hold(true);
    world.hand_on(1, "w", NamedWorld::named());
    world.hand_on(2, "v", NamedWorld::named());
    world.executor.run();
    CHECK(world.requests.empty());
    CHECK(world.queue.scheduler().in_flight() == 2);
    world.hold(false);
    world.executor.run_for(1s);
    REQUIRE(world.requests.size() == 2);
    CHECK(world.requests[0].body == world.json);
    CHECK(world.requests[1].body == world.json);
    world.answer(500);
    CHECK(world.outcomes == Log{"tier 1 1 attempts 1"});
    CHECK(world.last->event.empty());
    CHECK(world.last->place == NamedWorld::named().place);
    world.answer(204);
    world.due(3, "w", NamedWorld::named());  // it is in memory now
    REQUIRE(world.requests.size() == 3);
    CHECK(world.requests[2].body == world.json);
}

TEST_CASE("a delivery whose event the log has no more is a dead letter", "[retry][dispatch]") {
    NamedWorld world;
    auto other = NamedWorld::named();
    other.place->name = event_name("/shop", "e2");
    world.due(1, "w", other);
    world.executor.run_for(1s);
    CHECK(world.outcomes == Log{"dead-letter 1 event_gone"});
    CHECK(world.requests.empty());
    CHECK(world.queue.scheduler().in_flight() == 0);
    CHECK(world.dispatcher.attempts().of("w").empty());
}

TEST_CASE("a delivery whose event cannot be read waits in a tier, without an attempt",
          "[retry][dispatch]") {
    NamedWorld world;
    world.log->set_away(true);
    world.due(1, "w", NamedWorld::named());
    world.executor.run_for(log::RangeScan::kTimeout + 1s);
    CHECK(world.outcomes == Log{"tier 1 1 attempts 0"});
    CHECK(world.tally.deliveries[DeliveryEnd::unread] == 1);
    CHECK(world.queue.scheduler().in_flight() == 0);
}

TEST_CASE("while the event of an ordered webhook is read, nothing overtakes it",
          "[retry][dispatch]") {
    NamedWorld world;
    world.add_webhook("o", true);
    world.hand_on(1, "o", NamedWorld::named());
    world.hand_on(2, "o");
    const bool away = GENERATE(false, true);
    world.log->set_away(away);
    world.executor.run_for(log::RangeScan::kTimeout + 1s);
    if (away) {
        CHECK(world.outcomes == Log{"tier 1 1 attempts 0", "tier 1 2 attempts 0"});
        CHECK(world.requests.empty());
        return;
    }
    REQUIRE(world.requests.size() == 1);
    CHECK(world.requests[0].body == world.json);
    world.answer(204);
    CHECK(world.requests.size() == 2);
}

// Fails where the answer of the log begins the attempt whatever has come meanwhile.
TEST_CASE("an attempt whose event was read is not begun if it is not to be any more",
          "[retry][dispatch]") {
    NamedWorld world;
    world.hold(true);
    world.due(1, "w", NamedWorld::named());
    REQUIRE(world.queue.scheduler().in_flight() == 1);
    bool drained = false;
    SECTION("its partition went elsewhere") {
        world.forget(0);
        CHECK(world.queue.scheduler().in_flight() == 0);
        world.hold(false);
        world.executor.run_for(1s);
        CHECK(world.outcomes.empty());
    }
    SECTION("its webhook was disabled") {
        world.webhooks.apply(
            *test::ReadBack{encode("w", WebhookState{.enabled = false, .reason = "owner"})});
        world.hold(false);
        world.executor.run_for(1s);
        CHECK(world.outcomes == Log{"dead-letter 1 webhook_disabled"});
    }
    SECTION("the process stops, or goes on after all") {
        world.queue.drain([&] { drained = true; });
        world.executor.run();
        CHECK_FALSE(drained);
        world.hold(false);
        world.executor.run_for(1s);
        CHECK(drained);
        CHECK(world.outcomes.empty());
        CHECK(world.requests.empty());
        world.queue.resume();
        world.executor.run_for(1s);
        REQUIRE(world.requests.size() == 1);
        world.answer(204);
        CHECK(world.outcomes == Log{"finish 1"});
        world.requests.clear();
    }
    CHECK(world.requests.empty());
    CHECK(world.queue.scheduler().in_flight() == 0);
}

TEST_CASE("a receiver that is to allow events gets none before it has", "[retry][dispatch]") {
    World world;
    world.add_webhook("w");
    world.ask_before("w", "events.example.com");
    const auto is_handshake = [](const HttpRequest& request) {
        return request.method == Method::options && request.body.empty() &&
               request.headers.front() == "WebHook-Request-Origin: events.example.com";
    };
    const auto refused = GENERATE(
        HttpAnswer{.end = End::answered, .status = 200},
        HttpAnswer{.end = End::answered, .status = 204, .allowed_origin = "other.example.com"},
        HttpAnswer{.end = End::answered, .status = 405}, HttpAnswer{.end = End::timed_out});
    world.due(1);
    REQUIRE(world.requests.size() == 1);
    CHECK(is_handshake(world.requests[0]));
    world.answer(refused);
    CHECK(world.requests.size() == 1);
    CHECK(world.outcomes == Log{"tier 1 1 attempts 1"});
    CHECK(world.last->last ==
          (refused.end == End::timed_out ? Outcome::timed_out : Outcome::refused));

    world.due(2);
    CHECK(is_handshake(world.requests.at(1)));
    const auto* allowed = GENERATE("*", "Events.Example.com");
    world.answer({.end = End::answered, .status = 200, .allowed_origin = allowed, .took = 3s});
    REQUIRE(world.requests.size() == 3);
    CHECK(world.requests[2].method == Method::post);
    CHECK(std::count(world.requests[2].headers.begin(), world.requests[2].headers.end(),
                     "Origin: events.example.com") == 1);
    CHECK(world.requests[2].timeout == 12s);  // of 15 s for both
    world.answer(204);
    CHECK(world.outcomes.back() == "finish 2");
    world.due(3);  // it is asked once
    CHECK(world.requests.at(3).method == Method::post);

    world.answer(204);
    world.ask_before("w", "other.example.com");
    world.due(4);
    CHECK(world.requests.at(4).method == Method::options);
}
