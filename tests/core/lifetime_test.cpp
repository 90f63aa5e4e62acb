#include "core/lifetime.hpp"

#include "support/manual_clock.hpp"
#include "support/test_executor.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using core::Lifetime;

namespace {

struct World {
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::optional<Lifetime> lifetime{std::in_place, executor};
    std::vector<int> seen;

    std::function<void(int)> guarded() {
        return lifetime->guard([this](int n) { seen.push_back(n); });
    }
};

/// Remembers whether it was touched, and whether after forbid().
class WatchedExecutor final : public core::Executor {
public:
    void post(Task) override { touch(); }
    void post_after(core::Duration, Task) override { touch(); }
    void forbid() { forbidden_ = true; }
    bool touched_too_late() const { return too_late_; }
    bool touched() const { return touched_; }

private:
    void touch() {
        touched_ = true;
        if (forbidden_) too_late_ = true;
    }
    std::atomic<bool> forbidden_ = false;
    std::atomic<bool> too_late_ = false;
    std::atomic<bool> touched_ = false;
};

}  // namespace

TEST_CASE("a guarded callback runs while its owner lives, and never afterwards") {
    World world;
    const auto callback = world.guarded();
    callback(1);
    world.lifetime.reset();
    callback(2);
    CHECK(world.seen == std::vector{1});
}

TEST_CASE("callbacks from before a renewal are stale, and later ones run") {
    World world;
    const auto before = world.guarded();
    world.lifetime->renew();
    const auto after = world.guarded();
    before(1);
    after(2);
    CHECK(world.seen == std::vector{2});
}

TEST_CASE("a guarded callback may end its own lifetime") {
    World world;
    const auto term = world.lifetime->term();
    const std::function<void()> last = world.lifetime->guard([&] { world.lifetime.reset(); });
    CHECK_FALSE(term.over());
    last();
    CHECK(term.over());
    last();
}

TEST_CASE("a remote posts to the executor until the lifetime ends") {
    World world;
    const auto remote = world.lifetime->remote();
    remote.post([&] { world.seen.push_back(1); });
    remote.post_after(1s, [&] { world.seen.push_back(2); });
    world.executor.run_for(2s);
    CHECK(world.seen == std::vector{1, 2});

    remote.post([&] { world.seen.push_back(3); });  // under way when the lifetime ends
    world.lifetime.reset();
    remote.post([&] { world.seen.push_back(4); });
    world.executor.run_for(2s);
    CHECK(world.seen == std::vector{1, 2});
}

TEST_CASE("a message of another thread survives a renewal") {
    World world;
    world.lifetime->remote().post([&] { world.seen.push_back(1); });
    world.lifetime->renew();
    world.executor.run();
    CHECK(world.seen == std::vector{1});
}

TEST_CASE("after the end no thread touches the executor again") {
    for (int round = 0; round < 200; ++round) {
        WatchedExecutor executor;
        std::optional<Lifetime> lifetime{std::in_place, executor};
        std::atomic<bool> stop = false;
        std::atomic<int> posts = 0;
        std::thread other{[&, remote = lifetime->remote()] {
            for (; !stop; ++posts) remote.post([] {});
        }};
        while (!executor.touched()) std::this_thread::yield();
        lifetime.reset();
        executor.forbid();
        for (const int before = posts; posts < before + 100;) std::this_thread::yield();
        stop = true;
        other.join();
        REQUIRE_FALSE(executor.touched_too_late());
    }
}
