#include "edge/home/session/window.hpp"

#include <algorithm>
#include <functional>

namespace beckon::edge {

void Window::free_place(Sent& message) {
    if (!message.counts) return;
    message.counts = false;
    --counted_;
    bytes_ -= message.bytes;
}

/// Frees the places of messages that were sent too long ago.
void Window::free_old(core::MonoTime now) {
    if (now < check_at_) return;
    check_at_ = core::MonoTime::max();
    for (auto& message : sent_) {
        if (!message.counts) continue;
        if (now - message.at >= limits_.patience) {
            free_place(message);
        } else {
            check_at_ = std::min(check_at_, message.at + limits_.patience);
        }
    }
}

std::size_t Window::bytes_limit() const {
    return counted_ < limits_.messages_min ? std::max(limits_.bytes, limits_.bytes_max)
                                           : limits_.bytes;
}

std::size_t Window::capacity(core::MonoTime now) {
    if (not_durable_.size() >= limits_.acked_not_durable) return 0;
    free_old(now);
    if (counted_ >= limits_.messages_max || sent_.size() >= limits_.unacked) return 0;
    if (counted_ > 0 && bytes_ >= bytes_limit()) return 0;
    const auto most = bytes_ < limits_.bytes ? limits_.messages_max : limits_.messages_min;
    return std::min(most - counted_, limits_.unacked - sent_.size());
}

/// Half of the least number of messages, and, where bytes are scarce, an eighth of them: else each
/// ack of a full window would cause a read for one message.
bool Window::worth_a_read(core::MonoTime now) {
    const auto free = capacity(now);
    if (free > 0 && sent_.empty()) return true;
    if (free * 2 < limits_.messages_min) return false;
    return counted_ < limits_.messages_min || bytes_ + limits_.bytes / 8 <= limits_.bytes;
}

bool Window::has_bytes_for(std::size_t frame_bytes) const {
    return counted_ == 0 || bytes_ + frame_bytes <= bytes_limit();
}

std::vector<std::pair<core::MessageKey, core::MonoTime>> Window::oldest(std::size_t most) const {
    std::vector<std::pair<core::MessageKey, core::MonoTime>> out;
    for (const auto& message : sent_) {
        if (out.size() == most) break;
        out.emplace_back(message.key, message.at);
    }
    return out;
}

void Window::sent(const core::MessageKey& key, std::string_view version, std::size_t frame_bytes,
                  core::MonoTime now) {
    sent_.push_back({.key = key,
                     .version = std::hash<std::string_view>{}(version),
                     .at = now,
                     .bytes = static_cast<std::uint32_t>(frame_bytes)});
    check_at_ = std::min(check_at_, now + limits_.patience);
    ++counted_;
    bytes_ += frame_bytes;
}

std::vector<Window::Sent>::iterator Window::find(std::string_view version) {
    return std::ranges::find(sent_, std::hash<std::string_view>{}(version), &Sent::version);
}

std::optional<core::MonoTime> Window::sent_at(const core::MessageKey& key) const {
    const auto it = std::ranges::find(sent_, key, &Sent::key);
    return it == sent_.end() ? std::nullopt : std::optional{it->at};
}

core::MessageKey Window::take(std::vector<Sent>::iterator it) {
    free_place(*it);
    const auto key = it->key;
    sent_.erase(it);
    return key;
}

std::optional<core::MessageKey> Window::acked(std::string_view version) {
    const auto it = find(version);
    if (it == sent_.end()) return std::nullopt;
    acked_.push_back(it->at);
    return take(it);
}

std::optional<core::MessageKey> Window::nacked(std::string_view version) {
    const auto it = find(version);
    return it == sent_.end() ? std::nullopt : std::optional{take(it)};
}

void Window::forget(const core::MessageKey& key) {
    const auto it = std::ranges::find(sent_, key, &Sent::key);
    if (it != sent_.end()) take(it);
}

}  // namespace beckon::edge
