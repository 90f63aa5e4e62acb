#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <optional>

namespace beckon::retry {

/// The lowest possible "now" of a partition's log: a delivery that is due by this clock is due,
/// even if the host's wall clock disagrees. An append whose report came back at `seen` happened
/// before it, so the log's time was at least its append time then; between such proofs the host's
/// monotonic clock goes on. The best proof of the last minute counts, and a newer one that
/// contradicts it (the broker's clock was set back) replaces it. A record before the newest proof
/// proves nothing, and an append time below that of the newest proof shows that the clock was set
/// back: then the log's time may be as low as that. Nothing is due before the first proof. One
/// thread.
class DueClock {
public:
    explicit DueClock(const core::Clock& clock) : clock_(clock) {}

    /// An append: where it stands, and its time.
    struct Proof {
        core::Offset offset = 0;
        core::Timestamp time{};
    };

    /// Our own append: it was sent at `sent`, and its report came at `seen`.
    void appended(const Proof& proof, core::MonoTime sent, core::MonoTime seen) {
        if (is_old(proof)) return;
        remember(proof);
        const core::Duration least = proof.time.time_since_epoch() - seen.time_since_epoch();
        // The append came after `sent`, so the log's time cannot be ahead of this by more.
        const core::Duration most =
            proof.time.time_since_epoch() - sent.time_since_epoch() + std::chrono::milliseconds{1};
        const bool contradicted = offset_ && *offset_ > most;
        if (offset_ && !contradicted && least < *offset_ && seen - proved_ < kProofLife) return;
        believe(least, proof, seen);
    }
    /// Its report has just come.
    void appended(const Proof& proof, core::MonoTime sent) { appended(proof, sent, clock_.mono()); }
    /// A record of another process, just read.
    void read(const Proof& proof) {
        // Before the first report a record proves too little.
        if (!offset_ || is_old(proof)) return;
        const bool set_back = remember(proof);
        const auto now = clock_.mono();
        const core::Duration least = proof.time.time_since_epoch() - now.time_since_epoch();
        if (set_back || least > *offset_) believe(least, proof, now);
    }

    /// How long until `due`; zero or less: now. nullopt: not known yet.
    std::optional<core::Duration> until(core::Timestamp due) const {
        if (!offset_) return std::nullopt;
        return due.time_since_epoch() - (clock_.mono().time_since_epoch() + *offset_);
    }

private:
    static constexpr core::Duration kProofLife = std::chrono::minutes{1};

    /// It stands before what offset_ comes from.
    bool is_old(const Proof& proof) const { return offset_ && proof.offset < proved_by_; }
    void believe(core::Duration offset, const Proof& proof, core::MonoTime seen) {
        offset_ = offset;
        proved_ = seen;
        proved_by_ = proof.offset;
    }
    /// True: it shows that the broker's clock was set back.
    bool remember(const Proof& proof) {
        if (newest_ && proof.offset <= newest_->offset) return false;
        const bool set_back = newest_ && proof.time < newest_->time;
        newest_ = proof;
        return set_back;
    }

    const core::Clock& clock_;
    std::optional<core::Duration> offset_;  ///< log time minus monotonic time, at least
    core::MonoTime proved_{};               ///< when
    core::Offset proved_by_ = 0;            ///< by the record that stands there
    std::optional<Proof> newest_;           ///< by its place in the log
};

}  // namespace beckon::retry
