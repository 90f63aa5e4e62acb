#include "edge/loop/shard_loop.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using edge::ShardLoop;
using std::chrono::milliseconds;

namespace {

struct Running {
    core::SystemClock clock;
    ShardLoop loop{"edge-test", clock};
    Running() { loop.start(); }
    ~Running() { loop.stop(); }
};

}  // namespace

TEST_CASE("posted tasks run on the loop's thread in order") {
    Running shard;
    std::vector<int> seen;
    for (int i = 0; i < 1000; ++i) {
        shard.loop.post([&seen, i, &shard] {
            if (shard.loop.in_loop()) seen.push_back(i);
        });
    }
    shard.loop.run_and_wait([] {});
    REQUIRE(seen.size() == 1000);
    CHECK(std::is_sorted(seen.begin(), seen.end()));
    CHECK_FALSE(shard.loop.in_loop());
}

TEST_CASE("who waits for a task gets its exception") {
    Running shard;
    CHECK_THROWS_WITH(shard.loop.run_and_wait([] { throw std::runtime_error("no thread"); }),
                      "no thread");
    shard.loop.run_and_wait([] {});  // and the loop goes on
}

TEST_CASE("posts of many threads all arrive") {
    Running shard;
    int sum = 0;
    std::vector<std::thread> posters;
    for (int t = 0; t < 4; ++t) {
        posters.emplace_back([&] {
            for (int i = 0; i < 5000; ++i) shard.loop.post([&sum] { ++sum; });
        });
    }
    for (auto& p : posters) p.join();
    shard.loop.run_and_wait([] {});
    CHECK(sum == 20000);
}

TEST_CASE("a task posted by a task runs after it, not within it") {
    Running shard;
    std::promise<std::string> done;
    shard.loop.post([&] {
        auto order = std::make_shared<std::string>();
        shard.loop.post([order] { *order += "b"; });
        shard.loop.post([order, &done] { done.set_value(*order + "c"); });
        *order += "a";
    });
    CHECK(done.get_future().get() == "abc");
}

TEST_CASE("delayed tasks wait at least their delay and keep their order") {
    Running shard;
    const auto start = shard.clock.mono();
    std::promise<core::Duration> done;
    std::string order;
    shard.loop.post_after(milliseconds{30}, [&] {
        order += "b";
        done.set_value(shard.clock.mono() - start);
    });
    shard.loop.post_after(milliseconds{5}, [&] { order += "a"; });
    const auto took = done.get_future().get();
    CHECK(order == "ab");
    CHECK(took >= milliseconds{30});
    CHECK(took < milliseconds{1000});
}

TEST_CASE("a hook that has more to do keeps the loop from waiting") {
    core::SystemClock clock;
    ShardLoop loop{"edge-test", clock};
    int left = 1000;
    std::promise<void> done;
    loop.at_turn_end([&] {
        if (left == 0) return false;
        if (--left == 0) done.set_value();
        return left > 0;
    });
    loop.start();
    CHECK(done.get_future().wait_for(milliseconds{5000}) == std::future_status::ready);
    loop.stop();
}

TEST_CASE("an idle loop shows that it lives, a hung one that it does not") {
    Running shard;
    const auto turned_after = [&](core::MonoTime then) {
        const auto until = shard.clock.mono() + milliseconds{5000};
        while (shard.clock.mono() < until) {
            if (shard.loop.last_turn() > then) return true;
            std::this_thread::yield();
        }
        return false;
    };
    CHECK(turned_after(shard.clock.mono()));

    std::promise<void> release;
    std::promise<void> hung;
    shard.loop.post([&] {
        hung.set_value();
        release.get_future().wait();
    });
    hung.get_future().wait();
    const auto stale = shard.loop.last_turn();
    const auto until = shard.clock.mono() + milliseconds{700};  // longer than a heartbeat
    while (shard.clock.mono() < until) std::this_thread::yield();
    CHECK(shard.loop.last_turn() == stale);
    release.set_value();
    CHECK(turned_after(stale));
}

TEST_CASE("tasks that are left at the stop are dropped on the loop's thread") {
    struct Witness {
        std::thread::id* where;
        ~Witness() { *where = std::this_thread::get_id(); }
    };
    core::SystemClock clock;
    std::thread::id dropped_on;
    std::thread::id loop_thread;
    {
        ShardLoop loop{"edge-test", clock};
        loop.start();
        loop.run_and_wait([&] { loop_thread = std::this_thread::get_id(); });
        auto witness = std::make_shared<Witness>(Witness{&dropped_on});
        dropped_on = {};
        loop.post_after(std::chrono::hours{1}, [witness] {});
        witness.reset();
        bool last_ran = false;
        loop.stop([&] { last_ran = loop.in_loop(); });
        CHECK(last_ran);
        loop.post([] { FAIL("ran after the stop"); });
    }
    CHECK(dropped_on == loop_thread);
}

TEST_CASE("who waits for a task of a loop that has ended does not wait for ever") {
    struct Blocks {
        std::promise<void>& begun;
        std::promise<void>& go_on;
        ~Blocks() {
            begun.set_value();
            go_on.get_future().wait();
        }
    };
    core::SystemClock clock;
    std::promise<void> begun;
    std::promise<void> go_on;
    ShardLoop loop{"edge-test", clock};
    loop.start();
    loop.post_after(std::chrono::hours{1},
                    [left = std::shared_ptr<Blocks>{new Blocks{begun, go_on}}] { CHECK(left); });
    std::thread stops{[&] { loop.stop(); }};
    begun.get_future().wait();  // no task runs from now on
    bool ran = false;
    CHECK_THROWS_AS(loop.run_and_wait([&] { ran = true; }), std::future_error);
    CHECK_FALSE(ran);
    go_on.set_value();
    stops.join();
}
