#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "core/token_buckets.hpp"
#include "log/event_log.hpp"
#include "records/subscription_gone.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace beckon::edge {

/// Notifies application servers of the end of their subscriptions
/// (docs/webhooks.md#beckons-own-events), where an owner has a webhook for that.
///
/// A client may register a channel with any application server's key and end it again, and each
/// event stays in the log for two weeks: so the number of events of each client, and for each
/// application server, is limited. A client may also have a thousand channels and go with hundreds
/// of others, and the publisher is that of read barriers, leases and registers, which must not find
/// it full: so a bounded number is under way, and the rest waits here. An event that finds the
/// queue full, or that the log refuses, is dropped: the next message for the subscription is
/// answered 410, and the endpoint publishes the event then. On the home's thread.
class GoneEvents {
public:
    /// Events without the log's report.
    static constexpr std::size_t kInFlightMax = 64;
    static constexpr std::size_t kWaitingMax = 10'000;
    /// Unregisters of one client that are published: as many as a browser ends when its user clears
    /// all sites, and ten a minute.
    static constexpr core::TokenRate kOfClient{.at_once = 100, .each = std::chrono::seconds{6}};
    /// Ends of one application server's subscriptions, in this partition.
    static constexpr core::TokenRate kOfOwner{.at_once = kWaitingMax,
                                              .each = std::chrono::milliseconds{20}};

    struct Context {
        log::Publisher& publisher;
        core::Executor& executor;
        const core::Clock& clock;
        /// Whether the owner may have a webhook for it; empty: every owner.
        std::function<bool(std::string_view owner)> wanted{};
    };

    /// `partitions`: of the installation.
    GoneEvents(core::Partition partitions, Context context)
        : partitions_(partitions), context_(std::move(context)), lifetime_(context_.executor) {}

    void report(core::SubscriptionGone gone);
    /// Drops the events that wait.
    void stop();

private:
    bool is_allowed(const core::SubscriptionGone& gone);
    void pump();
    void publish(const core::SubscriptionGone& gone);
    void log_left_out();

    const core::Partition partitions_;
    const Context context_;
    core::TokenBuckets<std::string> of_client_{kOfClient};
    core::TokenBuckets<std::string> of_owner_{kOfOwner};
    std::deque<core::SubscriptionGone> waiting_;
    std::size_t in_flight_ = 0;
    std::size_t left_out_ = 0;  ///< found no space since something last waited
    core::Lifetime lifetime_;   ///< renewed by stop(): reports are stale then
};

}  // namespace beckon::edge
