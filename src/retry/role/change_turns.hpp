#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace beckon::retry {

/// Changes of one webhook that this node makes come one after the other: a change reads the
/// webhook, and writes all of it, so that two at a time would lose what the other one wrote. A
/// change that comes while another one of its webhook is under way waits until that one's turn has
/// ended. Changes of different webhooks do not wait for each other.
///
/// Each change that waits belongs to a request, which holds a place in the RequestQueue meanwhile:
/// that bounds their number and their bytes, and an owner's share of both. (The node's own changes
/// are at most one for each webhook.)
///
/// Made, used and destroyed on the executor's thread, except for the end of a Turn. Changes that
/// wait when it is destroyed are never made.
class ChangeTurns {
public:
    /// Of a change that is under way. Its last copy ends it, on any thread, whatever has become of
    /// the change: one that waits for it begins in a later turn of the executor.
    using Turn = std::shared_ptr<const void>;
    /// An exception from it is contained, and ends its turn.
    using Change = std::function<void(const Turn&)>;

    explicit ChangeTurns(core::Executor& executor) : lifetime_(executor) {}

    /// Whether a change of the webhook is under way.
    bool must_wait(const std::string& webhook) const { return webhooks_.contains(webhook); }
    /// Makes the change: now, or when all earlier ones of its webhook have ended.
    void take(const std::string& webhook, Change change);
    /// The number of webhooks with a change under way.
    std::size_t under_way() const { return webhooks_.size(); }

private:
    void begin(const std::string& webhook, const Change& change);
    void ended(const std::string& webhook, std::uint64_t number);

    struct OfWebhook {
        std::uint64_t under_way = 0;  ///< number of the change that is
        std::deque<Change> waiting;
    };
    std::map<std::string, OfWebhook> webhooks_;  ///< with a change under way
    std::uint64_t begun_ = 0;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
