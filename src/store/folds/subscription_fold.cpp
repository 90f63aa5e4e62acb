#include "store/folds/subscription_fold.hpp"

#include "store/tables/row_changes.hpp"

#include <chrono>
#include <memory>
#include <utility>

namespace beckon::store {

namespace {

/// Deleted keys are remembered for a day (docs/design.md#late-writes).
constexpr std::chrono::hours kRememberRemoved{24};

using Stamp = std::optional<core::WriteStamp>;

enum class Order { newer, same, older };

/// The relation of a record to the stored row. Only two stamps can be compared; without them the
/// later record is the newer one.
Order compare(const Stamp& record, const Stamp& stored) {
    if (!record || !stored) return Order::newer;
    if (*record == *stored) return Order::same;
    return *record > *stored ? Order::newer : Order::older;
}

}  // namespace

// --- SubscriptionTables

SubscriptionTables::SubscriptionTables(const Database& of)
    : database(of),
      clients_family(database.family("clients")),
      channels_family(database.family("channels")) {}

std::vector<FamilySpec> SubscriptionTables::families() {
    return {{"clients", FamilyKind::rows}, {"channels", FamilyKind::rows}};
}

core::Result<std::optional<ClientRow>> SubscriptionTables::client(core::Partition partition,
                                                                  const core::Uaid& uaid) const {
    return database.get(clients_family, RowKey{partition, uaid}.view(), parse_client_row);
}

core::Result<std::optional<ChannelRow>> SubscriptionTables::channel(
    core::Partition partition, const core::Uaid& uaid, const core::ChannelId& channel) const {
    const auto key = channel_row_key(partition, uaid, channel);
    return database.get(channels_family, key.view(), [&](std::string_view value) {
        return parse_channel_row(key.view(), value);
    });
}

core::Result<std::vector<std::pair<core::ChannelId, ChannelRow>>> SubscriptionTables::channels(
    core::Partition partition, const core::Uaid& uaid) const {
    std::vector<std::pair<core::ChannelId, ChannelRow>> rows;
    const auto read = each_channel(partition, uaid, [&rows](const auto& channel, ChannelRow row) {
        rows.emplace_back(channel, std::move(row));
        return true;
    });
    if (!read) return core::fail(read.error());
    return rows;
}

core::Result<void> SubscriptionTables::each_channel(
    core::Partition partition, const core::Uaid& uaid,
    const std::function<bool(const core::ChannelId&, ChannelRow)>& take) const {
    using Named = std::pair<core::ChannelId, ChannelRow>;
    const auto parse = [](std::string_view key, std::string_view value) {
        auto row = parse_channel_row(key, value);
        return row ? std::optional{Named{core::ChannelId{id_of_row(key)}, std::move(*row)}}
                   : std::nullopt;
    };
    return database.each_row(channels_family, RowKey{partition, uaid}, parse, [&](Named channel) {
        return take(channel.first, std::move(channel.second));
    });
}

core::Result<ClientPage> SubscriptionTables::clients_after(core::Partition partition,
                                                           const std::optional<core::Uaid>& after,
                                                           std::size_t rows_max) const {
    using Named = std::pair<core::Uaid, ClientRow>;
    const auto parse = [](std::string_view key, std::string_view value) {
        auto row = parse_client_row(value);
        return row ? std::optional{Named{uaid_of_row(key), std::move(*row)}} : std::nullopt;
    };
    ClientPage page;
    auto last = after;
    std::size_t rows = 0;
    const auto range = after ? range_behind(partition, RowKey{partition, *after}.view())
                             : partition_range(partition);
    const auto read = database.each_row(clients_family, range, parse, [&](Named client) {
        if (rows++ == rows_max) {
            page.next = last;
            return false;
        }
        last = client.first;
        auto& live = client.second.live;
        if (live) page.clients.emplace_back(client.first, std::move(*live));
        return true;
    });
    if (!read) return core::fail(read.error());
    return page;
}

// --- SubscriptionFold: rows, the batch's own first

template <class T>
T SubscriptionFold::checked(core::Result<T> result) {
    if (result) return std::move(*result);
    if (!broken_) broken_ = result.error();
    return {};
}

std::optional<ClientRow> SubscriptionFold::client_row(const ClientName& name) {
    const auto known = clients_.find(name);
    if (known != clients_.end()) return known->second;
    return checked(tables_.client(name.first, name.second));
}

std::optional<ChannelRow> SubscriptionFold::channel_row(const ChannelName& name) {
    const auto known = channels_.find(name);
    if (known != channels_.end()) return known->second;
    const auto& [partition, uaid] = name.first;
    return checked(tables_.channel(partition, uaid, name.second));
}

std::map<core::ChannelId, ChannelRow> SubscriptionFold::channel_rows(const ClientName& name) {
    std::map<core::ChannelId, ChannelRow> rows;
    for (auto& [channel, row] : checked(tables_.channels(name.first, name.second))) {
        rows.emplace(channel, std::move(row));
    }
    for (auto it = channels_.lower_bound({name, core::ChannelId{}});
         it != channels_.end() && it->first.first == name; ++it) {
        rows.erase(it->first.second);
        if (it->second) rows.emplace(it->first.second, *it->second);
    }
    return rows;
}

void SubscriptionFold::write_to(rocksdb::WriteBatch& batch) const {
    BatchRows clients{batch, tables_.clients_family};
    for (const auto& [name, row] : clients_) {
        clients.add(RowKey{name.first, name.second}.view(), std::optional{row}, append_client_row);
    }
    BatchRows channels{batch, tables_.channels_family};
    for (const auto& [name, row] : channels_) {
        channels.add(channel_row_key(name.first.first, name.first.second, name.second).view(), row,
                     append_channel_row);
    }
}

void SubscriptionFold::committed() {
    clients_.clear();
    channels_.clear();
}

void SubscriptionFold::reset() {
    committed();
    broken_.reset();
}

// --- SubscriptionFold: the rules

namespace {

/// Whether a record that is not newer than the stored row is its own; nullopt: it is newer.
template <class Row>
std::optional<bool> judged(const std::optional<Row>& stored,
                           const std::optional<core::WriteStamp>& stamp) {
    const auto order = stored ? compare(stamp, stored->stamp) : Order::newer;
    return order == Order::newer ? std::nullopt : std::optional{order == Order::same};
}

}  // namespace

bool SubscriptionFold::put_client(core::Partition partition, const core::ClientRecorded& client) {
    const ClientName name{partition, client.uaid};
    if (const auto known = judged(client_row(name), client.stamp)) return *known;
    clients_[name] = {
        .live = StoredClient{.router_type = client.router_type,
                             .router_data = std::string{client.router_data.value_or("")},
                             .created = client.created,
                             .last_seen = client.last_seen,
                             .stamp = client.stamp},
        .stamp = client.stamp,
        .until = {}};
    return true;
}

bool SubscriptionFold::remove_client(core::Partition partition, const core::ClientRemoved& client,
                                     core::Timestamp time, std::vector<core::ChannelId>* dropped) {
    const ClientName name{partition, client.uaid};
    if (const auto known = judged(client_row(name), client.stamp)) return *known;
    // The client's own row covers the channels from here on: died_with_client() asks it. A channel
    // that is newer than the removal was written by a home that knew of it, and waits.
    for (const auto& [channel, row] : channel_rows(name)) {
        if (compare(client.stamp, row.stamp) == Order::older) continue;
        channels_[{name, channel}].reset();
        if (dropped && row.live) dropped->push_back(channel);
    }
    clients_[name] = {
        .live = std::nullopt, .stamp = client.stamp, .until = time + kRememberRemoved};
    return true;
}

void SubscriptionFold::end_client_with_token(core::Partition partition,
                                             const core::ClientGone& gone, core::Timestamp time) {
    const ClientName name{partition, gone.uaid};
    const auto stored = client_row(name);
    if (!stored || !stored->live) return;
    if (core::hash_of_token_in(stored->live->router_data) != gone.token_hash) return;
    clients_[name] = {.live = std::nullopt, .stamp = {}, .until = time + kRememberRemoved};
}

bool SubscriptionFold::died_with_client(const ClientName& name,
                                        const std::optional<core::WriteStamp>& stamp) {
    const auto client = client_row(name);
    return client && !client->live && compare(stamp, client->stamp) != Order::newer;
}

bool SubscriptionFold::put_channel(core::Partition partition,
                                   const core::ChannelRecorded& channel) {
    const ChannelName name{{partition, channel.uaid}, channel.channel};
    if (const auto known = judged(channel_row(name), channel.stamp)) return *known;
    if (died_with_client(name.first, channel.stamp)) return false;
    // A channel may come before its client: compaction keeps a client's last record only.
    channels_[name] = ChannelRow{
        .live = StoredChannel{.channel = channel.channel,
                              .created = channel.created,
                              .vapid_sha256 = std::string{channel.vapid_sha256.value_or("")},
                              .stamp = channel.stamp},
        .stamp = channel.stamp,
        .until = {}};
    return true;
}

bool SubscriptionFold::remove_channel(core::Partition partition,
                                      const core::ChannelRemoved& channel, core::Timestamp time) {
    const ChannelName name{{partition, channel.uaid}, channel.channel};
    if (const auto known = judged(channel_row(name), channel.stamp)) return *known;
    if (died_with_client(name.first, channel.stamp)) return false;
    channels_[name] =
        ChannelRow{.live = std::nullopt, .stamp = channel.stamp, .until = time + kRememberRemoved};
    return true;
}

// --- SubscriptionFold: reads

std::optional<StoredClient> SubscriptionFold::client(core::Partition partition,
                                                     const core::Uaid& uaid) {
    auto row = client_row({partition, uaid});
    return row ? std::move(row->live) : std::nullopt;
}

ClientPage SubscriptionFold::clients_after(core::Partition partition,
                                           const std::optional<core::Uaid>& after,
                                           std::size_t rows_max) {
    return checked(tables_.clients_after(partition, after, rows_max));
}

std::optional<StoredChannel> SubscriptionFold::channel(core::Partition partition,
                                                       const core::Uaid& uaid,
                                                       const core::ChannelId& channel) {
    auto row = channel_row({{partition, uaid}, channel});
    if (!row || !row->live || !client(partition, uaid)) return std::nullopt;
    return std::move(row->live);
}

std::vector<StoredChannel> SubscriptionFold::channels(core::Partition partition,
                                                      const core::Uaid& uaid) {
    std::vector<StoredChannel> living;
    if (!client(partition, uaid)) return living;
    for (auto& [channel, row] : channel_rows({partition, uaid})) {
        if (row.live) living.push_back(std::move(*row.live));
    }
    return living;
}

ChannelCount SubscriptionFold::count_channels(core::Partition partition, const core::Uaid& uaid,
                                              std::size_t rows_max) {
    ChannelCount count;
    const auto add = [&count](const ChannelRow& row) {
        ++count.rows;
        if (row.live) ++count.living;
    };
    const ClientName name{partition, uaid};
    const auto read =
        tables_.each_channel(partition, uaid, [&](const auto& channel, ChannelRow row) {
            if (!channels_.contains({name, channel})) add(row);
            return count.rows < rows_max;
        });
    if (!read && !broken_) broken_ = read.error();
    for (auto it = channels_.lower_bound({name, core::ChannelId{}});
         it != channels_.end() && it->first.first == name && count.rows < rows_max; ++it) {
        if (it->second) add(*it->second);
    }
    return count;
}

}  // namespace beckon::store
