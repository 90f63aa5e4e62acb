#include "sim/story.hpp"

#include <array>
#include <random>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

constexpr int kRounds = 100;

constexpr std::array kFaults = {
    Act::kill_edge,   Act::kill_edge,    Act::stop_edge,        Act::freeze_edge,
    Act::mute_edge,   Act::start_edge,   Act::kill_endpoint,    Act::freeze_endpoint,
    Act::log_away,    Act::lose_reports, Act::lose_reports,     Act::fail_publishes,
    Act::hold_reader, Act::hold_reader,  Act::compact,          Act::cut_link,
    Act::reset_link,  Act::slow_links,   Act::edge_without_log, Act::endpoint_without_log,
    Act::reject_link};

class Narrator {
public:
    Narrator(std::uint64_t seed, Clocks clocks)
        : random_(seed), hostile_(clocks == Clocks::hostile) {}

    Story report() {
        for (int round = 0; round < kRounds; ++round) print_round();
        return std::move(story_);
    }

private:
    void print_round() {
        if (hostile_ && chance(2)) add(Act::step_clock, {});
        if (hostile_ && chance(2)) add(Act::silence, {});
        add(Act::client, {});
        if (chance(70)) add(Act::send, {});
        if (chance(4)) add(Act::take_back, {});
        if (chance(hostile_ ? 10 : 20)) {
            add(some_fault(), up_to(1s));
            if (chance(40)) add(some_fault(), {});  // seldom alone
        }
        story_.back().then += up_to(chance(10) ? core::Duration{3s} : core::Duration{300ms});
    }
    void add(Act act, core::Duration then) { story_.push_back({act, random_(), then}); }
    Act some_fault() { return kFaults[random_() % kFaults.size()]; }
    bool chance(std::uint64_t percent) { return random_() % 100 < percent; }
    core::Duration up_to(core::Duration most) {
        return core::Duration{static_cast<core::Duration::rep>(
            random_() % (static_cast<std::uint64_t>(most.count()) + 1))};
    }

    std::mt19937_64 random_;
    const bool hostile_;
    Story story_;
};

}  // namespace

Story story_of(std::uint64_t seed, Clocks clocks) { return Narrator{seed, clocks}.report(); }

std::string_view to_string(Act act) {
    constexpr std::array<std::string_view, kActs> kNames = {
        "client",         "send",         "take back",  "kill edge",        "stop edge",
        "freeze edge",    "mute edge",    "start edge", "kill endpoint",    "freeze endpoint",
        "fail publishes", "lose reports", "log away",   "edge without log", "endpoint without log",
        "hold reader",    "compact",      "cut link",   "reset link",       "slow links",
        "reject link",    "step clock",   "silence"};
    return kNames[static_cast<std::size_t>(act)];
}

}  // namespace beckon::sim
