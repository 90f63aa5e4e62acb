#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "retry/dispatch/recent_attempts.hpp"
#include "retry/schedule/fair_share.hpp"

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

/// For whoever posts an event and wants to know at once how its first attempts went
/// (docs/webhooks.md#first-attempts). It says which deliveries it expects before the log has the
/// event, since an attempt may be quicker than the log's report. One thread, the executor's, but
/// for any().
class FirstAttempts {
public:
    /// Deliveries that are expected, of all events together.
    static constexpr std::size_t kExpectedMax = 10'000;

    struct Seen {
        std::string webhook;
        Attempt attempt;
    };
    /// What was attempted in time, in that order; `all`: nothing else was expected.
    using Answer = std::function<void(const std::vector<Seen>& seen, bool all)>;

    explicit FirstAttempts(core::Executor& executor) : executor_(executor), lifetime_(executor) {}

    /// Whether an owner may expect so many more: each has a FairShare of kExpectedMax, a half.
    /// Who expects nothing may always expect a thousand, as far as there are.
    bool has_capacity(const std::string& owner, std::size_t deliveries) const;
    /// A number for the next two. The deliveries have space.
    std::uint64_t expect(const std::string& owner, std::set<std::string> deliveries);
    /// The log did not take the event.
    void forget(std::uint64_t number);
    /// It did: answers once all deliveries were attempted, after `wait` at the latest; now, if
    /// there is nothing to wait for.
    void answer(std::uint64_t number, core::Duration wait, Answer reported);

    /// Whether anybody expects anything. Any thread.
    bool any() const { return open_ > 0; }
    /// An attempt has ended.
    void attempted(const std::string& webhook, const Attempt& attempt);
    /// A stop: whoever waits is answered with what there is, and nobody waits any more.
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
    void give_back(const std::string& owner, std::size_t deliveries);

    core::Executor& executor_;
    Events events_;
    std::atomic<std::size_t> open_ = 0;  ///< size of events_
    /// Of each delivery; an event that is posted twice is expected twice.
    std::set<std::pair<std::string, std::uint64_t>> by_delivery_;
    FairShare expected_{kExpectedMax};
    std::map<std::string, std::size_t> by_owner_;
    std::uint64_t next_ = 0;
    bool ended_ = false;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
