#pragma once

#include "core/events.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "store/database.hpp"
#include "store/schema.hpp"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// The families that `subscriptions` folds into, as they stand on disk. Thread-safe.
class SubscriptionTables {
public:
    explicit SubscriptionTables(const Database& database);
    static std::vector<FamilySpec> families();

    /// Errors of the disk: the bytes cannot be read back.
    core::Result<std::optional<ClientRow>> client(core::Partition partition,
                                                  const core::Uaid& uaid) const;
    core::Result<std::optional<ChannelRow>> channel(core::Partition partition,
                                                    const core::Uaid& uaid,
                                                    const core::ChannelId& channel) const;
    /// All rows of a client's channels, removed ones included.
    core::Result<std::vector<std::pair<core::ChannelId, ChannelRow>>> channels(
        core::Partition partition, const core::Uaid& uaid) const;

    rocksdb::DB& db;
    Family clients_family;
    Family channels_family;
};

/// The fold of `subscriptions` (DESIGN §5 "Late writes", "Purge and reset"): the greater
/// (epoch, seq) wins for each key, also over a removal; records without one (bridged clients) win
/// by coming later. Writes go to the caller's batch, and reads here see them until committed() or
/// discard(). One thread.
class SubscriptionFold {
public:
    SubscriptionFold(const SubscriptionTables& tables, rocksdb::WriteBatch& batch)
        : tables_(tables), batch_(batch) {}

    bool put_client(core::Partition partition, const core::ClientRecorded& client);
    bool remove_client(core::Partition partition, const core::ClientRemoved& client,
                       core::Timestamp time);
    bool put_channel(core::Partition partition, const core::ChannelRecorded& channel);
    bool remove_channel(core::Partition partition, const core::ChannelRemoved& channel,
                        core::Timestamp time);

    std::optional<StoredClient> client(core::Partition partition, const core::Uaid& uaid);
    std::optional<StoredChannel> channel(core::Partition partition, const core::Uaid& uaid,
                                         const core::ChannelId& channel);
    std::vector<StoredChannel> channels(core::Partition partition, const core::Uaid& uaid);

    /// The batch is on disk, or thrown away: there is nothing left to see but the tables.
    void forget_batch();

    /// Set once a row could not be read; what was folded since is worthless.
    const std::optional<core::Error>& broken() const { return broken_; }
    void forget_broken() { broken_.reset(); }

private:
    using ChannelName = std::pair<core::Uaid, core::ChannelId>;

    std::optional<ClientRow> client_row(core::Partition partition, const core::Uaid& uaid);
    std::optional<ChannelRow> channel_row(core::Partition partition, const core::Uaid& uaid,
                                          const core::ChannelId& channel);
    std::map<core::ChannelId, ChannelRow> channel_rows(core::Partition partition,
                                                       const core::Uaid& uaid);
    void write(core::Partition partition, const core::Uaid& uaid, ClientRow row);
    void write(core::Partition partition, const core::Uaid& uaid, const core::ChannelId& channel,
               ChannelRow row);
    void erase(core::Partition partition, const core::Uaid& uaid, const core::ChannelId& channel);
    template <class T>
    T checked(core::Result<T> result);

    const SubscriptionTables& tables_;
    rocksdb::WriteBatch& batch_;
    std::unordered_map<core::Uaid, ClientRow> clients_;          ///< written in the batch
    std::map<ChannelName, std::optional<ChannelRow>> channels_;  ///< nullopt: deleted there
    std::optional<core::Error> broken_;
    std::string scratch_;
};

}  // namespace beckon::store
