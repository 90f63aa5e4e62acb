#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/token_buckets.hpp"
#include "core/tokens.hpp"
#include "fold/sender_rules.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace beckon::ingest {

/// Holds messages to the rules of the operator about senders: which are blocked, and how many
/// messages a second each VAPID key and each subscription may have at this endpoint. Thread-safe.
class SenderGate {
public:
    /// `rules` outlives it.
    explicit SenderGate(const fold::SenderRules& rules) : rules_(rules) {}

    enum class Answer : std::uint8_t { admitted, blocked, too_many };
    struct Judgement {
        Answer answer = Answer::admitted;
        core::SenderKind kind = core::SenderKind::vapid;  ///< which rule refuses it
        std::chrono::seconds wait{0};                     ///< of too_many
    };
    /// Judges a message, and counts it if it is admitted. `vapid`: SHA-256 of the sender's key,
    /// which was verified.
    Judgement admit(const core::Uaid& uaid, const core::ChannelId& channel,
                    const std::optional<core::Sha256>& vapid, core::MonoTime now);

private:
    struct Limiter {
        std::uint32_t per_second = 0;  ///< a limit that has changed begins anew; 0: none
        std::optional<core::TokenBuckets<core::Bytes16>> buckets{};
    };
    Judgement judge(core::SenderKind kind, const core::Sha256& name, core::MonoTime now);

    const fold::SenderRules& rules_;
    std::mutex mutex_;
    core::ByEnum<core::SenderKind, Limiter> limiters_;  ///< under mutex_
};

}  // namespace beckon::ingest
