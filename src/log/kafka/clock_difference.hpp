#pragma once

#include "core/clock.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace beckon::log::kafka {

/// How far the host's wall clock is from the brokers', as the last confirmed record shows: the
/// broker stamped it between its sending and its report. Thread-safe.
class ClockDifference {
public:
    /// An older proof is forgotten.
    static constexpr std::chrono::minutes kProofLife{10};

    explicit ClockDifference(const core::Clock& clock) : clock_(clock) {}

    /// A record that was sent `took` ago has the append time `appended`, which the broker gave it.
    void learn(core::Timestamp appended, core::Duration took);
    /// By how much the host's clock is ahead; negative: behind; zero: they agree. nullopt: no
    /// record was confirmed recently.
    std::optional<core::Duration> ahead() const;

private:
    static constexpr std::int64_t kNever = -1;
    const core::Clock& clock_;
    std::atomic<std::int64_t> ahead_ms_{0};
    std::atomic<std::int64_t> learned_ms_{kNever};  ///< when, by the monotonic clock
};

}  // namespace beckon::log::kafka
