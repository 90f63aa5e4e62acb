#include "support/turn_watch.hpp"

#include "support/cpu_time.hpp"
#include "support/manual_clock.hpp"
#include "support/test_executor.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>
#include <poll.h>
#include <pthread.h>

using namespace beckon;
using namespace std::chrono_literals;

namespace {

void work(core::Duration span) {
    const auto until = test::thread_cpu_time() + span;
    while (test::thread_cpu_time() < until) {
    }
}

void wait_for_descriptors() { poll(nullptr, 0, 1); }

void wait_for_condition() {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock{mutex};
    never.wait_for(lock, 1ms);
}

/// A thread of the product with one turn.
void turn_of(const char* name, core::Duration span, void (*wait)()) {
    std::thread{[&] {
        pthread_setname_np(pthread_self(), name);
        wait();
        work(span);
        wait();
    }}.join();
}

}  // namespace

TEST_CASE("turns within their bound are no fault") {
    for (const auto* name : {"edge-0", "log-writer"}) {
        turn_of(name, test::kTurnMost / 4, wait_for_descriptors);
        turn_of(name, test::kTurnMost / 4, wait_for_condition);
    }
    turn_of("log-cleaner", 2 * test::kTurnMost, wait_for_condition);  // nobody waits for it
    work(2 * test::kTurnMost);                                        // nor for the test
    wait_for_descriptors();
}

// Each of these fails the program; tests/CMakeLists.txt expects that.

TEST_CASE("a loop takes too long", "[.slow]") {
    turn_of("edge-0", 2 * test::kTurnMost, wait_for_descriptors);
}

TEST_CASE("a worker takes too long", "[.slow]") {
    turn_of("log-writer", 2 * test::kTurnMost, wait_for_condition);
}

TEST_CASE("a task of a test's executor takes too long", "[.slow]") {
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    executor.post([] { work(2 * test::kTurnMost); });
    executor.run();
}
