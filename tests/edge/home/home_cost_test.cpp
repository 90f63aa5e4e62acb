#include "edge/home/home.hpp"
#include "support/cpu_time.hpp"
#include "support/home_world.hpp"

#include <chrono>
#include <deque>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using test::HomeWorld;
using test::ServingHome;

namespace {

double cpu_us() {
    return std::chrono::duration<double, std::micro>(test::thread_cpu_time()).count();
}

}  // namespace

// Hidden: run it by its tag, with `perf record` for where the time goes. The number holds all of
// the thread: memory log, real store, home and this client.
TEST_CASE("the cost of a delivered and acknowledged message", "[.][cost]") {
    ServingHome world{{.delivery_window = 50, .write_buffer_bytes = 256U << 20}};
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    world.take(client);
    constexpr int kRounds = 2000;
    constexpr int kBatch = 50;
    const std::string body(300, 'x');
    double spent = 0;
    for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kBatch; ++i) world.push(uaid, channel, {.body = body});
        const auto before = cpu_us();
        world.run(20ms);
        auto frames = world.take_versions(client);
        REQUIRE(frames.size() == kBatch);
        for (const auto& version : frames) world.ack(client, version);
        world.run(20ms);
        spent += cpu_us() - before;
    }
    WARN(spent / (kRounds * kBatch) << " us of CPU for each message");
    world.run(1s);  // the last tombstones linger
    CHECK(world.unfinished_in_log() == 0);
}

// Hidden, as above. Of the messages in the log a part waits; each other one was finished after
// `distance` further messages.
TEST_CASE("the cost of a restored record", "[.][cost]") {
    struct Case {
        const char* what;
        int waiting_percent;
        std::size_t distance;
    };
    const auto& [what, waiting_percent, distance] =
        GENERATE(Case{"finished soon", 0, 300}, Case{"finished late", 0, 20'000},
                 Case{"one in ten waits", 10, 300}, Case{"all wait", 100, 0});
    DYNAMIC_SECTION(what) {
        constexpr int kMessages = 100'000;
        constexpr int kClients = 250;
        HomeWorld world{{.write_buffer_bytes = 64U << 20}};
        const std::string body(300, 'x');
        std::vector<core::Uaid> clients;
        for (int i = 0; i < kClients; ++i) clients.push_back(core::Uaid{core::random_uuid4()});
        const core::ChannelId channel{core::random_uuid4()};
        std::deque<std::pair<core::Uaid, std::string>> unfinished;
        for (int i = 0; i < kMessages; ++i) {
            const auto& uaid = clients[static_cast<std::size_t>(i % kClients)];
            auto version = world.push(uaid, channel, {.ttl_s = 86'400, .body = body});
            if (i % 1000 == 0) world.run(1ms);
            if (i % 100 < waiting_percent) continue;
            unfinished.emplace_back(uaid, std::move(version));
            if (unfinished.size() <= distance) continue;
            world.finish(unfinished.front().first, unfinished.front().second,
                         core::FinishReason::acked);
            unfinished.pop_front();
        }
        world.run();
        const auto records =
            world.log->records({log::Topic::kNotifications, HomeWorld::kPartition}).size();
        const auto before = cpu_us();
        world.start_home();
        while (world.home->state() != edge::Home::State::standby) {
            world.run(1ms);
            std::this_thread::sleep_for(1ms);  // for flushes, where the store is behind with them
        }
        WARN(what << ": " << (cpu_us() - before) / static_cast<double>(records)
                  << " us of CPU for each of " << records << " records");
    }
}
