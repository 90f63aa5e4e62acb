#include "sim/retry/retry_story.hpp"

#include <array>
#include <random>
#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

constexpr int kRetryRounds = 60;

constexpr std::array kRetryFaults = {
    RetryAct::kill,        RetryAct::kill,           RetryAct::kill,         RetryAct::stop,
    RetryAct::stop,        RetryAct::freeze,         RetryAct::mute,         RetryAct::start,
    RetryAct::without_log, RetryAct::fail_publishes, RetryAct::lose_reports, RetryAct::lose_reports,
    RetryAct::log_away,    RetryAct::hold_reader,    RetryAct::hold_reader,  RetryAct::compact};

class RetryNarrator {
public:
    RetryNarrator(std::uint64_t seed, Clocks clocks)
        : random_(seed), hostile_(clocks == Clocks::hostile) {}

    RetryStory tell_all() {
        for (int round = 0; round < kRetryRounds; ++round) next_round();
        return std::move(story_);
    }

private:
    void next_round() {
        if (hostile_ && chance(3)) add(RetryAct::step_clock, {});
        if (chance(3)) add(RetryAct::silence, {});
        add(RetryAct::post, {});
        if (chance(15)) add(RetryAct::change_mood, {});
        if (chance(5)) add(RetryAct::enable, {});
        if (chance(8)) add(RetryAct::redrive, {});
        if (chance(18)) {
            add(some_fault(), up_to(1s));
            if (chance(40)) add(some_fault(), {});  // seldom alone
        }
        story_.back().then += up_to(chance(20) ? core::Duration{5s} : core::Duration{500ms});
    }
    void add(RetryAct act, core::Duration then) { story_.push_back({act, random_(), then}); }
    RetryAct some_fault() { return kRetryFaults[random_() % kRetryFaults.size()]; }
    bool chance(std::uint64_t percent) { return random_() % 100 < percent; }
    core::Duration up_to(core::Duration most) {
        return core::Duration{static_cast<core::Duration::rep>(
            random_() % (static_cast<std::uint64_t>(most.count()) + 1))};
    }

    std::mt19937_64 random_;
    const bool hostile_;
    RetryStory story_;
};

}  // namespace

RetryStory retry_story_of(std::uint64_t seed, Clocks clocks) {
    return RetryNarrator{seed, clocks}.tell_all();
}

std::string_view to_string(RetryAct act) {
    constexpr std::array<std::string_view, kRetryActs> kNames = {
        "post",     "change mood", "enable",  "redrive",     "kill",           "stop",
        "freeze",   "mute",        "start",   "without log", "fail publishes", "lose reports",
        "log away", "hold reader", "compact", "step clock",  "silence"};
    return kNames[static_cast<std::size_t>(act)];
}

}  // namespace beckon::sim
