#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <chrono>
#include <string>

/// The one test of whether something is over, for all code that destroys data.
namespace beckon::core {

/// Both clocks must be past the end of destroyed data by this.
inline constexpr std::chrono::hours kDestructionMargin{1};

/// The latest moment that is past for certain: an hour ago by the log's clock *and* by the host's.
/// Either clock may have stepped, and data that a wrong clock destroys does not come back.
inline Timestamp certainly_past(Timestamp log_now, Timestamp host_now) {
    return std::min(log_now, host_now) - kDestructionMargin;
}

/// Whether the kernel vouches for the host's wall clock: a time service disciplines it
/// (adjtimex(2)). Any thread.
bool host_clock_is_disciplined();

/// The id of the kernel's boot (random(4), boot_id); processes can compare their MonoTimes within
/// one boot. Empty: it cannot be known, or this process is in a time namespace of its own. Any
/// thread.
std::string boot_id();

}  // namespace beckon::core
