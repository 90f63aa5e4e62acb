#include "retry/role/change_turns.hpp"

#include "core/contain.hpp"

#include <utility>

namespace beckon::retry {

void ChangeTurns::take(const std::string& webhook, Change change) {
    const auto [at, first] = webhooks_.try_emplace(webhook);
    if (first) return begin(webhook, change);
    at->second.waiting.push_back(std::move(change));
}

/// The last copy of the turn may be in a callback that another thread destroys. If it is here, and
/// no change waits, the webhook is free at once.
void ChangeTurns::begin(const std::string& webhook, const Change& change) {
    const auto number = ++begun_;
    webhooks_.at(webhook).under_way = number;
    const Turn turn{
        nullptr, [this, remote = lifetime_.remote(), webhook, number](const void* /*none*/) {
            core::contain(
                "retry", [&] { remote.post([this, webhook, number] { ended(webhook, number); }); });
        }};
    core::contain("retry", [&] { change(turn); });
    const bool over = turn.use_count() == 1;
    if (over && webhooks_.at(webhook).waiting.empty()) webhooks_.erase(webhook);
}

void ChangeTurns::ended(const std::string& webhook, std::uint64_t number) {
    const auto found = webhooks_.find(webhook);
    if (found == webhooks_.end() || found->second.under_way != number) return;
    auto& waiting = found->second.waiting;
    if (waiting.empty()) return void(webhooks_.erase(found));
    const auto next = std::move(waiting.front());
    waiting.pop_front();
    begin(webhook, next);
}

}  // namespace beckon::retry
