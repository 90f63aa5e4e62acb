#include "edge/home/session/sessions.hpp"

#include "core/assert.hpp"

namespace beckon::edge {

Session& Sessions::open(const SessionId& id, const core::Uaid& uaid, const core::Uaid& offered) {
    const auto [at, is_new] = by_uaid_.try_emplace(uaid, id, uaid, limits_);
    BECKON_ASSERT(is_new, "a UAID has one session at a time");
    if (uaid != offered) renamed_[id] = uaid;
    return at->second;
}

Session* Sessions::find(const SessionId& id, const core::Uaid& offered) {
    auto* session = of(offered);
    if (!session || session->id != id) {
        const auto now = renamed_.find(id);
        session = now == renamed_.end() ? nullptr : of(now->second);
    }
    return session && session->id == id ? session : nullptr;
}

Session* Sessions::of(const core::Uaid& uaid) {
    const auto at = by_uaid_.find(uaid);
    return at == by_uaid_.end() ? nullptr : &at->second;
}

void Sessions::erase(const core::Uaid& uaid) {
    const auto at = by_uaid_.find(uaid);
    if (at == by_uaid_.end()) return;
    renamed_.erase(at->second.id);
    by_uaid_.erase(at);
}

std::vector<core::Uaid> Sessions::of_front(const core::NodeId& front) const {
    std::vector<core::Uaid> out;
    for (const auto& [uaid, session] : by_uaid_) {
        if (session.id.front == front) out.push_back(uaid);
    }
    return out;
}

void Sessions::clear() {
    by_uaid_.clear();
    renamed_.clear();
}

}  // namespace beckon::edge
