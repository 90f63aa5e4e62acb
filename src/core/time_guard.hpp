#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

/// The one test of whether something is over, for all code that destroys data.
namespace beckon::core {

/// By how much records of a log may be older than its times say, since nobody counted the time that
/// the host was down. Delivery calls this, and holds back messages that may have expired. Deletion
/// goes by the log's time alone.
struct MissingTime {
    /// More than any message lives.
    static constexpr Duration kForever = std::chrono::hours{24 * 5'000};

    /// Records that were appended at `until` or before may be older by `most`.
    struct Part {
        Timestamp until{};
        Duration most{};
        bool operator==(const Part&) const = default;
    };
    std::vector<Part> parts;

    /// Of a record that was appended at `appended`. 0: the log's time counts all.
    Duration of(Timestamp appended) const {
        Duration most{};
        for (const auto& part : parts) {
            if (appended <= part.until) most = std::max(most, part.most);
        }
        return most;
    }
    bool operator==(const MissingTime&) const = default;
};

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
