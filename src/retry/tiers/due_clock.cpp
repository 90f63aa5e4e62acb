#include "retry/tiers/due_clock.hpp"

namespace beckon::retry {

using core::Duration;

void DueClock::appended(core::Timestamp append_time, core::MonoTime sent, core::MonoTime seen) {
    const Duration least = append_time.time_since_epoch() - seen.time_since_epoch();
    // The append came after `sent`, so the log's time cannot be ahead of this by more.
    const Duration most =
        append_time.time_since_epoch() - sent.time_since_epoch() + std::chrono::milliseconds{1};
    const bool contradicted = offset_ && *offset_ > most;
    if (offset_ && !contradicted && least < *offset_ && seen - proved_ < kProofLife) return;
    offset_ = least;
    proved_ = seen;
}

void DueClock::read(core::Timestamp append_time) {
    const auto now = clock_.mono();
    const Duration least = append_time.time_since_epoch() - now.time_since_epoch();
    if (!offset_ || least <= *offset_)
        return;  // before the first report a record proves too little
    offset_ = least;
    proved_ = now;
}

std::optional<Duration> DueClock::until(core::Timestamp due) const {
    if (!offset_) return std::nullopt;
    return due.time_since_epoch() - (clock_.mono().time_since_epoch() + *offset_);
}

}  // namespace beckon::retry
