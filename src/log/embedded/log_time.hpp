#pragma once

#include "core/clock.hpp"

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::log::embedded {

/// All clocks at one moment, as the log keeps them beside the newest record that it stamped.
struct ClockReading {
    core::Timestamp log{};     ///< the log's time
    core::Timestamp wall{};    ///< the host's, at the same moment
    bool disciplined = false;  ///< whether the kernel vouched for the host's clock then
    core::MonoTime mono{};     ///< the host's monotonic time, at the same moment
    std::string boot{};        ///< the boot since which that counts; empty: unknown
    bool operator==(const ClockReading&) const = default;
};

/// 25 bytes and the name of the boot. parse_clock_reading() also takes the 17 bytes of older
/// builds, which end with `disciplined`, and answers nullopt for anything else.
std::string to_bytes(const ClockReading& reading);
std::optional<ClockReading> parse_clock_reading(std::string_view bytes);

/// The embedded log's time: a scale of its own, so that a message lives as long as its sender asked
/// for, whatever the host's wall clock does. It goes on at the pace of the monotonic clock, never
/// back, and is steered towards the wall clock by a thousandth at most: a step in either direction
/// changes nothing about how long a message lives.
///
/// How long the process was down is exact within one boot of the kernel, whose monotonic clock goes
/// on. Over a reboot only the wall clock can say it, which may be wrong then. It counts if the
/// kernel says that the host's clock is disciplined (adjtimex(2)), and said so when the last record
/// was stamped. Otherwise the scale goes on where it stood, and what was pending lives longer: late
/// delivery is the cheaper mistake. A clock that the kernel does not vouch for steers the scale
/// only after it was steady for an hour.
///
/// Thread-safe.
class LogTime {
public:
    static constexpr core::Duration kSteadyFor = std::chrono::hours{1};
    /// The wall clock may come closer to the monotonic one by so much at once and still be steady.
    static constexpr core::Duration kStepMax = std::chrono::seconds{1};
    static constexpr int kSteerDivisor = 1000;

    /// `boot`: that of the kernel, as in readings; empty: unknown. `left`: the reading of the last
    /// record, if there is one.
    LogTime(const core::Clock& clock, std::function<bool()> disciplined, std::string boot,
            const std::optional<ClockReading>& left);

    core::Timestamp now();
    /// All clocks now; the log keeps this with the records that it stamps.
    ClockReading read_clocks();

private:
    core::Duration time_away(const ClockReading& left) const;
    void advance();
    bool may_steer() const;

    const core::Clock& clock_;
    const std::function<bool()> disciplined_;
    const std::string boot_;

    std::mutex mutex_;
    core::Duration log_{};           ///< since the epoch, at mono_
    core::MonoTime mono_{};          ///< of the last advance()
    core::Duration wall_offset_{};   ///< wall minus monotonic time, at mono_
    core::MonoTime steady_since_{};  ///< when the wall clock last stepped
};

}  // namespace beckon::log::embedded
