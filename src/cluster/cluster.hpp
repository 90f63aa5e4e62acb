#pragma once

#include "cluster/placement.hpp"
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "fold/fold.hpp"
#include "log/event_log.hpp"
#include "records/ownership.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace beckon::cluster {

struct ClusterOptions {
    std::string role;  ///< "edge", "retry", "reliability"
    core::NodeId self;
    /// The node's name over all its processes, which placement uses. Empty: placement uses `self`.
    std::string name{};
    std::string zone{};  ///< a partition's home and standbys are in different zones; empty: no zone
    std::uint32_t capacity = 1;  ///< this node's share of partitions, relative to the others'
    core::Partition partitions = 0;
    std::string link_url;  ///< where other nodes reach this one; empty if nowhere
    int standby_count = 1;
    core::Duration session_timeout = std::chrono::seconds{6};
};

/// Membership and placement of one role, on one thread, that of
/// `executor`: joins the role's group, folds `ownership`, and, while it is first in the group and
/// holds the controller lease there, publishes the placement of every partition. A node that others
/// have found dead counts as gone before the group's time-out (Suspicions); if it was the
/// controller, the living member with the smallest id claims control.
class Cluster {
public:
    struct Events {
        /// The placement of a partition is known or has changed; all partitions are reported once
        /// after the start, as soon as there is a controller.
        std::function<void(core::Partition, const Placement&)> placed;
        /// The records that the role's nodes publish about themselves are known or have changed.
        std::function<void(const std::map<core::NodeId, NodeRecord>&)> nodes = {};
        /// This node has published that it suspects another one.
        std::function<void()> suspected = {};
        /// A node that was taken for gone has objected: it lives.
        std::function<void()> wrongly_suspected = {};
        /// All partitions of a dead node serve elsewhere, so long after it was suspected. At the
        /// controller only.
        std::function<void(core::Duration)> failed_over = {};
    };

    Cluster(ClusterOptions options, log::EventLog& log, core::Executor& executor,
            const core::Clock& clock, Events events);
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    /// The owner's loops are running: call it at least every quarter of the session time-out.
    void still_alive();

    /// Sets the partitions that this node could serve at once (a standby within a second of the
    /// end).
    void set_ready(const std::set<core::Partition>& ready);

    /// Nobody listens where that node did: publishes the suspicion that it is dead.
    void suspect(const core::NodeId& node);
    /// The nodes that this one has a link to: none of them is suspected here, and those that start
    /// count as alive before they are in the group.
    void set_linked(const std::set<core::NodeId>& nodes);

    /// Sets the status that this node publishes for people, at most every few seconds.
    struct Status {
        std::uint64_t clients = 0;
        std::set<core::NodeId> links;
        std::map<core::Partition, std::uint64_t> load;  ///< records per second
    };
    void set_status(Status status);

    /// Leaves the group and says so in this node's record, so that the controller (this node, until
    /// another one has claimed) places its partitions elsewhere, and goes on following `ownership`.
    /// False: no other node is there to take over, and nothing happens.
    bool leave();
    /// Whether another node is there to take over.
    bool may_leave() const;

    std::optional<Placement> placement(core::Partition partition) const;
    /// The highest lease epoch that `ownership` shows for a partition (0 if none).
    core::Epoch highest_epoch(core::Partition partition) const;
    /// True once `ownership` has been read up to a read barrier.
    bool caught_up() const;
    /// True if the placement is one for the present group, with this node in it: every partition
    /// has a home, and all homes are alive. (After a restart of all nodes, `ownership` first shows
    /// the placement of nodes that are gone.)
    bool placement_is_current() const;
    /// The progress of the fold of `ownership`.
    fold::Progress progress() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::cluster
