#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace beckon::cluster {

/// The right to serve one partition (docs/design.md#leases): the first lease of an epoch in the log
/// order of `subscriptions` p wins. Only its winner publishes a lease in `notifications` p, and
/// serves once it has read that back. A node that reads a lease of a higher epoch stops at once.
///
/// A state machine without I/O of its own but its publishes; used on the thread of the
/// partition's home, which feeds it every lease that its folds read, in log order.
class PartitionLease {
public:
    enum class State {
        following,   ///< not ours; folds as a standby
        claiming,    ///< lease published to `subscriptions`, not read back
        confirming,  ///< won there; lease published to `notifications`, not read back
        serving,     ///< ours until a higher epoch is read
    };

    struct Events {
        /// Both leases are read back: the home serves from now on, with this epoch.
        std::function<void(core::Epoch)> serving;
        /// A higher epoch was read, the claim lost, or a publish failed: serve no more. The caller
        /// decides whether to claim again.
        std::function<void(const core::Error&)> lost;
    };

    /// The topics of the role's leases: the order in `claim` decides. With `confirm` the winner
    /// publishes one there too, and serves once it has read that back.
    struct Topics {
        log::Topic claim = log::Topic::kSubscriptions;
        std::optional<log::Topic> confirm = log::Topic::kNotifications;
    };

    PartitionLease(core::Partition partition, core::NodeId node, std::string role,
                   log::Publisher& publisher, Events events);
    PartitionLease(core::Partition partition, core::NodeId node, std::string role,
                   log::Publisher& publisher, Events events, Topics topics);
    ~PartitionLease();
    PartitionLease(const PartitionLease&) = delete;
    PartitionLease& operator=(const PartitionLease&) = delete;

    /// Claims the partition with an epoch above all seen here and `floor` (the highest seen in
    /// `ownership`). Call after both folds have caught up by a read barrier. Only in `following`.
    void claim(core::Epoch floor);

    /// Each lease read from `subscriptions` p or `notifications` p.
    void read(log::Topic topic, core::Offset offset, const core::Lease& lease);

    /// Gives the partition up and publishes nothing (drain, shutdown).
    void release();

    State state() const;
    /// The epoch of the claim or of the serving lease; 0 before the first claim.
    core::Epoch epoch() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::cluster
