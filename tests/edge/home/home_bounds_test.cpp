#include "edge/home/check_bounds.hpp"
#include "edge/home/clients.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "edge/home/registration/removals.hpp"
#include "edge/protocol/frames.hpp"
#include "support/home_world.hpp"

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

// Each bound of a home is filled and exceeded: the home keeps nothing above it, serves everything
// within it, and has space again afterwards.

namespace {

const log::TopicPartition kSubscriptions{Topic::kSubscriptions, HomeWorld::kPartition};

core::Uaid new_uaid() { return core::Uaid{core::random_uuid4()}; }

}  // namespace

TEST_CASE(
    "hellos that wait for a read barrier are bounded: more are sent away, and the others "
    "answered") {
    ServingHome world;
    const auto [known, channel] = world.subscribed();
    constexpr std::size_t kTooMany = 10;
    for (int round = 0; round < 2; ++round) {  // the second finds as much space as the first
        world.log->hold_readers(kSubscriptions, true);
        std::vector<std::uint64_t> waiting;
        for (std::size_t i = 0; i < edge::Clients::kHellosMax + kTooMany; ++i) {
            waiting.push_back(world.hello(new_uaid()));
        }
        world.run(10ms);
        const auto received_something = [&](auto client) {
            return !world.received.at(client).empty();
        };
        CHECK(std::count_if(waiting.begin(), waiting.end(), received_something) == kTooMany);
        CHECK(world.take(waiting.back()) == Received{"closed 1013 Overloaded"});
        const auto lucky = world.hello(known);  // needs no read barrier
        world.run(10ms);
        CHECK(world.take(lucky) == Received{edge::hello_frame(known)});
        world.hang_up(lucky);
        world.log->hold_readers(kSubscriptions, false);
        world.run(1s);
        CHECK(world.home->status().sessions == edge::Clients::kHellosMax);
        for (const auto client : waiting) world.hang_up(client);
        world.run(10ms);
        CHECK(world.home->status().sessions == 0);
    }
    check_sessions(world);
}

TEST_CASE("beyond the bound of messages with TTL 0 that are held after a take-over the oldest go") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto [other, its_channel] = world.subscribed();
    world.crash();
    world.serve("home-2");
    constexpr std::size_t kTooMany = 20;
    std::vector<std::string> sent;
    for (std::size_t i = 0; i < edge::Delivery::kAwaitingMax + kTooMany; ++i) {
        sent.push_back(world.push(uaid, channel, {.ttl_s = 0}));
    }
    const auto last = world.push(other, its_channel, {.ttl_s = 0});
    world.run(100ms);
    sent.erase(sent.begin(), sent.begin() + kTooMany + 1);  // one more went for the other's
    CHECK(world.take_versions(world.connect(uaid)) == sent);
    CHECK(world.take_versions(world.connect(other)) == std::vector{last});
    world.run(5s);
    CHECK(world.home->status().pending_tombstones == 0);
    CHECK(world.unfinished_in_log() == 0);
    check_sessions(world);
}

// Verified to fail when neither the end of a message nor that of its pending tombstone gives its
// place back.
TEST_CASE("a client has a bounded number of acknowledged messages without a tombstone in the log") {
    constexpr std::size_t kWindow = 100;
    constexpr auto kMost = edge::WindowLimits{}.acked_not_durable;
    constexpr std::size_t kMessages = 3 * kMost;
    ServingHome world{{.delivery_window = kWindow}};
    const auto [uaid, channel] = world.subscribed();
    for (std::size_t i = 0; i < kMessages; ++i) world.push(uaid, channel);
    world.run();
    const auto client = world.connect(uaid);
    const auto acknowledge_all = [&] {
        std::vector<std::string> all;
        for (auto got = world.take_versions(client); !got.empty();
             got = world.take_versions(client)) {
            for (const auto& version : got) world.ack(client, version);
            all.insert(all.end(), got.begin(), got.end());
            world.run(10ms);
        }
        return all;
    };
    world.tombstones.count = edge::TombstonesInFlight::kMax;  // others fill what the shard may have
    std::size_t acknowledged = 0;
    for (const auto why : {core::FinishReason::deleted, core::FinishReason::acked}) {
        const auto all = acknowledge_all();
        CHECK(all.size() >= kMost);
        CHECK(all.size() < kMost + kWindow);
        acknowledged += all.size();
        world.run(2s);
        CHECK(world.take(client).empty());
        for (const auto& version : all) world.finish(uaid, version, why);  // by somebody else
        world.run();
    }
    world.tombstones.count = 0;
    CHECK(acknowledged + acknowledge_all().size() == kMessages);
    world.run(5s);
    CHECK(world.unfinished_in_log() == 0);
    CHECK(world.home->status().pending_tombstones == 0);
    check_sessions(world);
}

TEST_CASE(
    "a bounded number of clients is being removed at a time, and in the end all are removed") {
    HomeWorld::Options options;
    options.client_ttl = 2h;
    ServingHome world{options};
    constexpr std::size_t kClients = 2 * edge::Removals::kUnderWayMax + 10;
    std::vector<std::uint64_t> clients;
    for (std::size_t i = 0; i < kClients; ++i) {
        clients.push_back(world.hello());
        world.run(1ms);
        world.send_frame(clients.back(),
                         R"({"messageType":"register","channelID":")" +
                             core::to_dashed(core::ChannelId{core::random_uuid4()}) + R"("})");
        world.run(1ms);
    }
    for (const auto client : clients) world.hang_up(client);
    world.run(1s);
    const auto removed = [&] { return world.home->status().removed[edge::Removals::Why::absent]; };
    CHECK(removed() == 0);
    world.run(2h);
    world.log->hold_readers(kSubscriptions,
                            true);  // read barriers are not seen: nobody comes to an end
    world.run(3h);
    CHECK(removed() == 0);
    const auto written = [&] { return world.records_in(Topic::kSubscriptions, ""); };
    const auto before = written();
    world.log->hold_readers(kSubscriptions, false);
    world.run(1ms);
    CHECK(written() - before <= 2 * edge::Removals::kUnderWayMax +
                                    10);  // of each the client and its channel; read barriers
    world.run(3h);
    CHECK(removed() == kClients);
    const auto again = world.connect(world.uaid(clients.front()));
    CHECK(world.uaid(again) != world.uaid(clients.front()));
    check_sessions(world);
}
