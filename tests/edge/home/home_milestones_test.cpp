#include "core/client_code.hpp"
#include "support/home_world.hpp"
#include "support/noted_milestones.hpp"

#include <tuple>
#include <utility>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using test::HomeWorld;
using test::NotedMilestones;
using test::Received;
using Push = HomeWorld::Push;

namespace {

/// A home that serves, and one client with a channel.
struct World : HomeWorld {
    World() {
        milestones = &noted;
        serve();
        std::tie(client, channel) = subscribed();
    }
    std::string track(const std::string& id, std::uint32_t ttl_s = 3600) {
        const auto version = push(client, channel, Push{.ttl_s = ttl_s, .reliability_id = id});
        run();
        return version;
    }
    void nack(std::uint64_t number, const std::string& version, int code) {
        send_frame(number, R"({"messageType":"nack","version":")" + version + R"(","code":)" +
                               std::to_string(code) + "}");
        run();
    }

    NotedMilestones noted;
    core::Uaid client;
    core::ChannelId channel;
};

}  // namespace

TEST_CASE("the milestones of a tracked message that is sent at once are reported") {
    World world;
    const auto session = world.connect(world.client);
    const auto before = world.clock.wall();
    world.push(world.client, world.channel);  // nobody tracks this one
    const auto version = world.track("a");
    CHECK(world.noted.take() ==
          Received{"a int_transmitted", "a int_accepted", "a transmitted", "a accepted"});
    CHECK(world.noted.times[core::Milestone::int_transmitted] == before);
    CHECK(world.noted.last_expires == before + 1h);
    world.ack(session, version);
    world.run();
    CHECK(world.noted.take() == Received{"a delivered"});
    CHECK(world.reasons() == Received{"acked"});
}

TEST_CASE("a message that waits is stored, and retrieved when its client comes") {
    World world;
    const auto version = world.track("a");
    CHECK(world.noted.take() == Received{"a stored"});
    const auto session = world.connect(world.client);
    CHECK(world.noted.take() == Received{"a retrieved"});
    world.ack(session, version);
    world.run();
    CHECK(world.noted.take() == Received{"a delivered"});
}

TEST_CASE("the code of the ack says how it ended, whether it was sent at once or waited") {
    World world;
    const auto [code, end] = GENERATE(table<int, std::string>({{100, "a delivered"},
                                                               {101, "a decryption_error"},
                                                               {102, "a not_delivered"},
                                                               {104, "a delivered"}}));
    const bool waits = GENERATE(false, true);
    std::uint64_t session = 0;
    if (!waits) session = world.connect(world.client);
    const auto version = world.track("a");
    if (waits) session = world.connect(world.client);
    world.noted.take();
    world.ack(session, version, code);
    world.run();
    CHECK(world.noted.take() == Received{end});
    const auto recorded = code == 100 ? Received{} : Received{std::to_string(code)};
    CHECK(world.in_tombstones(core::kClientCodeHeader) == recorded);
}

TEST_CASE("a message from the store says so to the client") {
    World world;
    const auto reports_it = [&](std::uint64_t session) {
        const auto received = world.take(session);
        return received.back().find(R"("reliable_state":"retrieved")") != std::string::npos;
    };
    world.track("a");
    const auto session = world.connect(world.client);
    CHECK(reports_it(session));
    world.track("b");
    CHECK_FALSE(reports_it(session));  // it came at once
}

TEST_CASE("a nack is reported too, and the message stays pending") {
    World world;
    const auto [code, end] = GENERATE(table<int, std::string>(
        {{301, "a decryption_error"}, {302, "a not_delivered"}, {303, "a not_delivered"}}));
    const auto session = world.connect(world.client);
    const auto version = world.track("a");
    world.noted.take();
    world.nack(session, version, code);
    world.nack(session, "nonsense", code);
    CHECK(world.noted.take() == Received{end});
    CHECK(world.reasons().empty());
}

TEST_CASE("a tracked message with TTL 0 is expired if its client is not there") {
    World world;
    world.run(10s);  // longer than a take-over grants its clients
    world.track("a", 0);
    CHECK(world.noted.take() == Received{"a expired"});
}

TEST_CASE("a tracked message with TTL 0 is delivered if its client is there and says so") {
    World world;
    const auto session = world.connect(world.client);
    const auto version = world.track("a", 0);
    CHECK(world.noted.take() ==
          Received{"a int_transmitted", "a int_accepted", "a transmitted", "a accepted"});
    world.ack(session, version);
    world.ack(session, version);
    world.run();
    CHECK(world.noted.take() == Received{"a delivered"});
}

TEST_CASE("a message that expired before its client came is reported as expired") {
    World world;
    world.track("a", 10);
    world.run(20s);
    world.noted.take();
    world.connect(world.client);
    CHECK(world.noted.take() == Received{"a expired"});
    CHECK(world.reasons() == Received{"expired"});
}

// Verified to fail when TombstoneOutbox publishes a tombstone without waiting for the milestone.
TEST_CASE("the tombstone goes out after the log knows the end, and a kill between loses neither") {
    World world;
    const auto session = world.connect(world.client);
    const auto version = world.track("a");
    world.noted.take();
    world.noted.holds = true;
    world.ack(session, version, 101);
    world.run(10s);
    CHECK(world.noted.take() == Received{"a decryption_error"});
    CHECK(world.reasons().empty());

    const bool killed = GENERATE(false, true);
    if (killed) {
        world.crash();
        world.noted.waiting.clear();
        world.serve("home-2");
        CHECK(world.noted.take() == Received{"a decryption_error"});
        CHECK(world.reasons().empty());
    }
    world.noted.release();
    world.run();
    CHECK(world.reasons() == Received{"acked"});
    CHECK(world.home->status().pending_tombstones == 0);
    CHECK(world.take_versions(world.connect(world.client)).empty());
}

TEST_CASE("a milestone's report may come after the home is gone") {
    World world;
    const auto session = world.connect(world.client);
    world.noted.holds = true;
    world.ack(session, world.track("a"));
    world.run();
    world.crash();
    world.noted.release();  // nothing happens, and nothing is touched
    CHECK(world.reasons().empty());
}

TEST_CASE("a tracked message that a newer one of its Topic replaces ends so, also after a kill") {
    World world;
    const Push older{.topic = "news", .reliability_id = "a"};
    world.push(world.client, world.channel, older);
    world.run();
    world.noted.take();
    world.noted.holds = true;
    world.push(world.client, world.channel, Push{.topic = "news", .reliability_id = "b"});
    world.run(10s);
    CHECK(world.noted.take() == Received{"b stored", "a replaced"});
    CHECK(world.reasons().empty());
    world.crash();
    world.noted.waiting.clear();
    world.noted.holds = false;
    world.serve("home-2");
    CHECK(world.noted.take() == Received{"a replaced"});
    CHECK(world.reasons() == Received{"replaced"});
    CHECK(world.home->status().pending_tombstones == 0);
}

TEST_CASE(
    "a tracked message that its sender deletes ends so, also after a kill, and is counted once") {
    World world;
    const auto version = world.track("a");
    world.push(world.client, world.channel);  // nobody tracks this one
    world.run();
    world.noted.take();
    world.noted.holds = true;
    world.finish(world.client, version, core::FinishReason::deleted);
    world.run(10s);
    CHECK(world.noted.take() == Received{"a deleted"});
    CHECK(world.reasons() == Received{"deleted"});  // its sender's
    world.crash();
    world.noted.waiting.clear();
    world.noted.holds = false;
    world.serve("home-2");
    CHECK(world.noted.take() == Received{"a deleted"});
    CHECK(world.home->status().pending_tombstones == 0);
    CHECK(world.take_versions(world.connect(world.client)).size() == 1);
}

TEST_CASE("a deleted message that the client acknowledges late stays deleted") {
    World world;
    const auto ttl_s = GENERATE(0U, 3600U);
    const auto session = world.connect(world.client);
    const auto version = world.track("a", ttl_s);
    world.noted.take();
    world.finish(world.client, version, core::FinishReason::deleted);
    world.run();
    world.ack(session, version);
    world.run();
    CHECK(world.noted.take() == Received{"a deleted"});
}

TEST_CASE("an acknowledged message that its sender deletes stays delivered, also after a kill") {
    World world;
    const bool killed = GENERATE(false, true);
    const auto session = world.connect(world.client);
    const auto version = world.track("a");
    world.noted.take();
    world.noted.holds = true;  // the log does not have the milestone yet
    world.ack(session, version);
    world.run();
    world.finish(world.client, version, core::FinishReason::deleted);
    world.run();
    CHECK(world.noted.take() == Received{"a delivered"});
    CHECK(world.reasons() == Received{"deleted"});  // its sender's
    CHECK(world.home->status().pending_tombstones == 1);
    world.noted.holds = false;
    if (killed) {
        world.crash();
        world.noted.waiting.clear();
        world.serve("home-2");
        CHECK(world.noted.take() == Received{"a delivered"});
        CHECK(world.reasons() == Received{"deleted", "deleted"});
    } else {
        world.noted.release();
        world.run(10s);
        CHECK(world.noted.take().empty());
        CHECK(world.reasons() == Received{"deleted", "acked"});
    }
    CHECK(world.home->status().pending_tombstones == 0);
}

TEST_CASE("a tracked message with TTL 0 that waits after a take-over may be replaced or deleted") {
    World world;
    const bool replaced = GENERATE(false, true);
    const auto version = world.push(world.client, world.channel,
                                    Push{.ttl_s = 0, .topic = "news", .reliability_id = "a"});
    world.run();
    if (replaced) {
        world.push(world.client, world.channel, Push{.topic = "news"});
    } else {
        world.finish(world.client, version, core::FinishReason::deleted);
    }
    world.run();
    CHECK(world.noted.take() == Received{replaced ? "a replaced" : "a deleted"});
}

TEST_CASE("a frame that never left is not reported") {
    World world;
    world.connect(world.client);
    world.noted.take();
    const auto version = world.push(world.client, world.channel, Push{.reliability_id = "a"});
    world.finish(world.client, version, core::FinishReason::deleted);  // in the same turn
    world.run();
    CHECK(world.noted.take() == Received{"a deleted"});
}

TEST_CASE("a standby folds tracked messages and says nothing") {
    World world;
    world.crash();
    world.noted.take();
    world.start_home("standby");
    world.track("a");
    CHECK(world.noted.take().empty());
    world.home->placed_here(world.floor());
    world.run();
    CHECK(world.noted.take().empty());
    const auto session = world.connect(world.client);
    CHECK(world.noted.take() == Received{"a retrieved"});
    world.ack(session, "nonsense");
}

TEST_CASE("a home that is about to hand over waits for no milestone") {
    World world;
    const auto session = world.connect(world.client);
    const auto version = world.track("a");
    world.noted.holds = true;
    world.ack(session, version);
    world.run(5s);
    CHECK(world.noted.take().back() == "a delivered");
    REQUIRE(world.reasons().empty());

    world.home->flush();
    world.run();
    CHECK(world.reasons() == Received{"acked"});
    world.noted.release();  // too late to matter
    world.run();
    CHECK(world.reasons() == Received{"acked"});
    CHECK(world.home->status().pending_tombstones == 0);
}
