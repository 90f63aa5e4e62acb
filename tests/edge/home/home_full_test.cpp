#include "edge/home/check_bounds.hpp"
#include "edge/home/clients.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "edge/home/delivery/pending_limit.hpp"
#include "edge/home/delivery/tombstone_outbox.hpp"
#include "edge/protocol/frames.hpp"
#include "records/receipt.hpp"
#include "support/home_world.hpp"
#include "support/noted_milestones.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using log::Topic;
using test::check_sessions;
using test::HomeWorld;
using test::Received;
using test::ServingHome;
using Push = HomeWorld::Push;

// As home_bounds_test.cpp: bounds of a home that are about memory.

namespace {

const Received kOverloaded{"closed 1013 Overloaded"};

}  // namespace

// Verified to fail when the output counts the text of frames alone, and when attach() does not
// check the bound.
TEST_CASE(
    "frames that wait for a commit are bounded in memory, and clients beyond the bound are "
    "closed") {
    constexpr std::size_t kEntryLeast = 100;  // bytes that the least of frames takes
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto [other, its_channel] = world.subscribed();
    for (int round = 0; round < 2; ++round) {  // the second finds as much space as the first
        const auto message = world.push(uaid, channel, {.topic = "weather"});
        const auto client = world.connect(uaid);
        CHECK(world.take_versions(client) == std::vector{message});
        world.disk.fill(".log");
        world.ack(client, message);
        world.run(2s);  // a commit fails: now nothing leaves that may follow from the fold
        std::size_t pings = 0;
        constexpr auto kMost = edge::Clients::kOutputBytesMax / kEntryLeast;
        for (; pings < kMost && world.home->status().sessions > 0; ++pings)
            world.send_frame(client, "{}");
        CHECK(world.home->status().sessions == 0);
        CHECK(world.take(client) == kOverloaded);  // at once: it follows from nothing
        world.send_frame(client, "{}");            // its front had not read that yet
        CHECK(world.take(client) == kOverloaded);

        const auto late = world.hello(other);
        CHECK(world.take(late) == kOverloaded);
        CHECK(world.home->status().sessions == 0);

        world.disk.heal();
        world.run(2s);
        CHECK(world.take(client) == Received(pings, "{}"));  // a real front drops them
        world.run(1s);
        CHECK(world.unfinished_in_log() == 0);
        const auto again = world.connect(other);
        CHECK(world.take(again) == Received{edge::hello_frame(other)});
        world.hang_up(again);
    }
    check_sessions(world);
}

// Verified to fail when attach() does not check the bound.
TEST_CASE(
    "clients that come and go while nothing can be committed take no memory without a bound") {
    constexpr std::size_t kHelloLeast = 200;
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto message = world.push(uaid, channel, {.topic = "weather"});
    const auto client = world.connect(uaid);
    world.disk.fail(test::FaultyDisk::Call::write, 1'000'000, ".log");
    const auto second = world.push(uaid, channel);
    world.run(2s);  // a commit fails
    world.ack(client, message);
    std::vector<std::uint64_t> flapping;
    bool refused = false;
    while (!refused && flapping.size() < edge::Clients::kOutputBytesMax / kHelloLeast) {
        flapping.push_back(world.hello(uaid));
        refused = world.take(flapping.back()) == kOverloaded;
        world.hang_up(flapping.back());
    }
    CHECK(refused);
    CHECK(world.home->status().sessions == 0);
    world.disk.heal();
    world.crash();
    world.serve("home-2");
    CHECK(world.take_versions(world.connect(uaid)) == std::vector{message, second});
    check_sessions(world);
}

TEST_CASE(
    "the awaited acks of messages with TTL 0 and a receipt are bounded, and all are reported") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const core::ReceiptRef receipt{.id = {core::random_uuid4()},
                                   .sender = core::SenderId{core::random_uuid4()}};
    const auto reported = [&] { return world.records_in(Topic::kEvents, ""); };
    constexpr std::size_t kTooMany = 10;
    constexpr std::size_t kSent = edge::Outcomes::kAwaitMax + kTooMany;
    for (std::size_t round = 0; round < 2;
         ++round) {  // the second finds as much space as the first
        const auto before = round * kSent;
        for (std::size_t i = 0; i < kSent; ++i) {
            world.push(uaid, channel, Push{.ttl_s = 0, .receipt = core::to_text(receipt)});
        }
        world.run(1s);
        CHECK(world.take_versions(client).size() == kSent);
        CHECK(reported() == before + kTooMany);  // beyond the bound the reason of the pending
                                                 // tombstone is reported at once
        world.run(edge::Outcomes::kAckWait);
        world.run(5s);
        CHECK(reported() == before + kSent);
        CHECK(world.unfinished_in_log() == 0);
        CHECK(world.home->status().pending_tombstones == 0);
        CHECK(world.outcomes.count == 0);
    }
    check_sessions(world);
}

TEST_CASE("of tracked messages with TTL 0 the newest are remembered until their acks") {
    test::NotedMilestones milestones;
    HomeWorld world;
    world.milestones = &milestones;
    world.serve();
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    constexpr std::size_t kTooMany = 10;
    constexpr std::size_t kSent = edge::Delivery::kAwaitingAckMax + kTooMany;
    const auto reported = [&](std::string_view milestone) {
        const auto& all = milestones.noted;
        return static_cast<std::size_t>(std::count_if(
            all.begin(), all.end(), [&](const auto& one) { return one.ends_with(milestone); }));
    };
    for (std::size_t round = 1; round <= 2; ++round) {
        for (std::size_t i = 0; i < kSent; ++i) {
            world.push(uaid, channel, Push{.ttl_s = 0, .reliability_id = std::to_string(i)});
        }
        world.run(2s);
        const auto versions = world.take_versions(client);
        CHECK(versions.size() == kSent);  // all are sent
        for (const auto& version : versions) world.ack(client, version);
        world.run(2s);
        CHECK(reported(" delivered") == round * edge::Delivery::kAwaitingAckMax);
        CHECK(reported(" accepted") == round * kSent);
        CHECK(world.home->status().pending_tombstones == 0);
    }
    check_sessions(world);
}

TEST_CASE("beyond the bound of watched clients too many messages are still noticed") {
    HomeWorld::Options options;
    options.max_pending = 20;
    ServingHome world{options};
    const auto [uaid, channel] = world.subscribed();
    const auto push_to_uaid = [&, uaid = uaid, channel = channel](int count) {
        for (int i = 0; i < count; ++i) world.push(uaid, channel);
        world.run(1s);
    };
    push_to_uaid(10);
    constexpr std::size_t kOthers = edge::PendingLimit::kWatchedMax + 10;
    for (std::size_t i = 0; i < kOthers; ++i) {
        world.push(core::Uaid{core::random_uuid4()}, channel);
        if (i % 1'000 == 0) world.run(20ms);
    }
    world.run(5s);
    CHECK(world.reasons().empty());  // nobody has too many
    push_to_uaid(40);
    world.run(10s);
    CHECK(world.reasons() == Received(world.reasons().size(), "dropped"));
    const auto left = world.unfinished_in_log() - kOthers;
    CHECK(left >= 20);
    CHECK(left <= 22);  // a tenth above the limit
    CHECK(world.take_versions(world.connect(uaid)).size() == 10);
    check_sessions(world);
}
