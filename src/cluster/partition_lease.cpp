#include "cluster/partition_lease.hpp"

#include "core/assert.hpp"
#include "records/ownership.hpp"

#include <algorithm>
#include <utility>

namespace beckon::cluster {

using core::Fault;
using log::Topic;

void PartitionLease::claim(core::Epoch floor) {
    BECKON_ASSERT(state_ == State::following, "one claim at a time");
    epoch_ = std::max({highest_, epoch_, floor}) + 1;
    state_ = State::claiming;
    announce();
}

void PartitionLease::announce() {
    publisher_.publish({Topic::kOwnership, 0},
                       encode(EpochRecord{role_, partition_, epoch_, node_}),
                       lifetime_.guard([this, of = epoch_](const auto& result) {
                           if (!claims(of)) return;
                           result ? publish_lease(topics_.claim) : lose(result.error());
                       }));
}

void PartitionLease::publish_lease(Topic topic) {
    publisher_.publish(
        {topic, partition_},
        core::encode(core::Lease{.epoch = epoch_, .node = node_.text, .role = role_}),
        lifetime_.guard([this, of = epoch_](const auto& result) {
            if (claims(of) && !result) lose(result.error());
        }));
}

/// A report counts only for the claim that it was made for.
bool PartitionLease::claims(core::Epoch of) const {
    return of == epoch_ && (state_ == State::claiming || state_ == State::confirming);
}

/// All that had to be read back is.
void PartitionLease::won() {
    state_ = State::serving;
    for (const auto& [topic, of, holder] : standing_) {
        if (of < epoch_) remove(topic, of, holder);
    }
    events_.serving(epoch_);
}

void PartitionLease::lose(const core::Error& why) {
    if (state_ == State::following) return;
    state_ = State::following;
    const auto lost = events_.lost;  // it may destroy the lease
    lost(why);
}

void PartitionLease::remember(Topic topic, const core::Lease& lease) {
    std::tuple key{topic, lease.epoch, std::string{lease.node}};
    if (lease.removed) {
        standing_.erase(key);
    } else {
        standing_.insert(std::move(key));
    }
}

void PartitionLease::remove(Topic topic, core::Epoch of, const std::string& holder) {
    // A failure leaves it standing here, for the next holder to clear.
    publisher_.publish(
        {topic, partition_},
        core::encode(core::Lease{.epoch = of, .node = holder, .role = role_, .removed = true}),
        [](const auto&) {});
}

void PartitionLease::read(Topic topic, const core::Lease& lease) {
    if (!lease.removed && lease.role != role_) return;  // another role's, with its own epochs
    remember(topic, lease);
    if (lease.removed) return;
    highest_ = std::max(highest_, lease.epoch);
    if (topic == topics_.claim) {
        winner_.try_emplace(lease.epoch, lease.node);
        winner_.erase(winner_.begin(), winner_.lower_bound(highest_));
    }
    if (state_ == State::following) return;

    const std::string holder{lease.node};
    if (lease.epoch > epoch_) {
        return lose(
            {Fault::conflict, "node " + holder + " holds epoch " + std::to_string(lease.epoch)});
    }
    if (lease.epoch < epoch_) {  // late, of a candidate that is out
        if (state_ == State::serving) remove(topic, lease.epoch, holder);
        return;
    }
    if (topic == topics_.claim && state_ == State::claiming) {
        if (winner_.at(lease.epoch) != node_.text) {
            return lose({Fault::conflict,
                         "node " + holder + " was first in epoch " + std::to_string(lease.epoch)});
        }
        if (!topics_.confirm) return won();
        state_ = State::confirming;
        return publish_lease(*topics_.confirm);
    }
    if (topic == topics_.confirm && state_ == State::confirming && holder == node_.text) won();
}

}  // namespace beckon::cluster
