#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

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
                   log::Publisher& publisher, Events events)
        : PartitionLease(partition, std::move(node), std::move(role), publisher, std::move(events),
                         Topics{}) {}
    PartitionLease(core::Partition partition, core::NodeId node, std::string role,
                   log::Publisher& publisher, Events events, Topics topics)
        : partition_(partition),
          node_(std::move(node)),
          role_(std::move(role)),
          publisher_(publisher),
          events_(std::move(events)),
          topics_(topics) {}
    PartitionLease(const PartitionLease&) = delete;
    PartitionLease& operator=(const PartitionLease&) = delete;

    /// Claims the partition with an epoch above all seen here and `floor` (the highest seen in
    /// `ownership`). Call after both folds have caught up by a read barrier. Only in `following`.
    void claim(core::Epoch floor);

    /// Each lease read from `subscriptions` p or `notifications` p.
    void read(log::Topic topic, const core::Lease& lease);

    /// Gives the partition up and publishes nothing (drain, shutdown).
    void release() { state_ = State::following; }

    State state() const { return state_; }
    /// The epoch of the claim or of the serving lease; 0 before the first claim.
    core::Epoch epoch() const { return epoch_; }

private:
    void announce();
    void publish_lease(log::Topic topic);
    bool claims(core::Epoch of) const;
    void won();
    void lose(const core::Error& why);
    void remember(log::Topic topic, const core::Lease& lease);
    void remove(log::Topic topic, core::Epoch of, const std::string& holder);

    const core::Partition partition_;
    const core::NodeId node_;
    const std::string role_;
    log::Publisher& publisher_;
    const Events events_;
    const Topics topics_;

    State state_ = State::following;
    core::Epoch epoch_ = 0;    ///< of the last claim
    core::Epoch highest_ = 0;  ///< the highest seen, of any node
    /// The first claim of each epoch in the topic, which decides; claims below `highest_` matter no
    /// more.
    std::map<core::Epoch, std::string> winner_;
    /// Leases that were read and not removed since: topic, epoch, node.
    std::set<std::tuple<log::Topic, core::Epoch, std::string>> standing_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::cluster
