#include "retry/home/first_attempts.hpp"

#include "core/assert.hpp"

namespace beckon::retry {

namespace {

constexpr std::size_t kExpected = 0;  ///< the resource of the budget
constexpr std::size_t kFirstRequest = 1'000;

}  // namespace

bool FirstAttempts::has_capacity(const std::string& owner, std::size_t deliveries) const {
    if (deliveries > expected_.free(kExpected)) return false;
    const auto held = expected_.holds(owner, kExpected);
    if (held == 0 && deliveries <= kFirstRequest) return true;
    return held + deliveries <= expected_.share(kExpected);
}

std::uint64_t FirstAttempts::expect(const std::string& owner, std::set<std::string> deliveries) {
    BECKON_ASSERT(deliveries.size() <= expected_.free(kExpected),
                  "callers check has_capacity() first");
    const auto number = next_++;
    expected_.hold(owner, kExpected, deliveries.size());
    for (const auto& delivery : deliveries) by_delivery_.emplace(delivery, number);
    events_.emplace(number, Event{.owner = owner, .missing = std::move(deliveries)});
    ++open_;
    return number;
}

void FirstAttempts::forget(std::uint64_t number) {
    const auto found = events_.find(number);
    if (found != events_.end()) close(found);
}

void FirstAttempts::answer(std::uint64_t number, core::Duration wait, Answer reported) {
    const auto found = events_.find(number);
    if (found == events_.end()) return reported({}, false);  // it was forgotten
    found->second.answer = std::move(reported);
    if (found->second.missing.empty() || ended_) return close(found);
    executor_.post_after(wait, lifetime_.guard([this, number] { forget(number); }));
}

void FirstAttempts::attempted(const std::string& webhook, const Attempt& attempt) {
    for (auto at = by_delivery_.lower_bound({attempt.delivery, 0});
         at != by_delivery_.end() && at->first == attempt.delivery;) {
        const auto found = events_.find(at->second);
        at = by_delivery_.erase(at);
        auto& event = found->second;
        expected_.give_back(event.owner, kExpected, 1);
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
    expected_.give_back(event->second.owner, kExpected, event->second.missing.size());
    const auto done = std::move(event->second);
    events_.erase(event);
    --open_;
    if (done.answer) done.answer(done.seen, done.missing.empty());
}

}  // namespace beckon::retry
