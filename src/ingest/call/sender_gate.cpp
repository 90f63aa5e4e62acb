#include "ingest/call/sender_gate.hpp"

#include "core/base64url.hpp"

#include <algorithm>
#include <array>

namespace beckon::ingest {

using core::SenderKind;

SenderGate::Judgement SenderGate::admit(const core::Uaid& uaid, const core::ChannelId& channel,
                                        const std::optional<core::Sha256>& vapid,
                                        core::MonoTime now) {
    if (!rules_.any()) return {};
    if (vapid) {
        const auto judgement = judge(SenderKind::vapid, *vapid, now);
        if (judgement.answer != Answer::admitted) return judgement;
    }
    return judge(SenderKind::subscription, core::subscription_hash(uaid, channel), now);
}

SenderGate::Judgement SenderGate::judge(SenderKind kind, const core::Sha256& name,
                                        core::MonoTime now) {
    const auto text = core::hex(name);
    if (rules_.blocks(kind, text)) return {.answer = Answer::blocked, .kind = kind};
    const auto limiter = limiter_of(kind);
    if (!limiter) return {};
    std::array<std::uint8_t, 16> key{};
    std::copy_n(name.begin(), key.size(), key.begin());
    const auto wait = limiter->try_spend_key(key, now);
    if (!wait) return {};
    return {.answer = Answer::too_many, .kind = kind, .wait = *wait};
}

/// A limit that has changed begins anew.
std::shared_ptr<net::RateLimiter> SenderGate::limiter_of(SenderKind kind) {
    const auto limit = rules_.limit(kind);
    const std::scoped_lock lock{mutex_};
    auto& known = limiters_[kind];
    if (known.per_second == limit) return known.limiter;
    known = {.per_second = limit, .limiter = nullptr};
    if (limit > 0) {
        known.limiter = std::make_shared<net::RateLimiter>(
            net::RateLimiter::Options{.limit = limit, .window = std::chrono::seconds{1}});
    }
    return known.limiter;
}

}  // namespace beckon::ingest
