#pragma once

#include "core/clock.hpp"
#include "core/time_guard.hpp"

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::log::embedded {

/// All clocks at one moment, as the log keeps them beside the newest record that it stamped.
struct ClockReading {
    core::Timestamp log{};     ///< the log's time
    core::Timestamp wall{};    ///< the host's, at the same moment
    bool disciplined = false;  ///< whether the kernel vouched for the host's clock then
    core::MonoTime mono{};     ///< the host's monotonic time, at the same moment
    std::string boot{};        ///< the boot since which that counts; empty: unknown
    bool steady = false;       ///< or the host's clock had been steady for kTrustedAfter
    bool operator==(const ClockReading&) const = default;
};

/// A reboot whose length the log's time does not count. Kept beside the records, since what was
/// appended before it stays in doubt however often the process starts again.
struct TimeGap {
    core::Timestamp log{};   ///< where the log's time stood: that of the newest record before it
    core::Timestamp wall{};  ///< what the host's clock said then
    bool trusted = false;    ///< the kernel vouched for it then, or it was steady
    core::MonoTime since{};  ///< when the log was first opened behind it, in the boot `boot`
    std::string boot{};      ///< empty: unknown
    bool operator==(const TimeGap&) const = default;
};

std::string to_bytes(const std::vector<TimeGap>& gaps);
/// nullopt for bytes that to_bytes() did not make.
std::optional<std::vector<TimeGap>> parse_time_gaps(std::string_view bytes);

/// 25 bytes and the name of the boot.
std::string to_bytes(const ClockReading& reading);
/// nullopt for bytes that to_bytes() did not make.
std::optional<ClockReading> parse_clock_reading(std::string_view bytes);

/// The embedded log's time: a scale of its own, so that a message lives as long as its sender asked
/// for, even if the host's wall clock steps. It goes on at the pace of the monotonic clock, never
/// back, and is steered towards the wall clock by a thousandth at most: a step in either direction
/// changes nothing about how long a message lives.
///
/// How long the process was down is exact within one boot of the kernel, whose monotonic clock goes
/// on. Over a reboot only the wall clock has the time, and it may be wrong then. It moves the scale
/// if the kernel reports that the host's clock is disciplined (adjtimex(2)), and did so when the
/// last record was stamped. Otherwise the scale goes on where it stood, so that nothing is
/// destroyed too early. A clock that the kernel does not vouch for steers the scale only after it
/// was steady for an hour.
///
/// A clock that does not move the scale still counts for deliveries: missing() returns by how much
/// the records from before the reboot may be older, so that a message that may have expired is not
/// delivered. In the first ten minutes (kDoubtMax) any clock counts, and one that shows an earlier
/// time than the scale, as in 1970, leaves all these records in doubt. After that only a clock
/// counts that is trusted before and after the reboot: the kernel vouches for it, or it has been
/// steady for a minute. It counts for as long as it is trusted. Records that are appended after the
/// reboot are never in doubt.
///
/// Thread-safe.
class LogTime {
public:
    static constexpr core::Duration kSteadyFor = std::chrono::hours{1};
    /// The wall clock may come closer to the monotonic one by so much at once and still be steady.
    static constexpr core::Duration kStepMax = std::chrono::seconds{1};
    static constexpr int kSteerDivisor = 1000;
    /// So long a clock that nobody vouches for must have been steady to be trusted.
    static constexpr core::Duration kTrustedAfter = std::chrono::minutes{1};
    /// So long a clock that is not trusted may hold up what may be over.
    static constexpr core::Duration kDoubtMax = std::chrono::minutes{10};
    /// Reboots that are remembered; of more the oldest are forgotten, and what was pending then is
    /// delivered.
    static constexpr std::size_t kGapsMax = 8;

    /// `boot`: that of the kernel, as in readings; empty: unknown. `left`: the reading of the last
    /// record, if there is one. `gaps`: those of the last process.
    LogTime(const core::Clock& clock, std::function<bool()> disciplined, std::string boot,
            const std::optional<ClockReading>& left, std::vector<TimeGap> gaps = {});

    core::Timestamp now();
    /// All clocks now; the log keeps this with the records that it stamps.
    ClockReading read_clocks();

    core::MissingTime missing();
    /// By how much the host's clock is ahead of the scale (negative: behind), without what a
    /// reboot may have left: a host that was down for a day whose length nobody vouches for has no
    /// wrong clock. A restart within a boot leaves nothing. Zero while the kernel vouches for the
    /// host's clock.
    core::Duration clock_ahead();
    /// To be kept before a reading is: with the reboot before this start, if its length is not
    /// counted. Constant.
    const std::vector<TimeGap>& gaps() const { return gaps_; }

private:
    std::optional<core::Duration> time_away(const ClockReading& left) const;
    bool in_boot_of(const ClockReading& left) const;
    core::Duration uncounted_before(const ClockReading& left) const;
    void go_on_steady(const ClockReading& left);
    void add_gap(const ClockReading& left);
    core::Duration missing_since(const TimeGap& gap, bool clock_is_trusted) const;
    void advance();
    bool may_steer() const;
    bool is_trusted() const;

    const core::Clock& clock_;
    const std::function<bool()> disciplined_;
    const std::string boot_;
    std::vector<TimeGap> gaps_;  ///< constant after construction; ascending

    std::mutex mutex_;
    core::Duration log_{};           ///< since the epoch, at mono_
    core::MonoTime mono_{};          ///< of the last advance()
    core::Duration wall_offset_{};   ///< wall minus monotonic time, at mono_
    core::Duration uncounted_{};     ///< by how much reboots may have left the scale behind
    core::MonoTime steady_since_{};  ///< when the wall clock last stepped
};

}  // namespace beckon::log::embedded
