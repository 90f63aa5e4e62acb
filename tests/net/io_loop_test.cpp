#include "net/io_loop.hpp"

#include <array>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/eventfd.h>

using namespace std::chrono_literals;
using namespace beckon;

// Fails if a round of tasks goes on with the tasks that they have posted: then a busy thread reads
// no socket.
TEST_CASE("descriptors have their turn while each task posts another one") {
    net::IoLoop loop;
    if (GENERATE(false, true)) loop.measure_turns();
    net::Watch watch{loop, net::Descriptor{eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)}};
    bool ready = false;
    watch.wait(net::Watch::Event::readable, [&] { ready = true; });
    int rounds = 0;
    const std::function<void()> again = [&] {
        if (ready || ++rounds == 1'000) return loop.stop();
        loop.post(again);
    };
    loop.post(again);
    loop.run("test");
    CHECK(ready);
    CHECK(rounds <= 3);
}

TEST_CASE("what other threads post while the loop sleeps or works is run, each in its order") {
    net::IoLoop loop;
    if (GENERATE(false, true)) loop.measure_turns();
    constexpr int kThreads = 3;
    constexpr int kEach = 20'000;
    std::array<int, kThreads> seen{};
    int left = kThreads * kEach;
    bool in_order = true;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < kEach; ++i) {
                loop.post([&, t, i] {
                    in_order &= seen.at(t)++ == i;
                    if (--left == 0) loop.stop();
                });
                if (i % 500 == 0) std::this_thread::sleep_for(1ms);  // so that the loop sleeps
            }
        });
    }
    loop.run("test");
    for (auto& thread : threads) thread.join();
    CHECK(in_order);
    CHECK(left == 0);
}

TEST_CASE("tasks that were posted before one that throws is run are run") {
    net::IoLoop loop;
    std::vector<int> run;
    loop.post([&] { run.push_back(1); });
    loop.post([] { throw std::runtime_error("a fault of this task"); });
    loop.post([&] { run.push_back(2); });
    loop.post([&] { loop.stop(); });
    loop.post([&] { run.push_back(3); });
    loop.run("test");
    CHECK(run == std::vector{1, 2});
}

TEST_CASE("a task that is never run may post when it goes") {
    struct PostsAtItsEnd {
        net::IoLoop* loop;
        ~PostsAtItsEnd() {
            loop->post([] {});
        }
    };
    net::IoLoop loop;
    loop.post([owned = std::make_shared<PostsAtItsEnd>(PostsAtItsEnd{&loop})] {});
}

TEST_CASE("timers run in the order of their times, none before it") {
    net::IoLoop loop;
    const core::SystemClock clock;
    const auto begin = clock.mono();
    std::vector<int> order;
    bool early = false;
    const auto set = [&](core::Duration delay, int number) {
        loop.post_after(delay, [&, delay, number] {
            early |= clock.mono() - begin < delay;
            order.push_back(number);
            if (order.size() == 3) loop.stop();
        });
    };
    set(20ms, 3);
    set(1ns, 1);
    set(10ms, 2);
    loop.run("test");
    CHECK(order == std::vector{1, 2, 3});
    CHECK_FALSE(early);
}

TEST_CASE("a loop knows how much of the processor its longest task has taken") {
    const auto had = [] {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
    };
    const auto work = [&](core::Duration duration) {
        const auto until = had() + duration;
        while (had() < until) {
        }
    };
    net::IoLoop loop;
    loop.measure_turns();
    core::Duration longest{};
    loop.post([&] { work(20ms); });
    loop.post([&] { work(1ms); });
    loop.post_after(5ms, [&] {
        longest = loop.take_longest_turn();
        loop.post([&] { work(2ms); });
        loop.post([&] { loop.stop(); });
    });
    loop.run("test");
    CHECK(longest >= 20ms);
    CHECK(loop.take_longest_turn() >= 2ms);
    CHECK(loop.take_longest_turn() == 0ms);
}
