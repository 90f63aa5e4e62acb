#include "retry/tiers/due_clock.hpp"

namespace beckon::retry {

using core::Duration;

void DueClock::believe(Duration offset, const Proof& proof, core::MonoTime seen) {
    offset_ = offset;
    proved_ = seen;
    proved_by_ = proof.offset;
}

bool DueClock::remember(const Proof& proof) {
    if (newest_ && proof.offset <= newest_->offset) return false;
    const bool set_back = newest_ && proof.time < newest_->time;
    newest_ = proof;
    return set_back;
}

void DueClock::appended(const Proof& proof, core::MonoTime sent, core::MonoTime seen) {
    if (is_old(proof)) return;
    remember(proof);
    const Duration least = proof.time.time_since_epoch() - seen.time_since_epoch();
    // The append came after `sent`, so the log's time cannot be ahead of this by more.
    const Duration most =
        proof.time.time_since_epoch() - sent.time_since_epoch() + std::chrono::milliseconds{1};
    const bool contradicted = offset_ && *offset_ > most;
    if (offset_ && !contradicted && least < *offset_ && seen - proved_ < kProofLife) return;
    believe(least, proof, seen);
}

void DueClock::read(const Proof& proof) {
    // Before the first report a record proves too little.
    if (!offset_ || is_old(proof)) return;
    const bool set_back = remember(proof);
    const auto now = clock_.mono();
    const Duration least = proof.time.time_since_epoch() - now.time_since_epoch();
    if (set_back || least > *offset_) believe(least, proof, now);
}

std::optional<Duration> DueClock::until(core::Timestamp due) const {
    if (!offset_) return std::nullopt;
    return due.time_since_epoch() - (clock_.mono().time_since_epoch() + *offset_);
}

}  // namespace beckon::retry
