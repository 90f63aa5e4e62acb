#include "edge/waiting_survey.hpp"

#include "core/logger.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge {

WaitingSurvey::WaitingSurvey(const store::EdgeStore& store, core::Executor& executor,
                             std::function<core::Timestamp()> now, WaitingMetrics metrics,
                             std::function<std::set<core::Partition>()> served)
    : store_(store),
      executor_(executor),
      now_(std::move(now)),
      metrics_(metrics),
      served_(std::move(served)),
      lifetime_(executor) {
    begin();
}

void WaitingSurvey::begin() {
    left_ = served_();
    std::erase_if(counted_, [&](const auto& each) { return !left_.contains(each.first); });
    go_on();
}

void WaitingSurvey::go_on() {
    const bool done = count_a_piece();
    if (done) report();
    executor_.post_after(done ? kCountEvery : kPieceEvery,
                         lifetime_.guard([this, done] { done ? begin() : go_on(); }));
}

bool WaitingSurvey::count_a_piece() {
    if (left_.empty()) return true;
    if (!counting_) counting_.emplace(store_.count_waiting(*left_.begin(), now_()));
    const auto all_seen = step();
    if (!all_seen) keep_last(all_seen.error());
    if (all_seen && !*all_seen) return false;
    counting_.reset();
    left_.erase(left_.begin());
    return left_.empty();
}

/// True once the partition is counted.
core::Result<bool> WaitingSurvey::step() {
    auto all_seen = counting_->step(kPieceRows);
    if (!all_seen || !*all_seen) return all_seen;
    const auto oldest = counting_->oldest();
    if (!oldest) return core::fail(oldest.error());
    counted_[*left_.begin()] = {.messages = counting_->messages(), .oldest = *oldest};
    return true;
}

/// The fold of the partition meets the same rows, and does something about it.
void WaitingSurvey::keep_last(const core::Error& why) {
    auto& last = counted_[*left_.begin()];
    if (std::exchange(last.stale, true)) return;
    core::log_warn("edge", "waiting_not_counted",
                   {{"partition", *left_.begin()}, {"why", why.message}});
}

void WaitingSurvey::report() {
    std::uint64_t messages = 0;
    std::optional<core::Timestamp> oldest;
    for (const auto& [partition, waiting] : counted_) {
        messages += waiting.messages;
        if (waiting.oldest) oldest = oldest ? std::min(*oldest, *waiting.oldest) : waiting.oldest;
    }
    const auto age = oldest ? std::max(now_() - *oldest, {}) : core::Duration::zero();
    metrics_.messages->Set(static_cast<double>(messages));
    metrics_.oldest_seconds->Set(std::chrono::duration<double>(age).count());
}

}  // namespace beckon::edge
