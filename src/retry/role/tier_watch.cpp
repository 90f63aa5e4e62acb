#include "retry/role/tier_watch.hpp"

#include "core/lifetime.hpp"

#include <algorithm>
#include <set>

namespace beckon::retry {

using core::Duration;
using core::Offset;

TierWatch::TierWatch(log::EventLog& log, core::Executor& executor, const core::Clock& clock)
    : log_(log),
      clock_(clock),
      reports_(kGroup, log, executor, clock, kReportEvery),
      lifetime_(executor) {}

void TierWatch::update(const std::vector<TierState>& states,
                       const std::vector<log::GroupOffset>& fanned_out) {
    std::set<log::TopicPartition> served;
    auto offsets = fanned_out;
    waiting_.clear();
    for (const auto& state : states) {
        served.insert(state.where);
        offsets.push_back({state.where, state.low});
        auto& tier = waiting_[state.tier];
        const auto end = ends_.find(state.where);
        if (end != ends_.end()) {
            tier.records += std::max<Offset>(0, end->second - state.low - state.finished_above);
        }
        if (!state.until_due) continue;
        tier.oldest = std::max(tier.oldest, Duration{state.delay} - *state.until_due);
        tier.overdue = std::max(tier.overdue, -*state.until_due);
    }
    std::erase_if(ends_, [&](const auto& one) { return !served.contains(one.first); });
    if (!offsets.empty()) reports_.update(offsets);
    if (answers_missing_ == 0 && clock_.mono() >= ask_again_at_) ask_ends(states);
}

void TierWatch::ask_ends(const std::vector<TierState>& states) {
    answers_missing_ = states.size();
    ask_again_at_ =
        clock_.mono() + std::max<Duration>(kAskEvery, kPerQuery * static_cast<int>(states.size()));
    for (const auto& state : states) {
        core::ask_while(
            lifetime_,
            [&](core::Executor& executor, auto done) {
                log_.ends(state.where, executor, std::move(done));
            },
            [this, where = state.where](const core::Result<log::Ends>& ends) {
                --answers_missing_;
                if (ends) ends_[where] = ends->end;
            });
    }
}

}  // namespace beckon::retry
