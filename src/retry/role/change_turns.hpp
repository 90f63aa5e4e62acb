#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"

#include <cstddef>
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
    /// Of a change that is under way. Its last copy ends it, whatever has become of the change.
    class Turn {
    public:
        Turn(ChangeTurns& of, std::string webhook);
        ~Turn();  ///< any thread
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

        /// The change was answered: the next one may begin, after this call has returned.
        /// Idempotent.
        void end();

    private:
        friend class ChangeTurns;
        ChangeTurns& turns_;
        const core::Lifetime::Remote remote_;
        const core::Lifetime::Term term_;
        const std::string webhook_;
        bool under_way_ = false;
    };
    using TurnPtr = std::shared_ptr<Turn>;
    /// An exception from it is contained, and ends its turn.
    using Change = std::function<void(const TurnPtr&)>;

    explicit ChangeTurns(core::Executor& executor) : executor_(executor), lifetime_(executor) {}

    /// Whether a change of the webhook is under way.
    bool must_wait(const std::string& webhook) const { return waiting_.contains(webhook); }
    /// Makes the change: now, or when all earlier ones of its webhook have ended.
    void take(const std::string& webhook, Change change);
    /// The number of webhooks with a change under way.
    std::size_t under_way() const { return waiting_.size(); }

private:
    struct Waiting {
        TurnPtr turn;
        Change change;
    };
    static void begin(const TurnPtr& turn, const Change& change);
    void ended(const std::string& webhook);
    void next(const std::string& webhook);

    core::Executor& executor_;
    /// By webhook with a change under way: those that wait for it.
    std::map<std::string, std::deque<Waiting>> waiting_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
