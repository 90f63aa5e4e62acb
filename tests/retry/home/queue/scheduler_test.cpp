#include "retry/home/queue/scheduler.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using retry::Job;
using retry::Scheduler;

namespace {

core::MonoTime at(core::Duration since_start) { return core::MonoTime{since_start}; }

Job job(const std::string& webhook, int tier = 0, core::Offset offset = 0,
        const std::string& host = "", const std::string& owner = "o") {
    Job j;
    j.due.delivery.webhook = webhook;
    j.due.delivery.id = webhook + std::to_string(offset);
    j.due.ticket = {.partition = 0, .tier = tier, .offset = offset};
    j.owner = owner;
    j.host = host.empty() ? webhook : host;
    return j;
}

void add(Scheduler& scheduler, Job j) { REQUIRE_FALSE(scheduler.add(j)); }

void end(Scheduler& scheduler, const Job& j, core::Duration took = 10ms, bool overloaded = false) {
    scheduler.ended({.attempt = j.attempt, .took = took, .overloaded = overloaded});
}

std::vector<Job> start_all(Scheduler& scheduler, core::Duration now = 0s) {
    std::vector<Job> started;
    while (auto j = scheduler.next(at(now))) started.push_back(std::move(*j));
    return started;
}

std::vector<std::string> ids_of(const std::vector<Job>& jobs) {
    std::vector<std::string> ids;
    for (const auto& j : jobs) ids.push_back(j.due.delivery.id);
    return ids;
}

/// A webhook's receiver has answered once, so quickly.
void learn(Scheduler& scheduler, const std::string& webhook, core::Duration took,
           const std::string& owner = "o", core::Duration now = 0s) {
    add(scheduler, job(webhook, 0, 1'000'000, "", owner));
    const auto started = start_all(scheduler, now);
    REQUIRE(started.size() == 1);
    end(scheduler, started.front(), took);
}

/// An owner with so many webhooks that hang, each with `each` deliveries.
void hang(Scheduler& scheduler, const std::string& owner, int webhooks, int each,
          bool failing = false) {
    for (int w = 0; w < webhooks; ++w) {
        for (int i = 0; i < each; ++i) {
            auto j = job(owner + "." + std::to_string(w), 0, i, "", owner);
            j.due.ticket.partition = w % 16;
            j.failing = failing;
            static_cast<void>(scheduler.add(j));
        }
    }
}

/// Time passes, and attempts end as their receivers let them.
struct Receivers {
    explicit Receivers(Scheduler& s) : scheduler(s) {}
    /// Until then, in steps of 10 ms; `takes` says how long each receiver does.
    template <class Takes>
    void run_until(core::Duration end_at, Takes takes) {
        for (; now <= end_at; now += 10ms) {
            while (!flying.empty() && flying.begin()->first <= now) {
                const auto [took, j] = std::move(flying.begin()->second);
                flying.erase(flying.begin());
                end(scheduler, j, took, took >= 10s);
            }
            for (auto& j : start_all(scheduler, now)) {
                const core::Duration took = takes(j);
                begun[j.due.delivery.webhook].push_back(now);
                flying.emplace(now + took, std::pair{took, std::move(j)});
            }
        }
    }
    Scheduler& scheduler;
    core::Duration now{};
    std::multimap<core::Duration, std::pair<core::Duration, Job>> flying;
    std::map<std::string, std::vector<core::Duration>> begun;
};

}  // namespace

TEST_CASE("a webhook's deliveries of a tier are attempted in their order", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 30}};
    for (int i = 0; i < 3; ++i) add(scheduler, job("a", 0, i));
    CHECK(ids_of(start_all(scheduler)) == std::vector<std::string>{"a0", "a1", "a2"});
    CHECK(scheduler.in_flight() == 3);
    CHECK(scheduler.waiting() == 0);
}

TEST_CASE("a slow receiver gets as much time as a quick one, not as many attempts",
          "[retry][schedule]") {
    const auto [owner, slow] = GENERATE(table<const char*, core::Duration>(
        {{"o", 200ms}, {"another", 200ms}, {"o", 2s}, {"another", 2s}}));
    Scheduler scheduler{{.workers = 1, .queued_max = 1'000'000}};
    for (int i = 0; i < 20'000; ++i) {
        add(scheduler, job("slow", 0, i));
        add(scheduler, job("quick", 0, i, "", owner));
    }
    std::map<std::string, core::Duration> used;
    for (int i = 0; i < 10'000; ++i) {
        const auto j = scheduler.next(at(0s));
        REQUIRE(j);
        const auto took = j->due.delivery.webhook == "slow" ? slow : 2ms;
        used[j->due.delivery.webhook] += took;
        end(scheduler, *j, took);
    }
    const double ratio = std::chrono::duration<double>(used["slow"]) / used["quick"];
    CHECK(ratio > 0.8);
    CHECK(ratio < 1.25);
}

// Fails where an attempt costs its time alone.
TEST_CASE("bytes cost as time does: a webhook with large events gets fewer attempts",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1, .queued_max = 1'000'000}};
    for (int i = 0; i < 3'000; ++i) {
        auto large = job("large", 0, i, "", "large");
        large.due.delivery.event = std::string(160 * 1024, 'x');
        add(scheduler, large);
        add(scheduler, job("small", 0, i, "", "small"));
    }
    std::map<std::string, int> attempts;
    for (int i = 0; i < 2'000; ++i) {
        const auto j = scheduler.next(at(0s));
        REQUIRE(j);
        ++attempts[j->owner];
        end(scheduler, *j, 1ms);
    }
    CHECK(attempts["small"] > 7 * attempts["large"]);
    CHECK(attempts["large"] > 50);
}

TEST_CASE("processor time costs as time does: an owner whose requests take long to make waits",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1, .queued_max = 100'000}};
    for (int i = 0; i < 400; ++i) {
        add(scheduler, job("a", 0, i, "", "costly"));
        add(scheduler, job("b", 0, i, "", "cheap"));
    }
    std::map<std::string, int> attempts;
    for (int i = 0; i < 400; ++i) {
        auto started = start_all(scheduler);
        REQUIRE(started.size() == 1);
        ++attempts[started.front().owner];
        if (started.front().owner == "costly") scheduler.charge(started.front().attempt, 90ms);
        end(scheduler, started.front(), 10ms);
    }
    CHECK(attempts["cheap"] >= 7 * attempts["costly"]);
    CHECK(attempts["costly"] >= 30);
}

TEST_CASE("attempts at a time are capped by what the receiver bears", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1'000, .queued_max = 100'000}};
    for (int i = 0; i < 2'000; ++i) add(scheduler, job("a", 0, i));
    std::vector<Job> flying;
    const auto fill = [&] {
        for (auto& j : start_all(scheduler)) flying.push_back(std::move(j));
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
    Scheduler scheduler{{.workers = 100}};
    for (int i = 0; i < 3; ++i) {
        auto j = job("a", 0, i);
        j.cap_max = 1;
        add(scheduler, j);
    }
    const auto first = scheduler.next(at(0s));
    REQUIRE(first);
    CHECK_FALSE(scheduler.next(at(0s)));
    end(scheduler, *first);
    CHECK(scheduler.next(at(0s))->due.delivery.id == "a1");
}

// Fails where a host's places go to whoever comes first.
TEST_CASE("a host is capped over all webhooks that lead to it, and each owner has a share",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1'000, .queued_max = 100'000}};
    for (int i = 0; i < 60; ++i) {
        for (int n = 0; n < 8; ++n) add(scheduler, job("w" + std::to_string(i), 0, n, "one"));
    }
    auto flying = start_all(scheduler);
    CHECK(flying.size() > 50);
    CHECK(flying.size() < 100);  // of 250
    add(scheduler, job("other", 0, 0, "one", "other"));
    CHECK(scheduler.next(at(0s)));
    const auto before = scheduler.in_flight();
    for (std::size_t i = 0; i < 3; ++i) end(scheduler, flying[i]);
    CHECK_FALSE(start_all(scheduler).empty());  // who waited at the host goes on
    CHECK(scheduler.in_flight() <= before);
    for (int o = 0; o < 40; ++o) {
        const auto owner = "o" + std::to_string(o);
        for (int w = 0; w < 10; ++w) {
            for (int n = 0; n < 8; ++n) {
                add(scheduler, job(owner + "w" + std::to_string(w), 0, n, "one", owner));
            }
        }
    }
    start_all(scheduler);
    CHECK(scheduler.in_flight() <= 250);
}

TEST_CASE("at a full host no delivery waits for ever", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 200, .queued_max = 100'000}};
    std::size_t left = 0;
    for (int i = 0; i < 50; ++i) {
        for (int n = 0; n < 4; ++n) {
            add(scheduler, job("w" + std::to_string(i), 0, n, "one", "o" + std::to_string(i % 5)));
            ++left;
        }
    }
    while (left > 0) {
        const auto started = start_all(scheduler);
        REQUIRE_FALSE(started.empty());
        left -= started.size();
        for (const auto& j : started) end(scheduler, j, 1ms, true);
    }
}

TEST_CASE("a webhook that fills its share of the window is given a delay as long as its queue",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 4, .queued_max = 160}};
    std::optional<core::Duration> reported;
    int taken = 0;
    for (; !reported; ++taken) {
        auto j = job("a", 0, taken);
        reported = scheduler.add(j);
        REQUIRE(taken < 30);
    }
    CHECK(taken > 10);
    CHECK(*reported > 0s);
    add(scheduler, job("b", 0, 0));  // another of the same owner
}

// Fails where attempts are counted alone: a thousand of them were a quarter of a gigabyte.
TEST_CASE("the events of attempts under way have a bound in bytes, of which each owner has a share",
          "[retry][schedule][bounds]") {
    constexpr std::size_t kBytes = 256 * 1024;
    Scheduler scheduler{{.workers = 1'000, .event_bytes = 64 * kBytes}};
    const auto large = [&](const std::string& owner, int i) {
        auto j = job(owner + std::to_string(i), 0, i, "", owner);
        j.due.delivery.place = retry::EventPlace{.name = "n", .bytes = kBytes, .type = "t"};
        return j;
    };
    for (int i = 0; i < 100; ++i) add(scheduler, large("greedy", i));
    const auto first = start_all(scheduler);
    CHECK(first.size() >= 16);  // alone it holds a quarter
    CHECK(first.size() <= 18);
    for (int o = 0; o < 30; ++o) {
        for (int i = 0; i < 10; ++i) add(scheduler, large("o" + std::to_string(o), i));
    }
    add(scheduler, job("small", 0, 0, "", "quiet"));
    std::map<std::string, std::size_t> started;
    for (const auto& j : start_all(scheduler)) ++started[j.owner];
    CHECK(started.at("quiet") == 1);
    CHECK(started.size() > 20);
    CHECK(scheduler.in_flight() <= 66);
    for (const auto& j : first) end(scheduler, j, 10ms);
    CHECK_FALSE(start_all(scheduler).empty());
}

TEST_CASE("each tier in which somebody waits has a place, whatever its owner holds",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 100, .tiers = 3, .queued_max = 100'000}};
    for (int w = 0; w < 50; ++w) {
        for (int i = 0; i < 20; ++i) add(scheduler, job("loud" + std::to_string(w), 0, i));
    }
    const auto at_first = start_all(scheduler);
    add(scheduler, job("late", 2, 0));
    add(scheduler, job("late", 1, 1));
    std::map<int, int> tiers;
    for (const auto& j : start_all(scheduler)) ++tiers[j.due.ticket.tier];
    CHECK(tiers == std::map<int, int>{{1, 1}, {2, 1}});
}

TEST_CASE("the places of tiers do not fill the share of an owner's quick receivers",
          "[retry][schedule][fairness]") {
    Scheduler scheduler{{.workers = 16, .tiers = 9}};
    learn(scheduler, "healthy", 20ms);
    for (int tier = 1; tier <= 6; ++tier) {
        auto j = job("hangs" + std::to_string(tier), tier);
        j.failing = true;
        add(scheduler, std::move(j));
    }
    CHECK(start_all(scheduler, 0s).size() == 6);
    start_all(scheduler, 2s);  // all of them are late
    for (int i = 0; i < 10; ++i) {
        add(scheduler, job("healthy", 0, i));
        const auto started = start_all(scheduler, 2s + 10ms * i);
        REQUIRE(started.size() == 1);
        end(scheduler, started.front());
        // Somebody else of this owner has the place of the lowest tier.
        if (i == 0) {
            auto j = job("hangs0");
            j.failing = true;
            add(scheduler, std::move(j));
            CHECK(start_all(scheduler, 2s).size() == 1);
        }
    }
}

TEST_CASE("a webhook's tiers take turns: new work delays no retries, nor they it",
          "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1, .tiers = 3, .queued_max = 1'000'000}};
    for (int i = 0; i < 300; ++i) add(scheduler, job("w", 1, i));
    for (int i = 0; i < 100; ++i) add(scheduler, job("w", 2, i));
    std::map<int, int> drawn;
    for (int i = 0; i < 100; ++i) {
        const auto j = scheduler.next(at(0s));
        REQUIRE(j);
        ++drawn[j->due.ticket.tier];
        end(scheduler, *j, 1ms);
    }
    CHECK(drawn == std::map<int, int>{{1, 50}, {2, 50}});
}

TEST_CASE("waiting deliveries of a partition that moved away are forgotten", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 100}};
    auto elsewhere = job("b", 0, 1);
    elsewhere.due.ticket.partition = 7;
    add(scheduler, elsewhere);
    add(scheduler, job("a", 0, 2));
    CHECK(scheduler.forget(7) == 1);
    CHECK(scheduler.waiting() == 1);
    CHECK(ids_of(start_all(scheduler)) == std::vector<std::string>{"a2"});
}

// Fails where attempts have places and no owner has a share: then 300 webhooks that hang hold all.
TEST_CASE("however many receivers of an owner hang, nine tenths of the places are left to others",
          "[retry][schedule][fairness]") {
    Scheduler scheduler{{}};
    hang(scheduler, "hostile", 300, 10);
    Receivers receivers{scheduler};
    const auto hanging = [](const Job&) { return core::Duration{10s}; };
    for (auto until = 1s; until < 40s; until += 1s) {
        receivers.run_until(until, hanging);
        CHECK(scheduler.in_flight() <= 1'024 / 5);  // while nothing is known of them
    }
    CHECK(scheduler.in_flight() <= 1'024 / 9);
    CHECK(scheduler.in_flight() >= 1'024 / 12);  // and the owner has its share
}

TEST_CASE("however many owners hang, a healthy one begins at once, and a tenth is free",
          "[retry][schedule][fairness]") {
    const int owners = GENERATE(10, 50, 72, 300);
    const bool at_once = GENERATE(true, false);
    const bool known = GENERATE(true, false);
    if (owners == 300 && !(at_once && known)) return;
    Scheduler scheduler{{.queued_max = 100'000}};
    for (int o = 0; o < owners; ++o) {
        hang(scheduler, "hostile" + std::to_string(o), 10, 20, known);
        if (!at_once) start_all(scheduler, 0s);
    }
    start_all(scheduler, 0s);
    CHECK(1'024 - scheduler.in_flight() >= (known ? 100 : at_once ? 60 : 40));
    add(scheduler, job("healthy", 0, 1, "", "healthy"));
    const auto started = start_all(scheduler, 10ms);
    CHECK(std::any_of(started.begin(), started.end(),
                      [](const auto& j) { return j.owner == "healthy"; }));
}

// Fails where the places of an owner's slow webhooks count for its quick ones too.
TEST_CASE("a webhook that answers is not held up by those of its owner that hang",
          "[retry][schedule][fairness]") {
    Scheduler scheduler{{}};
    learn(scheduler, "healthy", 20ms);
    hang(scheduler, "o", 300, 10);
    auto now = core::Duration{};
    for (int second = 0; second < 15; ++second) {
        start_all(scheduler, now);
        auto j = job("healthy", 0, second);
        j.due.ticket.partition = 0;  // that of others that hang
        REQUIRE_FALSE(scheduler.add(j));
        const auto started = start_all(scheduler, now + 10ms);
        const auto mine = std::find_if(started.begin(), started.end(), [](const auto& one) {
            return one.due.delivery.webhook == "healthy";
        });
        REQUIRE(mine != started.end());
        end(scheduler, *mine, 20ms);
        now += 1s;
    }
}

// Fails where the attempts of receivers that were quick fill their owner's share after they hang.
TEST_CASE("receivers that were quick and hang hold up their owner's other webhooks for a second",
          "[retry][schedule][fairness]") {
    Scheduler scheduler{{.queued_max = 100'000}};
    constexpr int kTurned = 40;
    for (const auto* name : {"healthy", "late"}) learn(scheduler, name, 20ms);
    for (int w = 0; w < kTurned; ++w) learn(scheduler, "o." + std::to_string(w), 20ms);
    for (int second = 0; second < 30; ++second) {
        const auto now = core::Duration{1s} * second;
        hang(scheduler, "o", kTurned, 100);  // whatever has a place keeps it
        start_all(scheduler, now);
        add(scheduler, job("healthy", 0, second));
        const auto started = start_all(scheduler, now + Scheduler::kQuick);
        const auto mine = std::find_if(started.begin(), started.end(), [](const auto& one) {
            return one.due.delivery.webhook == "healthy";
        });
        REQUIRE(mine != started.end());
        end(scheduler, *mine, 20ms);
    }
    CHECK(scheduler.in_flight() > 100);  // they were quick, so they hold more than slow ones do
}

TEST_CASE("receivers that turn slow one after the other leave most places to other owners",
          "[retry][schedule][fairness]") {
    Scheduler scheduler{{.queued_max = 100'000}};
    for (int w = 0; w < 300; ++w) learn(scheduler, "w" + std::to_string(w), 20ms);
    for (int second = 0; second < 30; ++second) {
        for (int i = 0; i < 80; ++i) {  // ten more receivers hang; whatever has a place keeps it
            add(scheduler, job("w" + std::to_string(10 * second + i % 10), 0, i));
        }
        start_all(scheduler, core::Duration{1s} * second);
        CHECK(scheduler.in_flight() <= 392);  // x with x = (1,024 - x)^2 / 1,024
    }
    CHECK(scheduler.in_flight() > 380);
}

TEST_CASE("a new webhook is not held up by those of its owner that fail since long",
          "[retry][schedule][fairness]") {
    Scheduler scheduler{{}};  // after a restart: the log says which fail
    hang(scheduler, "o", 500, 1, true);
    CHECK(start_all(scheduler, 0s).size() <= 1'024 / 9);
    add(scheduler, job("new", 0, 1));
    CHECK(ids_of(start_all(scheduler, 1ms)) == std::vector<std::string>{"new1"});
}

TEST_CASE("a receiver that was slow once has its turn among those of its owner that hang",
          "[retry][schedule][fairness]") {
    Scheduler scheduler{{}};
    learn(scheduler, "w", 2s);
    hang(scheduler, "o", 300, 20);
    Receivers receivers{scheduler};
    const auto takes = [](const Job& j) {
        const auto& name = j.due.delivery.webhook;
        return name == "w" ? core::Duration{20ms}
                           : 10s + 10ms * static_cast<int>(std::hash<std::string>{}(name) % 500);
    };
    receivers.run_until(45s, takes);  // until all of them are known
    for (std::size_t i = 0; i < 10; ++i) {
        add(scheduler, job("w", 0, static_cast<core::Offset>(i)));
        const auto came = receivers.now;
        receivers.run_until(came + (i == 0 ? 8s : 1s), takes);
        const auto& begun = receivers.begun["w"];
        REQUIRE(begun.size() == i + 1);
        if (i > 0) CHECK(begun.back() - came <= 50ms);  // quick again
    }
}

TEST_CASE("webhooks without deliveries are forgotten under steady load", "[retry][schedule]") {
    Scheduler scheduler{{.workers = 1'000, .tiers = 2}};
    add(scheduler, job("busy"));
    REQUIRE(start_all(scheduler).size() == 1);  // its tier has an attempt under way all the time
    for (std::size_t i = 0; i < Scheduler::kIdleMax + 1'000; ++i) {
        add(scheduler, job("w" + std::to_string(i), 0, 0, "", "o" + std::to_string(i)));
        const auto started = start_all(scheduler);
        REQUIRE(started.size() == 1);
        end(scheduler, started.front());
    }
    CHECK(scheduler.webhooks() <= Scheduler::kIdleMax + 1);
}

TEST_CASE("of idle clients of bridges nothing is remembered", "[retry][schedule][bounds]") {
    Scheduler scheduler{{.workers = 16, .queued_max = 64}};
    const auto message = [](int client, core::Partition partition = 0) {
        auto one = job("client-" + std::to_string(client), 0, client, "app", "app");
        one.due.ticket.partition = partition;
        one.cap_max = 1;
        one.bridged = true;
        return one;
    };
    std::size_t refused = 0;
    for (int i = 0; i < 1'000; ++i) {
        auto one = message(i);
        if (scheduler.add(one)) ++refused;
        if (i % 3 != 0) continue;
        while (auto next = scheduler.next(at(0s))) end(scheduler, *next);
    }
    while (auto next = scheduler.next(at(0s))) end(scheduler, *next);
    CHECK(refused == 0);
    CHECK(scheduler.webhooks() == 0);
    for (int i = 0; i < 100; ++i) {
        auto one = message(i, 1);
        if (scheduler.add(one)) ++refused;
    }
    CHECK(refused > 50);  // beyond the app's share of the window
    CHECK(scheduler.forget(1) == 100 - refused);
    CHECK(scheduler.webhooks() == 0);
}
