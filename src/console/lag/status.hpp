#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The word for how a group is doing in one partition. Pure functions, any thread.
namespace beckon::console {

enum class Status : std::uint8_t {
    ok,         ///< nothing waits, or not for long
    restoring,  ///< far behind, and coming nearer
    slow,       ///< far behind, and it does not come nearer
    stalled,    ///< something waits, somebody reads the partition, and the position does not move
    stopped,    ///< something waits, and nobody is known to read the partition
};
inline constexpr int kStatuses = static_cast<int>(Status::stopped) + 1;
/// "OK", "RESTORING", "SLOW", "STALLED", "STOPPED".
std::string_view to_string(Status status);

/// Behind for less than this is no matter.
inline constexpr std::chrono::seconds kBehindMax{30};
/// A position that has not moved for so long, while something waits, does not move. Groups commit
/// every five seconds or so.
inline constexpr std::chrono::seconds kUnmovedMax{30};
/// The part of a topic's retention that may be left before it is said.
inline constexpr double kRetentionLeft = 0.2;

struct Facts {
    core::Offset lag = 0;      ///< records
    core::Duration behind{};   ///< the age of the oldest record that waits
    core::Duration unmoved{};  ///< how long the position has not moved
    bool owned = false;        ///< somebody is known to read the partition
    double position_rate = 0;  ///< records read per second, of late
    double append_rate = 0;    ///< records appended per second, of late
};
Status status_of(const Facts& facts);

/// In a sentence, for a person: why this word, and what to look at.
std::string reason(Status status, const Facts& facts);

/// Time until nothing waits; nullopt: never, at these rates.
std::optional<core::Duration> time_to_drain(const Facts& facts);

/// What the log has removed or is about to remove before the group has read it.
enum class Loss : std::uint8_t {
    none,
    near,  ///< kRetentionLeft of the retention is left, and it will not be drained by then
    now,   ///< the log begins above the position: records are gone unread
};
std::string_view to_string(Loss loss);
struct Retention {
    core::Offset start = 0;     ///< of the log
    core::Offset position = 0;  ///< of the group
    core::Duration kept{};      ///< zero: not by age
};
Loss loss_of(const Retention& retention, const Facts& facts);
/// Until the oldest record that waits is removed; nullopt: it is not removed for its age.
std::optional<core::Duration> time_left(const Retention& retention, const Facts& facts);

}  // namespace beckon::console
