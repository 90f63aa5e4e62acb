#pragma once

#include "core/clock.hpp"

#include <algorithm>

namespace beckon::retry {

/// Keeps attempts away from a receiver that fails all of them. Opens after kFailures in a row, lets
/// one attempt through when its time is over, closes at the first success, and opens for twice as
/// long when that one fails. Deliveries that come while it is open wait in a tier without spending
/// an attempt. Each attempt that has started ends with one of the calls below start(). Pure; one
/// thread.
class Breaker {
public:
    static constexpr int kFailures = 10;
    static constexpr core::Duration kOpenLeast = std::chrono::seconds{30};
    static constexpr core::Duration kOpenMost = std::chrono::minutes{10};

    /// How long a delivery is to wait; zero: an attempt may start. Call start() with the attempt
    /// that tries an open breaker.
    core::Duration closed_in(core::MonoTime now) const {
        if (failures_ < kFailures) return {};
        if (trying_) return std::max<core::Duration>(open_for_ / 2, kOpenLeast / 2);
        return std::max<core::Duration>(open_until_ - now, {});
    }
    void start() { trying_ = failures_ >= kFailures; }

    void succeeded() { *this = {}; }
    void failed(core::MonoTime now) {
        ++failures_;
        trying_ = false;
        if (failures_ < kFailures) return;
        if (now < open_until_) return;  // started before it opened
        open_for_ = std::clamp<core::Duration>(2 * open_for_, kOpenLeast, kOpenMost);
        open_until_ = now + open_for_;
    }
    /// The attempt has ended and shows neither: the next one may try.
    void undecided() { trying_ = false; }
    bool open() const { return failures_ >= kFailures; }

private:
    int failures_ = 0;  ///< in a row
    bool trying_ = false;
    core::Duration open_for_{};
    core::MonoTime open_until_{};
};

}  // namespace beckon::retry
