#include "net/io_loop.hpp"
#include "ops/loop_watch.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using net::LoopThread;

namespace {

/// The host's clock, which a test sets ahead. Any thread.
class AheadClock final : public core::Clock {
public:
    core::Timestamp wall() const override { return system_.wall() + ahead(); }
    core::MonoTime mono() const override { return system_.mono() + ahead_.load(); }
    void set_ahead(core::Duration by) { ahead_ = by; }

private:
    std::chrono::milliseconds ahead() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(ahead_.load());
    }
    core::SystemClock system_;
    std::atomic<core::Duration> ahead_{core::Duration::zero()};
};

struct Turning {
    Turning() { thread.start(); }
    /// Returns once the loop is stalled in a task, until the promise is kept.
    std::promise<void> hold() {
        std::promise<void> until;
        std::promise<void> held;
        thread.loop().post([&held, go_on = until.get_future().share()] {
            held.set_value();
            go_on.wait();
        });
        held.get_future().wait();
        return until;
    }
    /// Until the loop has come round.
    void come_round() {
        for (int i = 0; i < 2; ++i) {
            std::promise<void> turned;
            thread.loop().post([&] { turned.set_value(); });
            turned.get_future().wait();
        }
        // It says so when it wakes up; an idle one does each second.
        for (int i = 0; i < 1'000 && thread.since_last_turn() > 1s; ++i)
            std::this_thread::sleep_for(10ms);
    }

    std::string why_stalled() const {
        return ops::why_stalled(thread.name(), thread.since_last_turn(), 3s);
    }

    AheadClock clock;
    LoopThread thread{"retry-0", clock};
    ops::Health health;
    ops::WatchedLoop watched{health, "retry", thread.name(),
                             [this] { return thread.since_last_turn(); }};
};

}  // namespace

TEST_CASE("a loop that turns is not stalled, even an idle one") {
    Turning one;
    one.come_round();
    CHECK(one.why_stalled().empty());
    CHECK(one.health.report().live);
}

TEST_CASE("a loop that is stalled is reported, is dead after a minute, and heals") {
    Turning one;
    auto until = one.hold();
    CHECK(one.why_stalled().empty());
    one.clock.set_ahead(4s);
    CHECK(one.why_stalled().starts_with("the loop retry-0 has been stalled for 4 s"));
    CHECK(one.health.report().live);
    one.clock.set_ahead(61s);
    CHECK_FALSE(one.why_stalled().empty());
    auto report = one.health.report();
    CHECK_FALSE(report.live);
    CHECK(report.faults["retry: the loop retry-0"] == "the loop retry-0 hangs");

    one.clock.set_ahead(0s);
    until.set_value();
    one.come_round();
    CHECK(one.why_stalled().empty());
    CHECK(one.health.report().live);
}
