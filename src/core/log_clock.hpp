#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <optional>

namespace beckon::core {

/// The log's "now" in one partition, whose leader's clock stamps its records. It is known as an
/// interval, bounded from both sides by evidence and run on by the host's monotonic clock in
/// between; now() is its lowest end, so that nothing counts as over on a guess. Two pieces of
/// evidence that contradict each other mean that the log's clock stepped: then the newer one counts
/// alone. A record that stands higher in the log is newer.
///
/// After a step forward now() does not jump: records stamped before the step would be over too
/// early. It is held back by the length of the step, which wears off by a thousandth of the time
/// that passes, or with a step back.
///
/// One thread sets and reads it.
class LogClock {
public:
    /// An older report gives too little evidence about a record that is read.
    static constexpr Duration kUnasked = std::chrono::seconds{10};

    explicit LogClock(const Clock& clock) : clock_(clock) {}

    /// A delivery report of our own record, which was sent at `sent`: the append lies between then
    /// and now. Reports come in the order of their offsets.
    void reported(Timestamp append_time, Offset offset, MonoTime sent);

    /// A record that was read. One above the newest report was appended after that was sent, and
    /// before now; one below it gives no new evidence. If the newest report is older than kUnasked,
    /// the log's clock may have stepped back by nearly as much without a contradiction: until the
    /// next report "now" is then no later than the record's time.
    void read(Timestamp append_time, Offset offset);

    /// The lowest that the log's "now" can be. Until something was learned this is the host's wall
    /// clock, and nothing may expire by it.
    Timestamp now() const;

    /// now() as if the log's clock had not stepped since the newest report. For times that decide
    /// nothing: after a hang now() is no later than the first record that is read.
    Timestamp likely_now() const;

    /// True once a report came.
    bool learned() const { return learned_; }
    /// When the newest report came; MonoTime{} if none did.
    MonoTime reported_at() const { return reported_at_; }

private:
    /// Bounds of "log time minus monotonic time", which is constant but for drift and steps.
    struct Bounds {
        Duration low{};
        Duration high{};
    };
    static Timestamp at(MonoTime now, Duration log_minus_mono);
    Bounds bounds(MonoTime now) const;
    void narrow(const Bounds& evidence, MonoTime now);
    Duration held_back(MonoTime now) const;

    const Clock& clock_;
    bool learned_ = false;
    Bounds bounds_;                         ///< as of taken_
    Duration held_back_{};                  ///< of now(), as of taken_
    std::optional<Duration> doubtful_low_;  ///< since the newest report
    MonoTime taken_{};                      ///< when evidence was last taken
    Offset newest_ = -1;                    ///< of the newest report
    MonoTime sent_{};                       ///< when the record of the newest report was sent
    MonoTime reported_at_{};
};

/// For ages of records that are shown and decide nothing. The host's clock, which is exact to the
/// millisecond, where it agrees with the log's; else log time, which may be a little early.
inline constexpr Duration kClocksAgree = std::chrono::seconds{5};
inline Timestamp shown_now(Timestamp log_now, Timestamp wall) {
    const bool agree = wall - log_now <= kClocksAgree && log_now - wall <= kClocksAgree;
    return agree ? wall : log_now;
}

}  // namespace beckon::core
