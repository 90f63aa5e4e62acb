#pragma once

#include "cluster/ownership_fold.hpp"
#include "cluster/placement.hpp"
#include "cluster/suspicions.hpp"
#include "core/backoff.hpp"
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "fold/fold.hpp"
#include "fold/state.hpp"
#include "log/event_log.hpp"
#include "records/ownership.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Membership and placement of one role, on one thread, that of `executor`: joins the role's group,
/// folds `ownership` into memory, from the log's start each time, publishes this node's record,
/// and, while it is first in the group and holds the controller lease there, publishes the
/// placement of every partition. A node that others have found dead counts as gone before the
/// group's time-out (Suspicions); if it was the controller, the living member with the smallest id
/// claims control.
class Cluster final : private fold::MemoryState {
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
    ~Cluster() override;
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

    std::optional<Placement> placement(core::Partition partition) const {
        return ownership_.placement(partition);
    }
    /// The highest lease epoch that `ownership` shows for a partition (0 if none).
    core::Epoch highest_epoch(core::Partition partition) const {
        return ownership_.highest_epoch(partition);
    }
    /// True once `ownership` has been read up to a read barrier.
    bool knows_all() const { return fold_.phase() == fold::Phase::following; }
    /// True if the placement is one for the present group, with this node in it: every partition
    /// has a home, and all homes are alive. (After a restart of all nodes, `ownership` first shows
    /// the placement of nodes that are gone.)
    bool placement_is_current() const;
    /// The progress of the fold of `ownership`.
    fold::Progress progress() const { return fold_.progress(); }

private:
    // --- fold::State
    void replay(fold::InputIndex, const core::RecordView& record) override;
    core::Result<void> clear() override;
    void turn_ended() override;
    void caught_up() override;
    void restarted(std::string_view why) override;

    // --- who lives
    void grouped(const log::Members& now);
    void suspect_predecessors();
    void object();
    void judge();
    void tell_gone(const core::NodeId& node) const;
    void judge_later();
    void fails_over(const core::NodeId& node, core::MonoTime since);
    void died(const core::NodeId& node);
    bool is_member(const core::NodeId& node) const { return contains(members_.alive, node); }
    const NodeRecord* record_of(const core::NodeId& node) const;
    bool is_gone(const core::NodeId& node) const;
    bool is_alive(const core::NodeId& node) const;
    bool leads() const;
    bool leads_before_it_joins() const;
    bool rests(const core::NodeId& node, const NodeRecord& record) const;

    // --- the effects
    void join(log::EventLog& log);
    void act();
    void notify_nodes();
    void publish_node();
    void claim_control();
    void place_all();
    std::set<core::NodeId> handing_over(const std::vector<core::NodeId>& alive) const;
    void introduce();
    void remove_dead_nodes();
    void publish(core::Record record);
    void retry_later();
    bool controls() const {
        return knows_all() && leads() && ownership_.controller_epoch() != 0 &&
               ownership_.controller() == options_.self;
    }
    void note_failover();

    const ClusterOptions options_;
    const Events events_;
    core::Executor& executor_;
    const core::Clock& clock_;
    const std::unique_ptr<log::Publisher> publisher_;
    std::unique_ptr<log::Member> member_;

    OwnershipFold ownership_;
    bool has_read_ = false;                    ///< in this turn
    bool nodes_changed_ = false;               ///< not reported yet
    std::vector<core::Partition> placed_now_;  ///< in this turn
    std::vector<core::Record> repairs_;        ///< of this turn, for the controller to write again

    log::Members members_;
    bool joined_ = false;   ///< the group has named its members here
    bool leaving_ = false;  ///< for good
    /// When the record of each node was read first, but for those from before the start.
    std::map<core::NodeId, core::MonoTime> first_read_;
    Suspicions suspicions_;
    CrashLoops crash_loops_;
    std::set<core::NodeId> counted_dead_;      ///< nodes whose death `crash_loops` knows
    std::optional<core::MonoTime> judged_at_;  ///< for which a task is posted
    /// This node's own suspicions, and when it may suspect nodes again that have objected.
    std::map<core::NodeId, std::uint64_t> suspects_;
    struct Again {
        core::Duration pause{};
        core::MonoTime not_before{};
    };
    std::map<core::NodeId, Again> suspect_again_;
    std::uint64_t incarnation_ = 0;
    std::set<core::NodeId> linked_;
    bool looked_back_ = false;  ///< for processes of the same name
    /// Processes of the same name that ran before this one, and ended without a stop.
    std::set<core::NodeId> predecessors_;
    /// Partitions of nodes that died that do not serve elsewhere yet, and since when.
    std::map<core::NodeId, std::pair<core::MonoTime, std::set<core::Partition>>> failing_over_;

    std::map<core::NodeId, PlacedNode> introduced_;  ///< living nodes, as the controller knows them
    std::set<core::Partition> ready_;
    std::optional<Status> status_;
    core::Epoch claiming_ = 0;  ///< a claim to be controller that is not read back yet; 0: none
    std::set<std::string> in_flight_;  ///< keys published and not read back yet
    /// The moves from a living home among them, with the nodes that they concern.
    std::map<std::string, std::set<core::NodeId>> moves_;
    bool retry_posted_ = false;
    core::Backoff retry_;

    fold::Fold fold_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::cluster
