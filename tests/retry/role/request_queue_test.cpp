#include "retry/role/request_queue.hpp"

#include "net/io_loop.hpp"
#include "support/manual_clock.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using retry::RequestQueue;

namespace {

/// A queue whose requests take the time that they say.
struct World {
    explicit World(RequestQueue::Limits limits = {}) : queue(executor, clock, limits) {}
    /// A request that is answered at once, with a reply that is read at once.
    bool put(const std::string& owner, core::Duration takes = 1ms, std::size_t bytes = 100) {
        return queue.put(owner, bytes, [this, owner, takes](const auto& place) {
            clock.advance(takes);
            place->replies(10);
            served.push_back(owner);
        });
    }
    /// A request whose reply is kept.
    bool put_unread(const std::string& owner, std::size_t reply_bytes) {
        return queue.put(owner, 1, [this, owner, reply_bytes](const auto& place) {
            place->replies(reply_bytes);
            unread.push_back(place);
            served.push_back(owner);
        });
    }
    std::size_t count(const std::string& owner) const {
        return static_cast<std::size_t>(std::count(served.begin(), served.end(), owner));
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::vector<std::string> served;
    std::vector<RequestQueue::PlacePtr> unread;
    RequestQueue queue;
};

}  // namespace

TEST_CASE("owners that have enough to do get as much time, whatever one request costs",
          "[retry][role][fairness]") {
    World world;
    for (int i = 0; i < 100; ++i) REQUIRE(world.put("costly", 20ms));
    for (int i = 0; i < 300; ++i) REQUIRE(world.put("cheap", 1ms));
    while (world.count("cheap") < 300) world.executor.step();
    CHECK(world.count("costly") >= 10);
    CHECK(world.count("costly") <= 20);
}

TEST_CASE("requests of one owner that are under way leave space to others",
          "[retry][role][bounds]") {
    World world{{.requests_max = 100}};
    int taken = 0;
    while (world.put_unread("waits", 0)) ++taken;
    CHECK(taken >= 30);
    CHECK(taken <= 40);
    world.executor.run();
    CHECK_FALSE(world.put("waits"));
    CHECK(world.put("quiet"));
    world.unread.clear();
    CHECK(world.put("waits"));
}

TEST_CASE("bodies of one owner that are under way leave space to others, and are then taken again",
          "[retry][role][bounds]") {
    World world{{.bytes_max = 1'000}};
    int taken = 0;
    while (world.put("large", 1ms, 100)) ++taken;
    CHECK(taken >= 3);
    CHECK(taken <= 5);
    CHECK(world.put("quiet", 1ms, 100));
    CHECK_FALSE(world.put("others", 1ms, 1'001));
    world.executor.run();
    REQUIRE(world.put("large", 1ms, 1'000));
    world.executor.run();

    RequestQueue::PlacePtr under_way;  // it waits for the log, perhaps behind others
    REQUIRE(world.queue.put("large", 1'000, [&](const auto& place) { under_way = place; }));
    world.executor.run();
    CHECK_FALSE(world.put("large", 1ms, 100));
    under_way->replies(10);
    CHECK(world.put("large", 1ms, 100));
    world.executor.run();
    REQUIRE(world.queue.put("large", 1'000, [&](const auto& place) { under_way = place; }));
    world.executor.run();
    under_way.reset();  // nobody has answered it
    CHECK(world.put("large", 1ms, 100));
}

TEST_CASE("while an owner's replies are not read its requests wait, and those of others do not",
          "[retry][role][bounds]") {
    World world{{.reply_bytes_max = 1'000}};
    for (int i = 0; i < 20; ++i) REQUIRE(world.put_unread("slow", 100));
    world.executor.run();
    CHECK(world.count("slow") <= 5);
    REQUIRE(world.put("quiet"));
    world.executor.run();
    CHECK(world.count("quiet") == 1);
    for (int i = 0; i < 20; ++i) {
        world.unread.clear();
        world.executor.run();
    }
    CHECK(world.count("slow") == 20);
}

TEST_CASE("places and requests may outlive the queue", "[retry][role]") {
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    RequestQueue::PlacePtr kept;
    int served = 0;
    {
        RequestQueue queue{executor, clock, {}};
        REQUIRE(queue.put("one", 1, [&](const auto& place) { kept = place; }));
        executor.step();
        REQUIRE(queue.put("one", 1, [&](const auto&) { ++served; }));
    }
    executor.run();
    kept.reset();
    CHECK(served == 0);
}

TEST_CASE("requests come from one thread, are served on another, and end on a third",
          "[retry][role]") {
    const core::SystemClock clock;
    net::LoopThread api{"api", clock};
    net::LoopThread port{"port", clock};
    RequestQueue queue{api.loop(), clock, {.requests_max = 64}};
    api.start();
    port.start();
    std::atomic<int> taken = 0;
    std::atomic<int> ended = 0;
    port.run_there([&] {
        for (int i = 0; i < 2'000; ++i) {
            const auto owner = "owner-" + std::to_string(i % 7);
            taken += queue.put(owner, 10, [&](const RequestQueue::PlacePtr& place) {
                place->replies(5);
                port.loop().post([&ended, place] { ++ended; });
            });
        }
    });
    while (ended < taken) {
        api.run_there([] {});
        port.run_there([] {});
    }
    CHECK(taken > 0);
    port.run_there([&] {
        for (int i = 0; i < 3; ++i) CHECK(queue.put("owner-1", 10, [](const auto&) {}));
    });
    api.stop();
    port.stop();
}
