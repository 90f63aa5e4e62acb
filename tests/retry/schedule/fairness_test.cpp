// A quiet webhook beside a flood, in simulated time: docs/webhooks.md has the numbers.
#include "retry/schedule/scheduler.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using core::Duration;

namespace {

struct Flood {
    Duration noisy_takes;
    bool noisy_fails = false;
};

struct Waits {
    std::vector<Duration> quiet;
    std::size_t noisy_attempts = 0;
    Duration percentile(double part) {
        std::sort(quiet.begin(), quiet.end());
        return quiet[static_cast<std::size_t>(part * static_cast<double>(quiet.size() - 1))];
    }
};

retry::Job job(const std::string& webhook, core::Offset offset) {
    retry::Job j;
    j.due.delivery.webhook = webhook;
    j.due.ticket.offset = offset;
    j.owner = webhook;
    j.host = webhook;
    return j;
}

/// 256 places, one webhook with 20,000 deliveries at once, 100 quiet ones with one a second each
/// (50 ms), for half a minute.
Waits simulate(const Flood& flood) {
    constexpr auto kSpan = 30s;
    retry::Scheduler scheduler{{.workers = 256, .queued_max = 1'000'000}};
    std::multimap<Duration, std::function<void()>> events;
    std::map<core::Offset, Duration> came;
    Waits waits;
    Duration now{};
    core::Offset next_offset = 0;
    const std::function<void()> start = [&] {
        while (const auto j = scheduler.next(core::MonoTime{now})) {
            const bool noisy = j->due.delivery.webhook == "noisy";
            if (noisy)
                ++waits.noisy_attempts;
            else
                waits.quiet.push_back(now - came[j->due.ticket.offset]);
            const Duration takes = noisy ? flood.noisy_takes : 50ms;
            events.emplace(now + takes, [&, j = *j, noisy, takes] {
                scheduler.ended({.attempt = j.attempt,
                                 .took = takes,
                                 .overloaded = noisy && flood.noisy_fails});
            });
        }
    };
    const auto arrive = [&](const std::string& webhook) {
        auto j = job(webhook, next_offset);
        came[next_offset++] = now;
        static_cast<void>(scheduler.add(j));
    };
    events.emplace(0s, [&] {
        for (int i = 0; i < 20'000; ++i) arrive("noisy");
    });
    for (int w = 0; w < 100; ++w) {
        for (Duration at = 10ms * w; at < kSpan; at += 1s) {
            events.emplace(at, [&, w] { arrive("quiet" + std::to_string(w)); });
        }
    }
    while (!events.empty() && events.begin()->first < kSpan) {
        now = events.begin()->first;
        const auto task = std::move(events.begin()->second);
        events.erase(events.begin());
        task();
        start();
    }
    return waits;
}

}  // namespace

TEST_CASE("a flood costs a quiet webhook nothing", "[retry][fairness]") {
    auto waits = simulate({.noisy_takes = 100ms});
    CHECK(waits.quiet.size() >= 2'900);
    CHECK(waits.percentile(0.99) <= 5ms);
    CHECK(waits.noisy_attempts > 3'000);  // and the flood goes on meanwhile
}

TEST_CASE("a receiver that hangs costs a quiet webhook nothing", "[retry][fairness]") {
    auto waits = simulate({.noisy_takes = 10s, .noisy_fails = true});
    CHECK(waits.quiet.size() >= 2'900);
    CHECK(waits.percentile(0.99) <= 10ms);
}
