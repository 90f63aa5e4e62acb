#pragma once

#include "sim/story.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace beckon::sim {

/// One thing that happens to the processes of the role retry, and around them.
enum class RetryAct : std::uint8_t {
    post,         ///< an application posts an event, or some, or one again
    change_mood,  ///< of a receiver
    enable,       ///< webhooks that are disabled
    redrive,      ///< some dead letters
    // --- faults
    kill,
    stop,         ///< SIGTERM
    freeze,       ///< SIGSTOP, SIGCONT
    mute,         ///< its heartbeats are lost
    start,        ///< one more joins
    without_log,  ///< the log is away for one host alone
    fail_publishes,
    lose_reports,
    log_away,
    hold_reader,  ///< one partition of a log topic is stalled for its readers
    compact,
    step_clock,
    silence,  ///< nobody does anything for a while
};
inline constexpr std::size_t kRetryActs = 17;
std::string_view to_string(RetryAct act);
constexpr bool is_fault(RetryAct act) { return act >= RetryAct::kill; }

using RetryStep = StepOf<RetryAct>;
using RetryStory = std::vector<RetryStep>;

/// The story of a seed. Pure.
RetryStory retry_story_of(std::uint64_t seed, Clocks clocks);

}  // namespace beckon::sim
