#include "edge/home/session.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge {

std::size_t Identified::room(const WindowLimits& limits, core::MonoTime now) {
    if (acked_not_durable >= limits.acked_not_durable_max) return 0;
    std::size_t counted = 0;
    for (auto& message : sent_) {
        if (message.counts && now - message.at >= limits.patience) message.counts = false;
        if (message.counts) ++counted;
    }
    if (counted >= limits.window || sent_.size() >= limits.unacked_max) return 0;
    return std::min(limits.window - counted, limits.unacked_max - sent_.size());
}

void Identified::sent(core::MessageKey key, std::string_view version, core::MonoTime now) {
    sent_.push_back(Sent{key, std::string{version}, now, true});
}

bool Identified::was_sent(const core::MessageKey& key) const {
    return std::any_of(sent_.begin(), sent_.end(),
                       [&](const Sent& message) { return message.key == key; });
}

std::optional<core::MessageKey> Identified::acked(std::string_view version) {
    for (auto it = sent_.begin(); it != sent_.end(); ++it) {
        if (it->version != version) continue;
        const auto key = it->key;
        sent_.erase(it);
        return key;
    }
    return std::nullopt;
}

void Identified::nacked(std::string_view version) {
    for (auto& message : sent_) {
        if (message.version == version) message.counts = false;
    }
}

bool Identified::forget(const core::MessageKey& key) {
    return std::erase_if(sent_, [&](const Sent& message) { return message.key == key; }) > 0;
}

bool AwaitingHello::keep(std::string text) {
    if (early_.size() >= kEarlyFramesMax) return false;
    early_.push_back(std::move(text));
    return true;
}

}  // namespace beckon::edge
