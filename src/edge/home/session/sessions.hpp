#pragma once

#include "core/assert.hpp"
#include "edge/home/session/session.hpp"

#include <cstddef>
#include <map>
#include <unordered_map>
#include <vector>

namespace beckon::edge {

/// The sessions of one partition: at most one for each UAID.
class Sessions {
public:
    explicit Sessions(const SessionLimits& limits) : limits_(limits) {}

    /// Begins a session of a UAID that has none. `offered`: the UAID that the front knows the
    /// client by, and routes with until it receives another one.
    Session& open(const SessionId& id, const core::Uaid& uaid, const core::Uaid& offered) {
        const auto [at, is_new] = by_uaid_.try_emplace(uaid, id, uaid, limits_);
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
    void erase(const core::Uaid& uaid) {
        const auto at = by_uaid_.find(uaid);
        if (at == by_uaid_.end()) return;
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

    std::size_t size() const { return by_uaid_.size(); }
    auto begin() const { return by_uaid_.begin(); }
    auto end() const { return by_uaid_.end(); }

private:
    const SessionLimits limits_;
    std::unordered_map<core::Uaid, Session> by_uaid_;
    /// Sessions that got another UAID than they offered: their front may not know yet.
    std::map<SessionId, core::Uaid> renamed_;
};

}  // namespace beckon::edge
