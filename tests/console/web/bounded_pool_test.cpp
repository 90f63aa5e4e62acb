#include "console/web/bounded_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kWaitingMax = 3;
constexpr std::size_t kTasks = 20;

template <class Condition>
bool within(std::chrono::milliseconds time, Condition condition) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::yield();
    }
    return true;
}

}  // namespace

TEST_CASE("whoever gives a full pool a task waits until there is room, and every task is run",
          "[console]") {
    BoundedPool pool{1, kWaitingMax};
    std::promise<void> begun;
    std::promise<void> end;
    std::atomic<std::size_t> taken{0};
    std::atomic<std::size_t> run{0};
    pool.enqueue([&] {
        begun.set_value();
        end.get_future().wait();
    });
    begun.get_future().wait();
    std::thread giver{[&] {
        for (std::size_t i = 0; i < kTasks; ++i) {
            pool.enqueue([&] { ++run; });
            ++taken;
        }
    }};
    CHECK(within(20s, [&] { return taken == kWaitingMax; }));
    CHECK_FALSE(within(100ms, [&] { return taken > kWaitingMax; }));
    CHECK(run == 0);
    end.set_value();
    giver.join();
    pool.shutdown();
    CHECK(run == kTasks);
}
