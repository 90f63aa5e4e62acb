#pragma once

#include "core/events.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "store/edge_store.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::store {

/// The endpoint's view (docs/design.md#the-view): a fold of all of `subscriptions` in a RocksDB of
/// its own. One thread folds; any thread looks up. A channel without a client record is dead for
/// every reader. Folds and errors are as those of PartitionStore.
class SubscriptionStore {
public:
    virtual ~SubscriptionStore() = default;

    // --- folding thread
    /// Uncommitted advances included.
    virtual std::optional<core::Checkpoint> checkpoint(core::Partition partition) const = 0;
    /// Folds one event, appended at `time`, into the batch; false: lost by (epoch, seq). Marks,
    /// leases and unknown events change nothing: true.
    virtual bool fold(core::Partition partition, const core::SubscriptionsEvent& event,
                      core::Timestamp time) = 0;
    virtual void advance(core::Partition partition, core::Offset next,
                         std::optional<core::Timestamp> caught_up) = 0;
    /// Writes the batch; what was folded is visible to lookups from here on. Errors: full,
    /// unavailable, corrupt; it may be called again.
    virtual core::Result<void> commit() = 0;
    /// Commits, then deletes the partition's whole range and its checkpoint in one batch.
    virtual core::Result<void> clear(core::Partition partition) = 0;

    // --- any thread
    struct Subscription {
        core::RouterType router_type = core::RouterType::webpush;
        std::string router_data;
        bool channel_known = false;
    };
    /// nullopt: no such client, as far as the view has come.
    virtual std::optional<Subscription> find(const core::Uaid& uaid,
                                             const core::ChannelId& channel) const = 0;
    virtual std::optional<StoredClient> client(const core::Uaid& uaid) const = 0;
    virtual std::vector<core::ChannelId> channels(const core::Uaid& uaid) const = 0;
    /// True once a lookup has met rows that it could not read back: "no such client" and "no such
    /// channel" prove nothing then, and commit() fails with `corrupt`. A restart tries again.
    virtual bool unreadable() const = 0;
    /// Of all living clients and channels that are committed; equal for live and rebuilt.
    virtual std::string digest() const = 0;
};

struct SubscriptionStoreOptions {
    std::filesystem::path directory;
    std::string log_id;
    core::Partition partitions = 0;
    std::size_t cache_bytes = 64U << 20;
    std::size_t write_buffer_bytes = 16U << 20;
    /// Shared with the other stores of the process; then the two sizes above do not count.
    std::shared_ptr<rocks::Memory> memory;
};

/// As open_edge_store(). A store of another partition count is set aside too.
core::Result<std::unique_ptr<SubscriptionStore>> open_subscription_store(
    const SubscriptionStoreOptions& options);

}  // namespace beckon::store
