#include "retry/dispatch/first_attempts.hpp"

#include "core/assert.hpp"

namespace beckon::retry {

std::uint64_t FirstAttempts::expect(std::set<std::string> deliveries) {
    BECKON_ASSERT(has_room(deliveries.size()), "whoever expects deliveries has asked for room");
    const auto number = next_++;
    expected_ += deliveries.size();
    for (const auto& delivery : deliveries) by_delivery_.emplace(delivery, number);
    events_.emplace(number, Event{.missing = std::move(deliveries)});
    return number;
}

void FirstAttempts::forget(std::uint64_t number) {
    const auto found = events_.find(number);
    if (found != events_.end()) close(found);
}

void FirstAttempts::answer(std::uint64_t number, core::Duration wait, Answer told) {
    const auto found = events_.find(number);
    if (found == events_.end()) return told({}, false);  // it was forgotten
    found->second.answer = std::move(told);
    if (found->second.missing.empty() || ended_) return close(found);
    executor_.post_after(wait, lifetime_.guard([this, number] { forget(number); }));
}

void FirstAttempts::attempted(const std::string& webhook, const Attempt& attempt) {
    for (auto at = by_delivery_.lower_bound({attempt.delivery, 0});
         at != by_delivery_.end() && at->first == attempt.delivery;) {
        const auto found = events_.find(at->second);
        at = by_delivery_.erase(at);
        --expected_;
        auto& event = found->second;
        event.missing.erase(attempt.delivery);
        event.seen.push_back({webhook, attempt});
        if (event.missing.empty() && event.answer) close(found);
    }
}

void FirstAttempts::end() {
    ended_ = true;
    for (auto at = events_.begin(); at != events_.end();) {
        const auto event = at++;
        if (event->second.answer) close(event);
    }
}

void FirstAttempts::close(Events::iterator event) {
    for (const auto& delivery : event->second.missing) {
        by_delivery_.erase({delivery, event->first});
    }
    expected_ -= event->second.missing.size();
    const auto done = std::move(event->second);
    events_.erase(event);
    if (done.answer) done.answer(done.seen, done.missing.empty());
}

}  // namespace beckon::retry
