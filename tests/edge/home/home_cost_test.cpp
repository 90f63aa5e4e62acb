#include "edge/home/home.hpp"
#include "support/home_world.hpp"

#include <ctime>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using test::HomeWorld;

namespace {

double cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

}  // namespace

// Hidden: run it by its tag, with `perf record` for where the time goes. The number holds all of
// the thread: memory log, real store, home and this client.
TEST_CASE("what a delivered and acknowledged message costs", "[.][cost]") {
    HomeWorld world{{.delivery_window = 50, .write_buffer_bytes = 256U << 20}};
    world.serve();
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
    CHECK(world.unfinished_in_log() == 0);
}
