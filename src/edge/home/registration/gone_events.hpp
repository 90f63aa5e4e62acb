#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "core/subscription_gone.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <deque>

namespace beckon::edge {

/// Tells application servers of the end of their subscriptions
/// (docs/webhooks.md#beckons-own-events). A client may have a thousand of them and go with hundreds
/// of others, and the publisher is that of marks, leases and registers, which must not find it
/// full: so a bounded number is under way, and the rest waits here. What finds no room, or what the
/// log does not take, is not told from here: the next message for the subscription is answered 410,
/// and that is told too. On the home's thread.
class GoneEvents {
public:
    /// Events without the log's report.
    static constexpr std::size_t kInFlightMax = 64;
    static constexpr std::size_t kWaitingMax = 10'000;

    /// `partitions`: of the installation.
    GoneEvents(core::Partition partitions, log::Publisher& publisher, core::Executor& executor)
        : partitions_(partitions), publisher_(publisher), lifetime_(executor) {}

    void tell(core::SubscriptionGone gone);
    /// What waits is forgotten.
    void stop();

private:
    void pump();
    void publish(const core::SubscriptionGone& gone);
    void log_left_out();

    const core::Partition partitions_;
    log::Publisher& publisher_;
    std::deque<core::SubscriptionGone> waiting_;
    std::size_t in_flight_ = 0;
    std::size_t left_out_ = 0;  ///< found no room since something last waited
    core::Lifetime lifetime_;   ///< renewed by stop(): reports are stale then
};

}  // namespace beckon::edge
