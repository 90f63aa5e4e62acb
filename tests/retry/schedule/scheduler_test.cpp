#include "retry/schedule/scheduler.hpp"

#include <map>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using retry::Job;
using retry::Scheduler;

namespace {

Job job(const std::string& webhook, int tier = 0, core::Offset offset = 0,
        const std::string& host = "") {
    Job j;
    j.due.delivery.webhook = webhook;
    j.due.delivery.id = webhook + std::to_string(offset);
    j.due.ticket = {.partition = 0, .tier = tier, .offset = offset};
    j.host = host.empty() ? webhook : host;
    return j;
}

void add(Scheduler& scheduler, Job j) { REQUIRE_FALSE(scheduler.add(j)); }

void end(Scheduler& scheduler, const Job& j, core::Duration took = 10ms, bool overloaded = false) {
    scheduler.ended({.webhook = j.due.delivery.webhook,
                     .host = j.host,
                     .tier = j.due.ticket.tier,
                     .took = took,
                     .overloaded = overloaded});
}

std::vector<std::string> start_all(Scheduler& scheduler) {
    std::vector<std::string> ids;
    while (const auto j = scheduler.next()) ids.push_back(j->due.delivery.id);
    return ids;
}

}  // namespace

TEST_CASE("a webhook's deliveries of a tier are attempted in their order", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 3}};
    for (int i = 0; i < 3; ++i) add(scheduler, job("a", 0, i));
    CHECK(start_all(scheduler) == std::vector<std::string>{"a0", "a1", "a2"});
    CHECK(scheduler.in_flight() == 3);
    CHECK(scheduler.waiting() == 0);
}

TEST_CASE("webhooks take turns", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1}};
    for (int i = 0; i < 200; ++i) add(scheduler, job("a", 0, i));
    add(scheduler, job("b", 0, 0));
    int before_b = 0;
    while (const auto j = scheduler.next()) {
        end(scheduler, *j, 20ms);
        if (j->due.delivery.webhook == "b") break;
        ++before_b;
    }
    CHECK(before_b <= 50);  // one quantum of attempts whose cost is not known yet
}

TEST_CASE("a slow webhook gets as much time as a quick one, not as many attempts",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1, .queued_max = 1'000'000}};
    for (int i = 0; i < 20'000; ++i) {
        add(scheduler, job("slow", 0, i));
        add(scheduler, job("quick", 0, i));
    }
    std::map<std::string, core::Duration> used;
    for (int i = 0; i < 5'000; ++i) {
        const auto j = scheduler.next();
        REQUIRE(j);
        const auto took = j->due.delivery.webhook == "slow" ? 200ms : 2ms;
        used[j->due.delivery.webhook] += took;
        end(scheduler, *j, took);
    }
    const double ratio = std::chrono::duration<double>(used["slow"]) / used["quick"];
    CHECK(ratio > 0.8);
    CHECK(ratio < 1.25);
}

TEST_CASE("attempts at a time are capped by what the receiver bears", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 100, .queued_max = 100'000}};
    for (int i = 0; i < 2'000; ++i) add(scheduler, job("a", 0, i));
    std::vector<Job> flying;
    const auto fill = [&] {
        while (auto j = scheduler.next()) flying.push_back(std::move(*j));
        return flying.size();
    };
    CHECK(fill() == static_cast<std::size_t>(Scheduler::kCapAtFirst));
    for (int i = 0; i < 500; ++i) {
        const auto j = flying.back();
        flying.pop_back();
        end(scheduler, j, 1ms);
        fill();
    }
    CHECK(flying.size() > 24);  // it bears more
    for (int i = 0; i < 8; ++i) {
        const auto j = flying.back();
        flying.pop_back();
        end(scheduler, j, 1ms, true);
    }
    while (flying.size() > 1) {
        const auto j = flying.back();
        flying.pop_back();
        end(scheduler, j, 1ms, true);
    }
    fill();
    CHECK(flying.size() == 1);  // it has had enough
}

TEST_CASE("a webhook's own limit is kept; one at a time keeps the order", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 10}};
    for (int i = 0; i < 3; ++i) {
        auto j = job("a", 0, i);
        j.cap_max = 1;
        add(scheduler, j);
    }
    const auto first = scheduler.next();
    REQUIRE(first);
    CHECK_FALSE(scheduler.next());
    end(scheduler, *first);
    CHECK(scheduler.next()->due.delivery.id == "a1");
}

TEST_CASE("a host is capped over all webhooks that lead to it", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1'000, .queued_max = 100'000}};
    for (int i = 0; i < 40; ++i) {
        for (int n = 0; n < 5; ++n) add(scheduler, job("w" + std::to_string(i), 0, n, "one"));
    }
    std::vector<Job> flying;
    while (auto j = scheduler.next()) flying.push_back(std::move(*j));
    CHECK(flying.size() == Scheduler::kHostCap);
    end(scheduler, flying.back());
    CHECK(scheduler.next());
    CHECK_FALSE(scheduler.next());
}

TEST_CASE("a webhook that holds its part of the window is told how long its queue takes",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 4, .queued_max = 80}};
    for (int i = 0; i < 10; ++i) add(scheduler, job("a", 0, i));
    auto more = job("a", 0, 10);
    CHECK(scheduler.add(more) > 0s);
    auto other = job("b", 0, 0);
    CHECK_FALSE(scheduler.add(other));
}

TEST_CASE("with more workers than tiers, each tier in which somebody waits has one",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 8, .tiers = 3, .queued_max = 100'000}};
    for (int w = 0; w < 50; ++w) {
        for (int i = 0; i < 20; ++i) add(scheduler, job("loud" + std::to_string(w), 0, i));
    }
    add(scheduler, job("late", 2, 0));
    add(scheduler, job("late", 1, 1));
    std::map<int, int> tiers;
    for (int i = 0; i < 3; ++i) ++tiers[scheduler.next()->due.ticket.tier];
    CHECK(tiers == std::map<int, int>{{0, 1}, {1, 1}, {2, 1}});
}

TEST_CASE("with fewer workers than tiers, the tier is drawn by how many wait there",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1, .tiers = 3, .queued_max = 1'000'000}};
    for (int w = 0; w < 30; ++w) {
        for (int i = 0; i < 300; ++i) add(scheduler, job("w" + std::to_string(w), 1, i));
        for (int i = 0; i < 100; ++i) add(scheduler, job("w" + std::to_string(w), 2, i));
    }
    std::map<int, int> drawn;
    for (int i = 0; i < 1'000; ++i) {
        const auto j = scheduler.next();
        REQUIRE(j);
        ++drawn[j->due.ticket.tier];
        end(scheduler, *j, 1ms);
    }
    CHECK(drawn[1] > 650);
    CHECK(drawn[2] > 150);
}

TEST_CASE("what waits of a partition that went elsewhere is forgotten", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 4}};
    auto here = job("a", 0, 1);
    here.due.ticket.partition = 7;
    add(scheduler, here);
    add(scheduler, job("a", 0, 2));
    CHECK(scheduler.forget(7) == 1);
    CHECK(start_all(scheduler) == std::vector<std::string>{"a2"});
}
