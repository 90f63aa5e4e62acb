// Files that are read again at SIGHUP, from a disk that may hang.
#include "app/process/process.hpp"

#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;

namespace {

template <class Condition>
bool soon(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(1ms);
    }
    return condition();
}

}  // namespace

TEST_CASE("a reload that hangs holds nobody up, and another one follows it") {
    std::atomic<int> begun = 0;
    std::counting_semaphore<> disk{0};
    app::Reloads reloads{[&] {
        ++begun;
        disk.acquire();
    }};
    reloads.request();
    REQUIRE(soon([&] { return begun == 1; }));
    for (int i = 0; i < 3; ++i) reloads.request();  // returns
    CHECK(begun == 1);
    disk.release(2);
    CHECK(soon([&] { return begun == 2; }));
}

TEST_CASE("a reload that throws ends no process") {
    std::atomic<int> begun = 0;
    app::Reloads reloads{[&] {
        ++begun;
        throw std::runtime_error("no memory");
    }};
    for (int i = 1; i <= 2; ++i) {
        reloads.request();
        CHECK(soon([&] { return begun == i; }));
    }
}
