#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "edge/loop/loop.hpp"
#include "edge/switchboard/messages.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace beckon::edge {

/// A random UUIDv4 that hashes to `partition` of `partitions`: a client without a UAID gets one
/// whose home is near (docs/design.md#shards). Takes about `partitions` hashes of 50 ns.
core::Uaid new_uaid_in(core::Partition partition, core::Partition partitions);

/// The way between fronts and homes (docs/design.md#shards). Partition p lives on shard p mod N of
/// its node. On the same shard a message from a front waits for the end of the loop's turn, so that
/// a home never runs inside a socket's callback; one from a home is a function call. To another
/// shard, the messages of a turn travel as one batch: one lock, one wake-up. To another node it
/// goes over the link.
///
/// Bound: kWaitingMax messages on their way to one shard. Above it to_home() returns `full`, and a
/// client whose frame would be dropped is closed with "try again" instead: it finds its messages in
/// the store. Detach, Attached and closes are bounded by the number of sessions and always go.
class Switchboard {
public:
    static constexpr std::size_t kWaitingMax = 65'536;

    using HomeHandler = std::function<void(ToHome)>;
    using FrontHandler = std::function<void(ToFront)>;

    /// Notifies the fronts and homes of a shard of changes in the cluster. On the shard's thread.
    struct Listener {
        /// The home of a partition lives elsewhere now.
        std::function<void(core::Partition)> moved = {};
        /// The link to a node is lost, and with it all messages under way.
        std::function<void(NodeNumber, const core::NodeId&)> peer_lost = {};
    };

    /// The loops must not run yet; they outlive this. `waiting_max`: tests that fill it choose
    /// less.
    Switchboard(core::Partition partitions, const std::vector<Loop*>& loops,
                std::size_t waiting_max = kWaitingMax);
    ~Switchboard();

    std::size_t shard_of(core::Partition partition) const;

    /// The transports of the front, and of the homes, of a shard; used on that shard only.
    HomeTransport& homes(std::size_t shard);
    FrontTransport& fronts(std::size_t shard);

    /// Connects a receiver, on the shard's thread. Empty handler: the receiver has gone.
    void connect_home(core::Partition partition, HomeHandler handler);
    void connect_front(std::size_t shard, FrontHandler handler);
    /// Before the loops run, or on the shard's thread.
    void listen(std::size_t shard, Listener listener);

    // --- other nodes. Without connect_links() there are none, and every home lives here.
    /// Before the loops run. `links` outlives them.
    void connect_links(core::NodeId self, NodeTransport& links);
    /// Where `ownership` places a partition; before the first call it is taken to live here. Any
    /// one thread.
    void route(core::Partition partition, const core::NodeId& home);
    /// Takes messages that came over a link. The links' thread calls this and the next two.
    void arrived(Messages messages);
    void peer_up(const core::NodeId& node);
    void peer_lost(const core::NodeId& node);
    /// True while a shard is so far behind that links should not be read. Any thread.
    bool congested() const;

    /// Whether a home serves, for choosing UAIDs and for readiness. Set on its shard, read
    /// anywhere.
    void set_serving(core::Partition partition, bool serving);
    bool serving(core::Partition partition) const;

    /// A partition for a new client: one that this shard serves if there is any, else one of this
    /// process, else one whose home's link is up. It takes them in turn, so that new clients are
    /// distributed. nullopt: none. On that shard only.
    std::optional<core::Partition> near(std::size_t shard);

private:
    struct Part;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
