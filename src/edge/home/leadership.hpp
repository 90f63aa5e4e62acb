#pragma once

#include "cluster/partition_lease.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "edge/home/part_context.hpp"
#include "edge/protocol/closings.hpp"

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

    /// Tells the home when serving begins and ends (HomeCalls).
    explicit Leadership(const PartContext& context);

    /// The controller placed the partition here. `floor`: the highest epoch seen in `ownership`.
    void placed_here(core::Epoch floor);
    /// It was placed elsewhere: it makes no more claims, and serves until another home's lease is
    /// read.
    void placed_elsewhere();
    bool wanted() const { return wanted_; }

    // --- from the fold
    void caught_up();
    void restarted();
    void read(log::Topic topic, const core::Lease& seen) { lease_.read(topic, seen); }
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

    const PartContext& context_;
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
