#pragma once

#include "core/checkpoint.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "records/client_gone.hpp"
#include "records/events.hpp"
#include "rocks/memory.hpp"
#include "store/types.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace beckon::store {

struct SubscriptionStoreOptions {
    std::filesystem::path directory;
    std::string log_id;
    core::Partition partitions;
    std::size_t cache_bytes = 64U << 20;
    std::size_t write_buffer_bytes = 16U << 20;
    /// Shared with the other stores of the process; then the two sizes above do not count.
    std::shared_ptr<rocks::Memory> memory;
    rocksdb::Env* env = nullptr;  ///< how RocksDB reaches its files; for tests with faults
};

/// The endpoint's view (docs/design.md#the-view): a fold of all of `subscriptions` in a RocksDB of
/// its own. One thread folds; any thread looks up. A channel without a client record is dead for
/// every reader. A failed read is an error and never an answer. Folds are as those of
/// PartitionStore.
class SubscriptionStore {
public:
    /// As EdgeStore::open(). A store of another partition count is set aside too.
    static core::Result<std::unique_ptr<SubscriptionStore>> open(
        const SubscriptionStoreOptions& options);
    ~SubscriptionStore();

    // --- folding thread
    /// Uncommitted advances included.
    std::optional<core::Checkpoint> checkpoint(core::Partition partition) const;
    /// Folds one event, appended at `time`, into the batch; false: lost by (epoch, seq). Read
    /// barriers, leases and unknown events change nothing: true.
    bool fold(core::Partition partition, const core::SubscriptionsEvent& event,
              core::Timestamp time);
    /// Folds the end of a bridged client's token, likewise.
    void fold(core::Partition partition, const core::ClientGone& gone, core::Timestamp time);
    void advance(core::Partition partition, core::Offset next,
                 std::optional<core::Timestamp> caught_up, core::Timestamp youngest = {});
    /// True if so much has collected that it should be written now, or a read failed.
    bool commit_due() const;
    /// Writes the batch; from then on lookups see its changes. Errors: full, unavailable; it may be
    /// called again. If a read failed in a fold, the batch is dropped and checkpoint() goes back,
    /// for all partitions that were in it: fold again from there.
    core::Result<void> commit();
    /// Commits, or after a failed read drops the batch of all partitions. Then it deletes the
    /// partition's whole range and its checkpoint in one batch, which ends the partition's damage.
    core::Result<void> clear(core::Partition partition);

    // --- any thread
    struct Subscription {
        core::RouterType router_type = core::RouterType::webpush;
        std::string router_data;
        bool channel_known = false;
    };
    /// nullopt: no such client, as far as the view has come. Errors: corrupt (the partition is
    /// damaged from then on), unavailable; they prove nothing.
    core::Result<std::optional<Subscription>> find(const core::Uaid& uaid,
                                                   const core::ChannelId& channel) const;
    core::Result<std::optional<StoredClient>> client(const core::Uaid& uaid) const;
    core::Result<std::vector<core::ChannelId>> channels(const core::Uaid& uaid) const;
    /// Counts until there are `rows_max` rows.
    core::Result<ChannelCount> count_channels(const core::Uaid& uaid, std::size_t rows_max) const;
    /// True once a row of the partition could not be read back, in a lookup or in a fold: clear()
    /// it and fold it anew.
    bool damaged(core::Partition partition) const;
    /// The digest of all living clients and channels that are committed; equal for live and rebuilt
    /// stores.
    std::string digest() const;

private:
    struct Impl;
    explicit SubscriptionStore(std::unique_ptr<Impl> impl);
    const std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::store
