#include "edge/waiting_survey.hpp"

#include "core/logger.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge {

WaitingSurvey::WaitingSurvey(const store::EdgeStore& store, core::Executor& executor,
                             const core::Clock& clock, WaitingMetrics metrics,
                             std::function<std::set<core::Partition>()> served)
    : store_(store),
      executor_(executor),
      clock_(clock),
      metrics_(metrics),
      served_(std::move(served)),
      lifetime_(executor) {
    begin();
}

void WaitingSurvey::begin() {
    left_ = served_();
    counting_.reset();
    messages_ = 0;
    oldest_.reset();
    go_on();
}

void WaitingSurvey::go_on() {
    const bool done = count_a_piece();
    if (done) report();
    executor_.post_after(done ? kCountEvery : kPieceEvery,
                         lifetime_.guard([this, done] { done ? begin() : go_on(); }));
}

bool WaitingSurvey::count_a_piece() {
    if (!counting_) {
        if (left_.empty()) return true;
        counting_.emplace(store_.count_waiting(*left_.begin(), clock_.wall()));
        left_.erase(left_.begin());
    }
    const auto all_seen = counting_->step(kPieceRows);
    if (!all_seen) {
        // The fold of the partition meets the same rows, and does something about it.
        core::log_debug("edge", "waiting_not_counted", {{"why", all_seen.error().message}});
        counting_.reset();
    } else if (*all_seen) {
        add(*counting_);
        counting_.reset();
    }
    return !counting_ && left_.empty();
}

void WaitingSurvey::add(const store::WaitingCount& counted) {
    messages_ += counted.messages();
    const auto oldest = counted.oldest();
    if (!oldest || !*oldest) return;
    oldest_ = oldest_ ? std::min(*oldest_, **oldest) : **oldest;
}

void WaitingSurvey::report() {
    const auto age = oldest_ ? std::max(clock_.wall() - *oldest_, {}) : core::Duration::zero();
    metrics_.messages->Set(static_cast<double>(messages_));
    metrics_.oldest_seconds->Set(std::chrono::duration<double>(age).count());
}

}  // namespace beckon::edge
