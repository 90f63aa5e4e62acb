#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "retry/home/recent_attempts.hpp"
#include "retry/owner_budget.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace beckon::retry {

/// The first attempts of an event, for a caller that posts it and waits for them
/// (docs/webhooks.md#first-attempts). The caller names the deliveries that it expects before the
/// log has the event, since an attempt may be quicker than the log's report. One thread, the
/// executor's, but for any().
class FirstAttempts {
public:
    /// Deliveries that are expected, of all events together.
    static constexpr std::size_t kExpectedMax = 10'000;

    struct Seen {
        std::string webhook;
        Attempt attempt;
    };
    /// The deliveries that were attempted in time, in that order; `all`: no other was expected.
    using Answer = std::function<void(const std::vector<Seen>& seen, bool all)>;

    explicit FirstAttempts(core::Executor& executor) : executor_(executor), lifetime_(executor) {}

    /// True if an owner may expect so many more: each has a share of kExpectedMax, a half of what
    /// is free. An owner that expects none may always expect a thousand, as far as they are free.
    bool has_capacity(const std::string& owner, std::size_t deliveries) const;
    /// Expects deliveries, for which there is capacity; the number is for the next two calls.
    std::uint64_t expect(const std::string& owner, std::set<std::string> deliveries);
    /// The log did not take the event: expects nothing of it.
    void forget(std::uint64_t number);
    /// The log took the event: answers once all deliveries were attempted, after `wait` at the
    /// latest; at once if none is expected.
    void answer(std::uint64_t number, core::Duration wait, Answer reported);

    /// True if any delivery is expected. Any thread.
    bool any() const { return open_ > 0; }
    /// An attempt has ended.
    void attempted(const std::string& webhook, const Attempt& attempt);
    /// Stops: answers all waiting callers with the attempts so far; later ones do not wait.
    void end();

private:
    struct Event {
        std::string owner;
        std::set<std::string> missing;
        std::vector<Seen> seen{};
        Answer answer{};
    };
    using Events = std::map<std::uint64_t, Event>;
    void close(Events::iterator event);

    core::Executor& executor_;
    Events events_;
    std::atomic<std::size_t> open_ = 0;  ///< size of events_
    /// The numbers that expect each delivery; an event that is posted twice is expected twice.
    std::set<std::pair<std::string, std::uint64_t>> by_delivery_;
    OwnerBudget<NoWork, 1> expected_{{{{kExpectedMax, 2}}}};
    std::uint64_t next_ = 0;
    bool ended_ = false;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
