#include "ingest/call/sender_gate.hpp"

#include "core/base64url.hpp"

#include <algorithm>
#include <utility>

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
    const auto limit = rules_.limit(kind);
    const std::scoped_lock lock{mutex_};
    auto& limiter = limiters_[kind];
    if (std::exchange(limiter.per_second, limit) != limit) limiter.buckets.reset();
    if (limit == 0) return {};
    if (!limiter.buckets) {
        limiter.buckets.emplace(core::TokenRate{
            .at_once = limit, .each = core::Duration{std::chrono::seconds{1}} / limit});
    }
    core::Bytes16 key{};
    std::copy_n(name.begin(), key.size(), key.begin());
    const auto wait = limiter.buckets->wait(key, now);
    if (!wait) {
        limiter.buckets->take(key, now);
        return {};
    }
    return {.answer = Answer::too_many,
            .kind = kind,
            .wait = std::chrono::ceil<std::chrono::seconds>(*wait)};
}

}  // namespace beckon::ingest
