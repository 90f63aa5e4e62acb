#pragma once

#include "core/assert.hpp"
#include "edge/home/session/session.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace beckon::edge {

/// The sessions of one partition: at most one for each UAID. For people it also remembers, in
/// memory, messages that were sent and that no session waits for: those that a session left
/// unanswered, and those with TTL 0.
class Sessions {
public:
    /// Messages that are remembered, and how many of them one session may leave.
    static constexpr std::size_t kRememberedMax = 1'024;
    static constexpr std::size_t kLeftMax = 64;
    struct Sent {
        core::MonoTime at{};
        bool acked = false;
    };

    /// `options` outlives this.
    explicit Sessions(const EdgeOptions& options) : options_(options) {}

    /// Begins a session of a UAID that has none. `offered`: the UAID that the front knows the
    /// client by, and routes with until it receives another one.
    Session& open(const SessionId& id, const core::Uaid& uaid, const core::Uaid& offered) {
        const auto [at, is_new] = by_uaid_.try_emplace(uaid, id, uaid, options_);
        BECKON_ASSERT(is_new, "a UAID has one session at a time");
        if (uaid != offered) renamed_[id] = uaid;
        return at->second;
    }
    /// By the ids of a front; nullptr: no such session.
    Session* find(const SessionId& id, const core::Uaid& offered) {
        auto* session = of(offered);
        if (!session || session->id != id) {
            const auto now = renamed_.find(id);
            session = now == renamed_.end() ? nullptr : of(now->second);
        }
        return session && session->id == id ? session : nullptr;
    }
    /// nullptr: the client is not attached.
    Session* of(const core::Uaid& uaid) {
        const auto at = by_uaid_.find(uaid);
        return at == by_uaid_.end() ? nullptr : &at->second;
    }
    const Session* of(const core::Uaid& uaid) const {
        const auto at = by_uaid_.find(uaid);
        return at == by_uaid_.end() ? nullptr : &at->second;
    }
    void erase(const core::Uaid& uaid) {
        const auto at = by_uaid_.find(uaid);
        if (at == by_uaid_.end()) return;
        for (const auto& [message, sent] : at->second.oldest_sent(kLeftMax)) {
            remember(message, sent);
        }
        renamed_.erase(at->second.id);
        by_uaid_.erase(at);
    }
    void clear() {
        by_uaid_.clear();
        renamed_.clear();
    }
    /// The UAIDs of those whose front is on that node.
    std::vector<core::Uaid> of_front(const core::NodeId& front) const {
        std::vector<core::Uaid> out;
        for (const auto& [uaid, session] : by_uaid_) {
            if (session.id.front == front) out.push_back(uaid);
        }
        return out;
    }

    void remember(const core::MessageKey& message, core::MonoTime sent) {
        if (!sent_before_.insert_or_assign(message, Sent{.at = sent}).second) return;
        in_order_.push_back(message);
        if (in_order_.size() <= kRememberedMax) return;
        sent_before_.erase(in_order_.front());
        in_order_.pop_front();
    }
    void acknowledged(const core::MessageKey& message) {
        if (const auto at = sent_before_.find(message); at != sent_before_.end()) {
            at->second.acked = true;
        }
    }
    /// nullopt: it was not sent by this process, or so long ago that others were since.
    std::optional<Sent> sent(const core::Uaid& client, const core::MessageKey& message) const {
        if (const auto session = by_uaid_.find(client); session != by_uaid_.end()) {
            if (const auto at = session->second.sent_at(message)) return Sent{.at = *at};
        }
        const auto before = sent_before_.find(message);
        return before == sent_before_.end() ? std::nullopt : std::optional{before->second};
    }

    std::size_t size() const { return by_uaid_.size(); }
    auto begin() const { return by_uaid_.begin(); }
    auto end() const { return by_uaid_.end(); }

private:
    const EdgeOptions& options_;
    std::unordered_map<core::Uaid, Session> by_uaid_;
    /// Sessions that got another UAID than they offered: their front may not know yet.
    std::map<SessionId, core::Uaid> renamed_;
    std::unordered_map<core::MessageKey, Sent> sent_before_;
    std::deque<core::MessageKey> in_order_;  ///< of sent_before_, the oldest first
};

}  // namespace beckon::edge
