#include "retry/home/bridges.hpp"

#include "records/client_gone.hpp"
#include "retry/home/attempts_world.hpp"
#include "retry/home/queue/breaker.hpp"
#include "support/record_view.hpp"

#include <deque>
#include <functional>
#include <stdexcept>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;
using namespace beckon::test;
using Log = std::vector<std::string>;
using enum BridgeOutcome;

namespace {

/// An app whose attempts are answered by the test.
struct FakeApp final : BridgeApp {
    struct Sent {
        std::string token;
        std::chrono::seconds left{};
        Done done;
    };
    void send(const Attempt& attempt, Done done) override {
        if (throws) throw std::runtime_error("as the test asked");
        if (sending) sending();
        sent.push_back({attempt.message.to.token, attempt.left, std::move(done)});
    }
    std::deque<Sent> sent;
    bool throws = false;
    std::function<void()> sending;
};

struct Client {
    char digit = '1';  ///< of its UAID
    std::string app = "my-app";
};

/// Bridges with one app.
struct World final : AttemptsWorld, BridgeObserver, core::MilestoneSink {
    explicit World(DeliveryOptions options = default_options(),
                   WorkJournal::Slot* journal = nullptr)
        : AttemptsWorld(options, journal, [this](Job job) { bridges->begin(std::move(job)); }) {
        BridgeApps apps;
        auto fake = std::make_unique<FakeApp>();
        app = fake.get();
        apps[{core::RouterType::fcm, "my-app"}] = std::move(fake);
        bridges = std::make_unique<Bridges>(std::move(options),
                                            Bridges::Context{.home = home,
                                                             .queue = queue,
                                                             .outcomes = *this,
                                                             .proven = proven,
                                                             .observer = this,
                                                             .milestones = this},
                                            std::move(apps));
    }
    /// An app has two attempts at a time, and three more messages that wait.
    static DeliveryOptions default_options() {
        return {.partitions = 1,
                .table = *TierTable::from({0s, 5s, 60s, 600s}),
                .schedule = {.workers = 12, .queued_max = 30}};
    }

    void attempted(core::RouterType, BridgeOutcome outcome, core::Duration) override {
        attempts.emplace_back(to_string(outcome));
    }
    void token_renewed(core::RouterType, bool) override {}
    void reached(std::string_view id, core::Timestamp, core::Milestone milestone,
                 core::Timestamp) noexcept override {
        outcomes.push_back(std::string{id} + " " + std::string{to_string(milestone)});
    }
    void reached(std::string_view id, core::Timestamp expires,
                 core::Milestone milestone) noexcept override {
        reached(id, expires, milestone, {});
    }
    /// A message that the endpoint wrote `ago` before now, and that the tier passes on now.
    Due made(core::Offset offset, std::uint32_t ttl_s = 100, Client client = {},
             core::Duration ago = 0s) {
        bridge::BridgedMessage message{
            .uaid = core::Uaid{*core::parse_hex16(std::string(32, client.digit))},
            .message_id = "id",
            .to = {.type = core::RouterType::fcm,
                   .app = client.app,
                   .token = "token-" + std::to_string(offset)},
            .ttl_s = ttl_s};
        if (tracked) message.reliability_id = "rid";
        const auto record = bridge::encode(message);
        const auto now = core::Timestamp{50'000s};
        return {.ticket = {.partition = 0, .tier = 0, .offset = offset},
                .delivery = {.id = record.headers[2].value,
                             .webhook = record.key,
                             .event = *record.value,
                             .accepted =
                                 now - std::chrono::duration_cast<std::chrono::milliseconds>(ago)},
                .due = now,
                .now = now};
    }
    void due(Due one) {
        one.handed_on = clock.mono();
        bridges->due(std::move(one));
        executor.run();
    }
    void answer(BridgeVerdict verdict) {
        REQUIRE_FALSE(app->sent.empty());
        const auto done = std::move(app->sent.front().done);
        app->sent.pop_front();
        done(std::move(verdict), 10ms);
        executor.run();
    }
    void answer(BridgeOutcome outcome, std::chrono::seconds not_before = {}) {
        answer({outcome, not_before, "why"});
    }
    Log under_way() const {
        Log tokens;
        for (const auto& one : app->sent) tokens.push_back(one.token);
        return tokens;
    }

    bool tracked = false;
    Log attempts;  ///< their outcomes
    FakeApp* app = nullptr;
    ProvenApps proven;
    std::unique_ptr<Bridges> bridges;
};

}  // namespace

TEST_CASE("a message that the bridge takes is finished", "[bridge]") {
    World world;
    world.due(world.made(1, 100));
    CHECK(world.under_way() == Log{"token-1"});
    CHECK(world.app->sent[0].left == 100s);
    CHECK(world.outcomes.empty());
    world.answer(accepted);
    CHECK(world.outcomes == Log{"finish 1"});
    CHECK(world.attempts == Log{"accepted"});
}

TEST_CASE("the milestone of a tracked message is reported before it is finished", "[bridge]") {
    World world;
    world.tracked = true;
    world.due(world.made(1));
    world.answer(accepted);
    world.due(world.made(2, 100, {}, 100s));
    world.due(world.made(3));
    world.answer(refused);
    CHECK(world.outcomes == Log{"rid bridge_transmitted", "finish 1", "rid expired", "finish 2",
                                "rid errored", "dead-letter 3 refused"});
}

TEST_CASE("a failed message goes to the next tier, and is due no sooner than the bridge asks for",
          "[bridge]") {
    World world;
    world.due(world.made(1, 10'000));
    world.answer(failed);
    world.due(world.made(2, 10'000));
    world.answer(throttled, 30s);
    world.due(world.made(3, 10'000));
    world.answer(throttled, 5'000s);
    CHECK(world.outcomes ==
          Log{"tier 1 1 attempts 1", "tier 2 2 attempts 1", "tier 3 3 attempts 1"});
    CHECK(world.last->step == 3);
    CHECK(world.last->last == Outcome::throttled);
}

TEST_CASE("what may have expired while the host was down waits in a tier, without an attempt",
          "[bridge]") {
    World world;
    const auto old = [&](core::Offset offset) { return world.made(offset, 3'600, {}, 600s); };
    world.log->set_missing_time({.parts = {{.until = old(1).delivery.accepted, .most = 5h}}});
    world.due(old(1));
    CHECK(world.under_way().empty());
    CHECK(world.outcomes == Log{"tier 2 1 attempts 0"});
    CHECK(world.tally.bridged[BridgedEnd::may_have_expired] == 1);
    world.due(world.made(2, 3'600));  // of after that
    CHECK(world.app->sent[0].left == 3'600s);
    world.answer(accepted);

    // It is not so old after all: but the bridge keeps it no longer than its TTL may last.
    world.log->set_missing_time({.parts = {{.until = old(1).delivery.accepted, .most = 20min}}});
    world.due(old(3));
    REQUIRE(world.under_way() == Log{"token-3"});
    CHECK(world.app->sent[0].left == 3'600s - 600s - 20min);
    CHECK(world.tally.bridged[BridgedEnd::expired] == 0);
}

TEST_CASE("after the last tier a message stays in it while its TTL lasts", "[bridge]") {
    World world;
    auto due = world.made(1, 10'000);
    due.delivery.step = 3;
    world.due(std::move(due));
    world.answer(timed_out);
    CHECK(world.outcomes == Log{"tier 3 1 attempts 1"});
}

TEST_CASE("near its end a message waits in the longest tier that its TTL has space for",
          "[bridge]") {
    World world;
    auto due = world.made(1, 50);
    due.delivery.step = 1;
    world.due(std::move(due));
    world.answer(unreachable);
    CHECK(world.outcomes == Log{"tier 1 1 attempts 1"});
    world.due(world.made(2, 4));
    world.answer(unreachable);
    CHECK(world.outcomes.back() == "finish 2");
    world.due(world.made(3, 50));
    world.answer(throttled, 55s);
    CHECK(world.outcomes.back() == "finish 3");
    CHECK(world.tally.bridged[BridgedEnd::expired] == 2);
}

TEST_CASE("an expired message is not attempted, and one of TTL 0 is once", "[bridge]") {
    World world;
    world.due(world.made(1, 100, {}, 100s));
    world.due(world.made(2, 0, {}, 5s));
    CHECK(world.under_way().empty());
    CHECK(world.outcomes == Log{"finish 1", "finish 2"});
    world.due(world.made(3, 0, {}, 4s));
    CHECK(world.under_way() == Log{"token-3"});
    world.answer(failed);
    CHECK(world.outcomes.back() == "finish 3");
}

TEST_CASE("a host's clock that is wrong ends no message", "[bridge]") {
    World world;
    world.clock.step_wall(std::chrono::hours{24 * 365});
    world.due(world.made(1, 10));
    CHECK(world.under_way() == Log{"token-1"});
}

TEST_CASE("a message that waited here is judged by the time that has passed", "[bridge]") {
    World world;
    world.due(world.made(1, 100, {.digit = '1'}));
    world.due(world.made(2, 60, {.digit = '1'}));
    world.clock.advance(60s);
    world.answer(accepted);
    CHECK(world.outcomes == Log{"finish 1", "finish 2"});
    CHECK(world.tally.bridged[BridgedEnd::expired] == 1);
}

TEST_CASE("a client has one attempt at a time, in the order of its messages", "[bridge]") {
    World world;
    world.due(world.made(1, 100, {.digit = '1'}));
    world.due(world.made(2, 100, {.digit = '1'}));
    world.due(world.made(3, 100, {.digit = '2'}));
    CHECK(world.under_way() == Log{"token-1", "token-3"});
    CHECK(world.bridges->waiting() == 1);
    world.answer(accepted);
    CHECK(world.under_way() == Log{"token-3", "token-2"});
}

TEST_CASE("attempts at a time are bounded, and messages without a place wait in a tier",
          "[bridge]") {
    World world;
    for (core::Offset i = 1; i <= 6; ++i) {
        world.due(world.made(i, 100, {.digit = static_cast<char>('0' + i)}));
    }
    CHECK(world.bridges->under_way() == 2);
    CHECK(world.bridges->waiting() == 3);
    CHECK(world.outcomes == Log{"tier 1 6 attempts 0"});
    CHECK(world.tally.bridged[BridgedEnd::spilled] == 1);
}

TEST_CASE("a dead token ends its client in the log before the message is finished", "[bridge]") {
    World world;
    world.tracked = true;
    world.log->set_away(true);
    world.due(world.made(1));
    world.answer(gone);
    world.executor.run_for(2s);
    CHECK(world.outcomes.empty());
    world.log->set_away(false);
    world.executor.run_for(2s);
    CHECK(world.outcomes == Log{"rid errored", "finish 1"});
    const auto& written = world.log->records({log::Topic::kSubscriptions, 0});
    REQUIRE_FALSE(written.empty());
    const core::ClientGone wanted{.uaid = core::Uaid{*core::parse_hex16(std::string(32, '1'))},
                                  .token_hash = core::hash_of_token("token-1")};
    CHECK(core::decode_client_gone(*ReadBack{written[0].record}) == wanted);
}

TEST_CASE("a bridge that fails for all is left alone for a while", "[bridge]") {
    World world;
    for (core::Offset i = 1; i <= Breaker::kFailures; ++i) {
        CHECK(world.bridges->faults().empty());
        world.due(world.made(i, 10'000));
        world.answer(unreachable);
    }
    const BridgeAppName name{core::RouterType::fcm, "my-app"};
    CHECK(world.bridges->faults() ==
          std::map<BridgeAppName, std::string>{{name, "no attempt succeeds: why"}});
    world.outcomes.clear();
    world.due(world.made(11, 10'000));
    CHECK(world.under_way().empty());
    CHECK(world.outcomes == Log{"tier 2 11 attempts 0"});
    CHECK(world.tally.bridged[BridgedEnd::parked] == 1);
    world.clock.advance(31s);
    world.due(world.made(12, 10'000));
    CHECK(world.under_way() == Log{"token-12"});
    world.answer(gone);  // it answers as it should: it works
    CHECK(world.bridges->faults().empty());
    world.due(world.made(13, 10'000));
    CHECK(world.under_way() == Log{"token-13"});
}

// Fails where an answer that shows neither keeps the app's messages waiting for ever.
TEST_CASE("a bridge that throttles the attempt that tries is tried again", "[bridge]") {
    World world;
    for (core::Offset i = 1; i <= Breaker::kFailures; ++i) {
        world.due(world.made(i, 10'000));
        world.answer(unreachable);
    }
    world.clock.advance(31s);
    world.due(world.made(11, 10'000));
    const auto shows_nothing = GENERATE(throttled, foreign);  // foreign: no app is proven
    world.answer(shows_nothing);
    world.clock.advance(10min);
    world.due(world.made(12, 10'000));
    CHECK(world.under_way() == Log{"token-12"});
}

TEST_CASE("credentials that are refused again and again are a fault until something works",
          "[bridge]") {
    World world;
    const BridgeAppName name{core::RouterType::fcm, "my-app"};
    for (core::Offset i = 1; i <= 3; ++i) {
        CHECK(world.bridges->faults().empty());
        world.due(world.made(i, 10'000));
        world.answer({unauthorized, {}, "403 PERMISSION_DENIED"});
    }
    CHECK(world.bridges->faults() ==
          std::map<BridgeAppName, std::string>{{name, "403 PERMISSION_DENIED"}});
    world.due(world.made(4, 10'000));
    world.answer(accepted);
    CHECK(world.bridges->faults().empty());
}

TEST_CASE("messages for an app without configuration wait", "[bridge]") {
    World world;
    world.due(world.made(1, 10'000, {.app = "other"}));
    CHECK(world.outcomes == Log{"tier 2 1 attempts 0"});
    CHECK(world.tally.bridged[BridgedEnd::unconfigured] == 1);
    CHECK(world.bridges->faults() == std::map<BridgeAppName, std::string>{
                                         {{core::RouterType::fcm, "other"}, "not configured"}});
}

TEST_CASE("a record that is no message is dead-lettered", "[bridge]") {
    World world;
    auto due = world.made(1);
    due.delivery.event = "{}";
    world.due(std::move(due));
    CHECK(world.outcomes == Log{"dead-letter 1 undeliverable"});
    CHECK(world.tally.bridged[BridgedEnd::broken] == 1);
}

TEST_CASE("a partition that is not ours any more leaves nothing behind", "[bridge]") {
    World world;
    world.due(world.made(1, 100, {.digit = '1'}));
    world.due(world.made(2, 100, {.digit = '1'}));
    world.queue.forget(0);
    CHECK(world.bridges->waiting() == 0);
    world.answer(accepted);  // its ticket is void elsewhere
    CHECK(world.under_way().empty());
    world.due(world.made(3, 100, {.digit = '1'}));
    CHECK(world.under_way() == Log{"token-3"});
}

TEST_CASE("the outcome of an attempt whose partition went elsewhere is for the next home",
          "[bridge]") {
    World world;
    world.tracked = true;
    world.due(world.made(1));
    world.queue.forget(0);
    world.answer(accepted);
    CHECK(world.outcomes.empty());
}

// Verified to fail when AttemptQueue::begin() does not contain send(): the exception leaves the
// pump.
TEST_CASE("a message whose attempt throws goes to a tier, and its client's next one is attempted",
          "[bridge]") {
    World world;
    world.app->throws = true;
    world.due(world.made(1, 10'000));
    CHECK(world.outcomes == Log{"tier 1 1 attempts 1"});
    CHECK(world.bridges->under_way() == 0);
    world.app->throws = false;
    world.due(world.made(2, 10'000));
    world.answer(accepted);
    CHECK(world.outcomes == Log{"tier 1 1 attempts 1", "finish 2"});
    bool drained = false;
    world.queue.drain([&] { drained = true; });
    world.executor.run();
    CHECK(drained);
}

TEST_CASE("a bridged message whose attempt ended two processes is a dead letter", "[bridge]") {
    const Processes processes;
    const auto run = [&] {
        return processes.run([&](auto* journal) {
            World world{World::default_options(), journal};
            world.app->sending = [&] { processes.end_process(); };
            world.due(world.made(7));
            if (!world.app->sent.empty()) world.answer(accepted);
            return world.outcomes;
        });
    };
    CHECK(run() == Log{"finish 7"});
    CHECK(run() == Log{"finish 7"});
    CHECK(run() == Log{"dead-letter 7 crashed"});
}

TEST_CASE("no attempt starts that could outlive the role", "[bridge]") {
    auto options = World::default_options();
    options.stop_at = ManualClock{}.mono() + 11s;
    World world{std::move(options)};
    world.due(world.made(1));
    CHECK(world.under_way().empty());
    CHECK(world.outcomes.empty());  // its record stays unfinished, for the next run
}

// --- tokens that are not of our credentials

TEST_CASE("a foreign token ends its client once the app has accepted a message", "[bridge]") {
    World world;
    world.due(world.made(1));
    world.answer(foreign);
    CHECK(world.outcomes == Log{"dead-letter 1 refused"});
    CHECK(world.tally.bridged[BridgedEnd::gone] == 0);
    world.due(world.made(2));
    world.answer(accepted);
    world.due(world.made(3));
    world.answer(foreign);
    CHECK(world.outcomes == Log{"dead-letter 1 refused", "finish 2", "finish 3"});
    CHECK(world.tally.bridged[BridgedEnd::gone] == 1);
}

TEST_CASE("an app whose every token is foreign has wrong credentials, and no client ends",
          "[bridge]") {
    World world;
    for (core::Offset offset = 1; offset <= 5; ++offset) {
        world.due(world.made(offset));
        world.answer(foreign);
    }
    CHECK(world.tally.bridged[BridgedEnd::gone] == 0);
    const auto faults = world.bridges->faults();
    REQUIRE(faults.size() == 1);
    CHECK(faults.begin()->second == "why");
}
