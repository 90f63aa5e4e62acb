#include "cluster/partition_lease.hpp"

#include "core/assert.hpp"
#include "core/lifetime.hpp"
#include "records/ownership.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace beckon::cluster {

using core::Fault;
using log::Topic;

struct PartitionLease::Impl {
    Impl(core::Partition p, core::NodeId n, std::string r, log::Publisher& pub, Events e, Topics t)
        : partition(p),
          node(std::move(n)),
          role(std::move(r)),
          publisher(pub),
          events(std::move(e)),
          topics(t) {}

    const core::Partition partition;
    const core::NodeId node;
    const std::string role;
    log::Publisher& publisher;
    const Events events;
    const Topics topics;

    State state = State::following;
    core::Epoch epoch = 0;    ///< of the last claim
    core::Epoch highest = 0;  ///< the highest seen, of any node
    /// The first claim of each epoch in the topic, which decides; claims below `highest` matter no
    /// more.
    std::map<core::Epoch, std::string> winner;
    /// Leases that were read and not removed since: topic, epoch, node.
    std::set<std::tuple<Topic, core::Epoch, std::string>> standing;
    core::Lifetime lifetime;

    void announce();
    void publish_lease(Topic topic);
    /// A report counts only for the claim that it was made for.
    void reported(core::Epoch of, const core::Result<log::Appended>& result, void (Impl::*next)());
    void publish_claim() { publish_lease(topics.claim); }
    void won();
    void nothing_more() {}
    void lose(const core::Error& why);
    void remember(Topic topic, const core::Lease& lease);
    void remove(Topic topic, core::Epoch of, const std::string& holder);
    void clear_lower();
};

void PartitionLease::Impl::announce() {
    publisher.publish({Topic::kOwnership, 0}, encode(EpochRecord{role, partition, epoch, node}),
                      lifetime.guard([this, of = epoch](const auto& result) {
                          reported(of, result, &Impl::publish_claim);
                      }));
}

void PartitionLease::Impl::publish_lease(Topic topic) {
    const core::Lease lease{.epoch = epoch, .node = node.text, .role = role};
    publisher.publish({topic, partition}, core::encode(lease),
                      lifetime.guard([this, of = epoch](const auto& result) {
                          reported(of, result, &Impl::nothing_more);
                      }));
}

void PartitionLease::Impl::reported(core::Epoch of, const core::Result<log::Appended>& result,
                                    void (Impl::*next)()) {
    const bool waiting = state == State::claiming || state == State::confirming;
    if (of != epoch || !waiting) return;
    if (result) {
        (this->*next)();
    } else {
        lose(result.error());
    }
}

/// All that had to be read back is.
void PartitionLease::Impl::won() {
    state = State::serving;
    clear_lower();
    events.serving(epoch);
}

void PartitionLease::Impl::lose(const core::Error& why) {
    if (state == State::following) return;
    state = State::following;
    const auto lost = events.lost;  // it may destroy the lease
    lost(why);
}

void PartitionLease::Impl::remember(Topic topic, const core::Lease& lease) {
    std::tuple key{topic, lease.epoch, std::string{lease.node}};
    if (lease.removed) {
        standing.erase(key);
    } else {
        standing.insert(std::move(key));
    }
}

void PartitionLease::Impl::remove(Topic topic, core::Epoch of, const std::string& holder) {
    // A failure leaves it standing here, for the next holder to clear.
    publisher.publish(
        {topic, partition},
        core::encode(core::Lease{.epoch = of, .node = holder, .role = role, .removed = true}),
        [](const auto&) {});
}

void PartitionLease::Impl::clear_lower() {
    for (const auto& [topic, of, holder] : standing) {
        if (of < epoch) remove(topic, of, holder);
    }
}

PartitionLease::PartitionLease(core::Partition partition, core::NodeId node, std::string role,
                               log::Publisher& publisher, Events events)
    : PartitionLease(partition, std::move(node), std::move(role), publisher, std::move(events),
                     Topics{}) {}

PartitionLease::PartitionLease(core::Partition partition, core::NodeId node, std::string role,
                               log::Publisher& publisher, Events events, Topics topics)
    : impl_(std::make_unique<Impl>(partition, std::move(node), std::move(role), publisher,
                                   std::move(events), topics)) {}

PartitionLease::~PartitionLease() = default;

void PartitionLease::claim(core::Epoch floor) {
    BECKON_ASSERT(impl_->state == State::following, "one claim at a time");
    impl_->epoch = std::max({impl_->highest, impl_->epoch, floor}) + 1;
    impl_->state = State::claiming;
    impl_->announce();
}

void PartitionLease::read(Topic topic, core::Offset /*offset*/, const core::Lease& lease) {
    auto* const impl = impl_.get();
    if (!lease.removed && lease.role != impl->role) return;  // another role's, with its own epochs
    impl->remember(topic, lease);
    if (lease.removed) return;
    impl->highest = std::max(impl->highest, lease.epoch);
    if (topic == impl->topics.claim) {
        impl->winner.try_emplace(lease.epoch, lease.node);
        impl->winner.erase(impl->winner.begin(), impl->winner.lower_bound(impl->highest));
    }
    if (impl->state == State::following) return;

    if (lease.epoch > impl->epoch) {
        impl->lose({Fault::conflict, "node " + std::string{lease.node} + " holds epoch " +
                                         std::to_string(lease.epoch)});
        return;
    }
    if (lease.epoch < impl->epoch) {  // late, of a candidate that is out
        if (impl->state == State::serving)
            impl->remove(topic, lease.epoch, std::string{lease.node});
        return;
    }
    if (topic == impl->topics.claim && impl->state == State::claiming) {
        if (impl->winner.at(lease.epoch) != impl->node.text) {
            impl->lose({Fault::conflict, "node " + std::string{lease.node} +
                                             " was first in epoch " + std::to_string(lease.epoch)});
            return;
        }
        if (!impl->topics.confirm) return impl->won();
        impl->state = State::confirming;
        impl->publish_lease(*impl->topics.confirm);
        return;
    }
    if (topic == impl->topics.confirm && impl->state == State::confirming &&
        lease.node == impl->node.text) {
        impl->won();
    }
}

void PartitionLease::release() { impl_->state = State::following; }

PartitionLease::State PartitionLease::state() const { return impl_->state; }

core::Epoch PartitionLease::epoch() const { return impl_->epoch; }

}  // namespace beckon::cluster
