#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/ids.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The status of a group in one partition. Pure functions, any thread.
namespace beckon::console {

enum class Status : std::uint8_t {
    ok,         ///< no record waits, or not for long
    restoring,  ///< far behind, and the lag shrinks
    slow,       ///< far behind, and the lag does not shrink
    stalled,    ///< records wait, a member reads the partition, and the position does not move
    stopped,    ///< records wait, and nobody reads: the reader is dead, or none is known and the
                ///< position does not move
};
/// "OK", "RESTORING", "SLOW", "STALLED", "STOPPED".
std::string_view to_string(Status status);

/// A group that is behind for less than this is OK.
inline constexpr std::chrono::seconds kBehindMax{30};
/// A position counts as not moving once it has not moved for so long while records wait. Groups
/// commit every five seconds or so.
inline constexpr std::chrono::seconds kUnmovedMax{30};
/// The part of a topic's retention that may be left before a loss is reported as near.
inline constexpr double kRetentionLeft = 0.2;

struct Facts {
    core::Offset lag = 0;      ///< records
    core::Duration behind{};   ///< the age of the oldest record that waits
    core::Duration unmoved{};  ///< how long the position has not moved
    bool owned = false;        ///< a member is known to read the partition
    bool dead = false;         ///< it is known that no living process reads it
    core::Duration delay{};    ///< records of a delay topic wait for so long on purpose
    double position_rate = 0;  ///< records read per second, recently
    double append_rate = 0;    ///< records appended per second, recently
};
Status status_of(const Facts& facts);

/// A sentence for a person: the reason for this status, and what to check.
std::string reason(Status status, const Facts& facts);

/// Time until no record waits; nullopt: never, at these rates.
std::optional<core::Duration> time_to_drain(const Facts& facts);

/// Whether the log has removed, or is about to remove, records that the group has not read.
enum class Loss : std::uint8_t {
    none,
    near,  ///< kRetentionLeft of the retention is left, and it will not be drained by then
    now,   ///< the log begins above the position: records are gone unread
};
inline std::string_view to_string(Loss loss) { return core::name_of(loss); }
struct Retention {
    core::Offset start = 0;     ///< of the log
    core::Offset position = 0;  ///< of the group
    core::Duration kept{};      ///< zero: not by age
};
Loss loss_of(const Retention& retention, const Facts& facts);
/// Until the oldest record that waits is removed; nullopt: it is not removed for its age.
std::optional<core::Duration> time_left(const Retention& retention, const Facts& facts);

}  // namespace beckon::console
