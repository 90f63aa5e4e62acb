#include "edge/home/session/window.hpp"

#include <algorithm>

namespace beckon::edge {

void Window::free_place(Sent& message) {
    if (!message.counts) return;
    message.counts = false;
    --counted_;
    bytes_ -= message.bytes;
}

std::size_t Window::room(core::MonoTime now) {
    if (not_durable_.size() >= limits_.acked_not_durable) return 0;
    for (auto& message : sent_) {
        if (now - message.at >= limits_.patience) free_place(message);
    }
    if (counted_ >= limits_.messages || sent_.size() >= limits_.unacked) return 0;
    if (counted_ > 0 && bytes_ >= limits_.bytes) return 0;
    return std::min(limits_.messages - counted_, limits_.unacked - sent_.size());
}

bool Window::has_bytes_for(std::size_t frame_bytes) const {
    return counted_ == 0 || bytes_ + frame_bytes <= limits_.bytes;
}

void Window::sent(const core::MessageKey& key, std::string_view version, std::size_t frame_bytes,
                  core::MonoTime now) {
    sent_.push_back({.key = key, .version = std::string{version}, .bytes = frame_bytes, .at = now});
    ++counted_;
    bytes_ += frame_bytes;
}

std::optional<core::MonoTime> Window::sent_at(const core::MessageKey& key) const {
    const auto it =
        std::find_if(sent_.begin(), sent_.end(), [&](const Sent& sent) { return sent.key == key; });
    if (it == sent_.end()) return std::nullopt;
    return it->at;
}

std::optional<core::MessageKey> Window::acked(std::string_view version) {
    const auto it = std::find_if(sent_.begin(), sent_.end(),
                                 [&](const Sent& sent) { return sent.version == version; });
    if (it == sent_.end()) return std::nullopt;
    const auto key = it->key;
    acked_.push_back(it->at);
    free_place(*it);
    sent_.erase(it);
    return key;
}

std::optional<core::MessageKey> Window::nacked(std::string_view version) {
    const auto it = std::find_if(sent_.begin(), sent_.end(),
                                 [&](const Sent& sent) { return sent.version == version; });
    if (it == sent_.end()) return std::nullopt;
    const auto key = it->key;
    free_place(*it);
    sent_.erase(it);
    return key;
}

bool Window::forget(const core::MessageKey& key) {
    const auto it =
        std::find_if(sent_.begin(), sent_.end(), [&](const Sent& sent) { return sent.key == key; });
    if (it == sent_.end()) return false;
    free_place(*it);
    sent_.erase(it);
    return true;
}

bool Window::durable(const core::MessageKey& key) {
    const bool was_full = not_durable_.size() >= limits_.acked_not_durable;
    return not_durable_.erase(key) > 0 && was_full;
}

}  // namespace beckon::edge
