#pragma once

#include "edge/home/session/session.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace beckon::edge {

/// The sessions of one partition: at most one for each UAID.
class Sessions {
public:
    explicit Sessions(const SessionLimits& limits) : limits_(limits) {}

    /// Begins a session of a UAID that has none. `offered`: the UAID that the front knows the
    /// client by, and routes with until it receives another one.
    Session& open(const SessionId& id, const core::Uaid& uaid, const core::Uaid& offered);
    /// By the ids of a front; nullptr: no such session.
    Session* find(const SessionId& id, const core::Uaid& offered);
    /// nullptr: the client is not attached.
    Session* of(const core::Uaid& uaid);
    void erase(const core::Uaid& uaid);
    void clear();
    /// The UAIDs of those whose front is on that node.
    std::vector<core::Uaid> of_front(const core::NodeId& front) const;

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
