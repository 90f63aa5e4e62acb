#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

namespace beckon::core {

/// How far the fold of one partition of a log topic has come, and when it was last known to be at
/// the end (log time). Trust in the folded state rests on these facts.
struct Checkpoint {
    Offset next = 0;
    Timestamp caught_up{};
    /// The greatest append time of the records below `next`; Timestamp{}: there are none. A younger
    /// record below `next` is none of them: the topic was deleted and made anew.
    Timestamp youngest{};
    bool operator==(const Checkpoint&) const = default;
};

}  // namespace beckon::core
