#pragma once

#include "core/clock.hpp"

#include <optional>

namespace beckon::retry {

/// The lowest possible "now" of a partition's log: what is due by this clock is due, whatever the
/// host's wall clock says. An append whose report came back at `seen` happened before it, so the
/// log's time was at least its append time then; between such proofs the host's monotonic clock
/// goes on. The best proof of the last minute counts, and a newer one that contradicts it (the
/// broker's clock was set back) replaces it. Nothing is due before the first proof.
/// One thread.
class DueClock {
public:
    explicit DueClock(const core::Clock& clock) : clock_(clock) {}

    /// Our own append: it was sent at `sent`, and its report came at `seen`.
    void appended(core::Timestamp append_time, core::MonoTime sent, core::MonoTime seen);
    /// Its report has just come.
    void appended(core::Timestamp append_time, core::MonoTime sent) {
        appended(append_time, sent, clock_.mono());
    }
    /// A record that somebody wrote, just read.
    void read(core::Timestamp append_time);

    bool learned() const { return offset_.has_value(); }
    /// How long until `due`; zero or less: now. nullopt: not known yet.
    std::optional<core::Duration> until(core::Timestamp due) const;

private:
    static constexpr core::Duration kProofLife = std::chrono::minutes{1};

    const core::Clock& clock_;
    std::optional<core::Duration> offset_;  ///< log time minus monotonic time, at least
    core::MonoTime proved_{};               ///< when
};

}  // namespace beckon::retry
