#include "retry/role/change_turns.hpp"

#include "core/contain.hpp"

#include <utility>

namespace beckon::retry {

ChangeTurns::Turn::Turn(ChangeTurns& of, std::string webhook)
    : turns_(of),
      remote_(of.lifetime_.remote()),
      term_(of.lifetime_.term()),
      webhook_(std::move(webhook)) {}

/// The last copy may be in a callback that another thread destroys.
ChangeTurns::Turn::~Turn() {
    if (!under_way_) return;
    core::contain("retry", [this] {
        remote_.post([&turns = turns_, webhook = webhook_] { turns.ended(webhook); });
    });
}

void ChangeTurns::Turn::end() {
    if (!under_way_ || term_.over()) return;
    turns_.ended(webhook_);
    under_way_ = false;
}

void ChangeTurns::take(const std::string& webhook, Change change) {
    auto turn = std::make_shared<Turn>(*this, webhook);
    const auto [at, first] = waiting_.try_emplace(webhook);
    if (first) return begin(turn, change);
    at->second.push_back({std::move(turn), std::move(change)});
}

void ChangeTurns::begin(const TurnPtr& turn, const Change& change) {
    turn->under_way_ = true;
    core::contain("retry", [&] { change(turn); });
}

/// The thread has its other turns before the next change.
void ChangeTurns::ended(const std::string& webhook) {
    const auto found = waiting_.find(webhook);
    if (!found->second.empty()) {
        return executor_.post(lifetime_.guard([this, webhook] { next(webhook); }));
    }
    waiting_.erase(found);
}

void ChangeTurns::next(const std::string& webhook) {
    auto& queue = waiting_.find(webhook)->second;
    const auto one = std::move(queue.front());
    queue.pop_front();
    begin(one.turn, one.change);
}

}  // namespace beckon::retry
