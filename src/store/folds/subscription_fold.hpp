#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "records/client_gone.hpp"
#include "records/events.hpp"
#include "store/database.hpp"
#include "store/rows/schema.hpp"
#include "store/types.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// The families that `subscriptions` folds into, as they stand on disk. Thread-safe.
class SubscriptionTables {
public:
    /// `of` outlives this.
    explicit SubscriptionTables(const Database& of);
    static std::vector<FamilySpec> families();

    /// Errors of the disk: the bytes cannot be read back.
    core::Result<std::optional<ClientRow>> client(core::Partition partition,
                                                  const core::Uaid& uaid) const;
    core::Result<std::optional<ChannelRow>> channel(core::Partition partition,
                                                    const core::Uaid& uaid,
                                                    const core::ChannelId& channel) const;
    /// The living clients among the next `rows_max` ones of a partition behind `after`. Rows of
    /// removed clients count too: there may be many of them, for a day.
    core::Result<ClientPage> clients_after(core::Partition partition,
                                           const std::optional<core::Uaid>& after,
                                           std::size_t rows_max) const;
    /// All rows of a client's channels, removed ones included.
    core::Result<std::vector<std::pair<core::ChannelId, ChannelRow>>> channels(
        core::Partition partition, const core::Uaid& uaid) const;
    /// Takes them one after the other until it says false.
    core::Result<void> each_channel(
        core::Partition partition, const core::Uaid& uaid,
        const std::function<bool(const core::ChannelId&, ChannelRow)>& take) const;

    const Database& database;
    Family clients_family;
    Family channels_family;
};

/// The fold of `subscriptions` (docs/design.md#late-writes): the greater
/// (epoch, seq) wins for each key, also over a removal; records without one (bridged clients) win
/// by coming later. Reads see changes since the last commit. One thread.
class SubscriptionFold {
public:
    explicit SubscriptionFold(const SubscriptionTables& tables) : tables_(tables) {}

    bool put_client(core::Partition partition, const core::ClientRecorded& client);
    /// `dropped` (may be null) receives the channels that went with it.
    bool remove_client(core::Partition partition, const core::ClientRemoved& client,
                       core::Timestamp time, std::vector<core::ChannelId>* dropped = nullptr);
    /// Ends the client if this is its token still; its channels are dead with it, and live again if
    /// a later record brings the client back.
    void end_client_with_token(core::Partition partition, const core::ClientGone& gone,
                               core::Timestamp time);
    bool put_channel(core::Partition partition, const core::ChannelRecorded& channel);
    bool remove_channel(core::Partition partition, const core::ChannelRemoved& channel,
                        core::Timestamp time);

    std::optional<StoredClient> client(core::Partition partition, const core::Uaid& uaid);
    /// As the last commit left them.
    ClientPage clients_after(core::Partition partition, const std::optional<core::Uaid>& after,
                             std::size_t rows_max);
    std::optional<StoredChannel> channel(core::Partition partition, const core::Uaid& uaid,
                                         const core::ChannelId& channel);
    std::vector<StoredChannel> channels(core::Partition partition, const core::Uaid& uaid);
    /// Counts until there are `rows_max` rows, of the last commit and of changes since then each.
    ChannelCount count_channels(core::Partition partition, const core::Uaid& uaid,
                                std::size_t rows_max);

    void write_to(rocksdb::WriteBatch& batch) const;
    std::size_t changed_rows() const { return clients_.size() + channels_.size(); }
    /// The changes are written.
    void committed();
    /// The changes are void.
    void reset();

    /// Set once a row could not be read; changes since then are void.
    const std::optional<core::Error>& broken() const { return broken_; }

private:
    using ClientName = std::pair<core::Partition, core::Uaid>;
    using ChannelName = std::pair<ClientName, core::ChannelId>;

    std::optional<ClientRow> client_row(const ClientName& name);
    std::optional<ChannelRow> channel_row(const ChannelName& name);
    std::map<core::ChannelId, ChannelRow> channel_rows(const ClientName& name);
    bool died_with_client(const ClientName& name, const std::optional<core::WriteStamp>& stamp);
    template <class T>
    T checked(core::Result<T> result);

    const SubscriptionTables& tables_;
    std::map<ClientName, ClientRow> clients_;                    ///< changed
    std::map<ChannelName, std::optional<ChannelRow>> channels_;  ///< changed; nullopt: deleted
    std::optional<core::Error> broken_;
};

}  // namespace beckon::store
