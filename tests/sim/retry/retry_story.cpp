#include "sim/retry/retry_story.hpp"

#include <array>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

constexpr int kRetryRounds = 60;

constexpr std::array kRetryFaults = {
    RetryAct::kill,        RetryAct::kill,           RetryAct::kill,         RetryAct::stop,
    RetryAct::stop,        RetryAct::freeze,         RetryAct::mute,         RetryAct::start,
    RetryAct::without_log, RetryAct::fail_publishes, RetryAct::lose_reports, RetryAct::lose_reports,
    RetryAct::log_away,    RetryAct::hold_reader,    RetryAct::hold_reader,  RetryAct::compact};

}  // namespace

RetryStory retry_story_of(std::uint64_t seed, Clocks clocks) {
    StoryWriter<RetryAct> story{seed};
    for (int round = 0; round < kRetryRounds; ++round) {
        if (clocks == Clocks::hostile && story.chance(3)) story.add(RetryAct::step_clock);
        if (story.chance(3)) story.add(RetryAct::silence);
        story.add(RetryAct::post);
        if (story.chance(15)) story.add(RetryAct::change_mood);
        if (story.chance(5)) story.add(RetryAct::enable);
        if (story.chance(8)) story.add(RetryAct::redrive);
        if (story.chance(18)) story.add_faults(kRetryFaults);
        story.wait(story.up_to(story.chance(20) ? core::Duration{5s} : core::Duration{500ms}));
    }
    return story.take();
}

std::string_view to_string(RetryAct act) {
    constexpr std::array<std::string_view, kRetryActs> kNames = {
        "post",     "change mood", "enable",  "redrive",     "kill",           "stop",
        "freeze",   "mute",        "start",   "without log", "fail publishes", "lose reports",
        "log away", "hold reader", "compact", "step clock",  "silence"};
    return kNames[static_cast<std::size_t>(act)];
}

}  // namespace beckon::sim
