#pragma once

#include "edge/messages.hpp"
#include "edge/shard_loop.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace beckon::edge {

/// The way between the fronts and the homes of a process (docs/design.md#shards). Partition p lives
/// on shard p mod N. On the same shard a message from a front waits for the end of the loop's turn,
/// so that a home never runs inside a socket's callback; one from a home is a function call. To
/// another shard, what a turn gathered travels as one batch: one lock, one wake-up.
///
/// Bound: kWaitingMax messages on their way to one shard. Above it to_home() says false, and a
/// client whose frame would be dropped is closed with "try again" instead: it finds its messages in
/// the store. Detach, Attached and closes are bounded by the number of sessions and always go.
class Switchboard {
public:
    static constexpr std::size_t kWaitingMax = 65'536;

    using HomeInbox = std::function<void(ToHome)>;
    using FrontInbox = std::function<void(ToFront)>;

    /// The loops must not run yet; they outlive this.
    Switchboard(core::Partition partitions, const std::vector<ShardLoop*>& loops);
    ~Switchboard();
    Switchboard(const Switchboard&) = delete;
    Switchboard& operator=(const Switchboard&) = delete;

    std::size_t shard_of(core::Partition partition) const;

    /// Where the front, or the homes, of a shard send; used on that shard only.
    HomePort& homes(std::size_t shard);
    FrontPort& fronts(std::size_t shard);

    /// On the shard's thread. Empty inbox: nobody is there any more.
    void connect_home(core::Partition partition, HomeInbox inbox);
    void connect_front(std::size_t shard, FrontInbox inbox);

    /// Whether a home serves, for choosing UAIDs and for readiness. Set on its shard, read
    /// anywhere.
    void set_serving(core::Partition partition, bool serving);
    bool serving(core::Partition partition) const;

    /// A partition that is served, one of this shard if there is any; in turn, so that new clients
    /// spread. nullopt: none is served. On that shard only.
    std::optional<core::Partition> near(std::size_t shard);

private:
    struct Shard;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
