#pragma once

#include "cluster/partition_lease.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "edge/protocol/closings.hpp"
#include "fold/fold.hpp"

#include <functional>
#include <random>

namespace beckon::edge {

/// Whether a home serves its partition: the controller's placement, the proof that everything
/// was seen, the lease, and the end of it. On the home's thread.
class Leadership {
public:
    enum class State {
        standby,   ///< another home serves, or none does
        claiming,  ///< read barriers, then leases, are on their way
        serving,
    };

    struct Events {
        /// The lease is read back: serve. Within turn_ended().
        std::function<void()> began;
        /// From here on nothing is decided, published or answered: another home may do so. May come
        /// while records are replayed.
        std::function<void(Closing)> ended;
    };

    Leadership(core::Partition partition, const core::NodeId& node, log::Publisher& publisher,
               core::Executor& executor, fold::Fold& fold, Events events);

    /// The controller placed the partition here. `floor`: the highest epoch seen in `ownership`.
    void placed_here(core::Epoch floor);
    /// It was placed elsewhere: it makes no more claims, and serves until another home's lease is
    /// read.
    void placed_elsewhere();
    bool wanted() const { return wanted_; }

    // --- from the fold
    void caught_up();
    void restarted();
    void read(log::Topic topic, core::Offset offset, const core::Lease& seen);
    void turn_ended();

    State state() const { return state_; }
    bool serving() const { return state_ == State::serving; }
    /// The epoch of the lease; 0 before the first claim.
    core::Epoch epoch() const { return lease_.epoch(); }

private:
    void claim();
    void claim_later();
    void lost(const core::Error& why);
    void end(Closing closing);

    const core::Partition partition_;
    core::Executor& executor_;
    fold::Fold& fold_;
    const Events events_;
    std::minstd_rand random_;  ///< jitter only

    State state_ = State::standby;
    bool caught_up_ = false;
    bool wanted_ = false;    ///< the controller placed the partition here
    bool won_ = false;       ///< the lease is read back: serving begins at the end of the turn
    core::Epoch floor_ = 0;  ///< of the next claim
    core::Lifetime lifetime_;
    cluster::PartitionLease lease_;
};

}  // namespace beckon::edge
