#include "store/subscription_store.hpp"

#include "core/assert.hpp"
#include "core/logger.hpp"
#include "store/database.hpp"
#include "store/folds/digest.hpp"
#include "store/folds/subscription_fold.hpp"
#include "store/rows/schema.hpp"
#include "store/tables/checkpoint_table.hpp"
#include "store/tables/row_changes.hpp"

#include <atomic>
#include <map>
#include <utility>

namespace beckon::store {

struct SubscriptionStore::Impl {
    Impl(std::unique_ptr<Database> opened, CheckpointTable read, core::Partition count)
        : database(std::move(opened)),
          partitions(count),
          checkpoints(std::move(read)),
          tables(*database),
          fold(tables),
          damaged(static_cast<std::size_t>(count)) {}

    /// Passes on a table's result, and notes damage.
    template <class T>
    core::Result<T> noted(core::Partition partition, core::Result<T> result) const {
        if (!result && result.error().fault == core::Fault::corrupt) {
            found_damage(partition, result.error());
        }
        return result;
    }
    void found_damage(core::Partition partition, const core::Error& error) const {
        if (damaged[static_cast<std::size_t>(partition)].exchange(true)) return;
        core::log_error("store", "damaged", {{"partition", partition}, {"why", error.message}});
    }

    void note_damage_of_fold(core::Partition partition) const {
        const auto& error = fold.broken();
        if (error && error->fault == core::Fault::corrupt) found_damage(partition, *error);
    }

    core::Partition home_of(const core::Uaid& uaid) const {
        return core::partition_of(uaid, partitions);
    }
    void drop_batch();

    const std::unique_ptr<Database> database;
    const core::Partition partitions;
    CheckpointTable checkpoints;
    const SubscriptionTables tables;

    // Owned by the folding thread.
    SubscriptionFold fold;
    std::map<core::Partition, core::Checkpoint> advanced;  ///< in this batch
    std::map<core::Partition, core::Timestamp> newest;     ///< in this batch

    mutable std::vector<std::atomic<bool>> damaged;  ///< by partition
};

void SubscriptionStore::Impl::drop_batch() {
    fold.reset();
    advanced.clear();
    newest.clear();
}

SubscriptionStore::SubscriptionStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SubscriptionStore::~SubscriptionStore() = default;
bool SubscriptionStore::damaged(core::Partition partition) const {
    return impl_->damaged[static_cast<std::size_t>(partition)];
}

// --- folding thread

std::optional<core::Checkpoint> SubscriptionStore::checkpoint(core::Partition partition) const {
    const auto known = impl_->advanced.find(partition);
    if (known != impl_->advanced.end()) return known->second;
    return impl_->checkpoints.find(partition, Source::subscriptions);
}

bool SubscriptionStore::fold(core::Partition partition, const core::SubscriptionsEvent& event,
                             core::Timestamp time) {
    if (impl_->fold.broken()) return true;  // the batch is dropped anyhow
    impl_->newest[partition] = time;
    const bool won = std::visit(
        core::Overloaded{
            [&](const core::ClientRecorded& e) { return impl_->fold.put_client(partition, e); },
            [&](const core::ClientRemoved& e) {
                return impl_->fold.remove_client(partition, e, time);
            },
            [&](const core::ChannelRecorded& e) { return impl_->fold.put_channel(partition, e); },
            [&](const core::ChannelRemoved& e) {
                return impl_->fold.remove_channel(partition, e, time);
            },
            [](const core::BarrierRecord&) { return true; },
            [](const core::Lease&) { return true; },
            [](const core::Unknown&) { return true; },
        },
        event);
    impl_->note_damage_of_fold(partition);
    return won;
}

void SubscriptionStore::fold(core::Partition partition, const core::ClientGone& gone,
                             core::Timestamp time) {
    if (impl_->fold.broken()) return;  // the batch is dropped anyhow
    impl_->newest[partition] = time;
    impl_->fold.end_client_with_token(partition, gone, time);
    impl_->note_damage_of_fold(partition);
}

void SubscriptionStore::advance(core::Partition partition, core::Offset next,
                                std::optional<core::Timestamp> caught_up,
                                core::Timestamp youngest) {
    core::Checkpoint moved = checkpoint(partition).value_or(core::Checkpoint{});
    moved.next = next;
    moved.youngest = youngest;
    if (caught_up) {
        moved.caught_up = *caught_up;
        impl_->newest[partition] = *caught_up;
    }
    impl_->advanced.insert_or_assign(partition, moved);
}

bool SubscriptionStore::commit_due() const {
    return impl_->fold.changed_rows() >= kCommitRows || impl_->fold.broken();
}

core::Result<void> SubscriptionStore::commit() {
    auto& impl = *impl_;
    if (const auto error = impl.fold.broken()) {
        impl.drop_batch();
        return core::fail(core::Fault::unavailable, error->message);
    }
    rocksdb::WriteBatch batch;
    impl.fold.write_to(batch);
    for (const auto& [partition, checkpoint] : impl.advanced) {
        impl.checkpoints.put(batch, partition, Source::subscriptions, checkpoint);
    }
    if (batch.Count() > 0) {
        if (auto written = impl.database->write(batch); !written) return written;
    }
    auto& fold_times = impl.database->fold_times();
    for (const auto& [partition, time] : impl.newest) fold_times.set(partition, time);
    for (const auto& [partition, checkpoint] : impl.advanced) {
        impl.checkpoints.committed(partition, Source::subscriptions, checkpoint);
    }
    impl.fold.committed();
    impl.advanced.clear();
    impl.newest.clear();
    return {};
}

core::Result<void> SubscriptionStore::clear(core::Partition partition) {
    auto& impl = *impl_;
    if (impl.fold.broken()) {
        impl.drop_batch();  // void, for all partitions: its records are folded again
    } else if (auto committed = commit(); !committed) {
        return committed;
    }
    rocksdb::WriteBatch batch;
    for (const auto& family : {impl.tables.clients_family, impl.tables.channels_family}) {
        impl.database->erase_rows_of(partition, family, batch);
    }
    impl.checkpoints.erase(batch, partition);
    if (auto written = impl.database->write(batch); !written) return written;
    impl.checkpoints.erased(partition);
    impl.database->fold_times().forget(partition);
    impl.damaged[static_cast<std::size_t>(partition)] = false;
    return {};
}

// --- any thread

core::Result<std::optional<SubscriptionStore::Subscription>> SubscriptionStore::find(
    const core::Uaid& uaid, const core::ChannelId& channel) const {
    using Found = std::optional<Subscription>;
    const auto partition = impl_->home_of(uaid);
    auto row = impl_->noted(partition, impl_->tables.client(partition, uaid));
    if (!row) return core::fail(row.error());
    if (!*row || !(*row)->live) return Found{};
    auto& client = *(*row)->live;
    const auto known = impl_->noted(partition, impl_->tables.channel(partition, uaid, channel));
    if (!known) return core::fail(known.error());
    return Found{{.router_type = client.router_type,
                  .router_data = std::move(client.router_data),
                  .channel_known = *known && (*known)->live}};
}

core::Result<std::optional<StoredClient>> SubscriptionStore::client(const core::Uaid& uaid) const {
    const auto partition = impl_->home_of(uaid);
    auto row = impl_->noted(partition, impl_->tables.client(partition, uaid));
    if (!row) return core::fail(row.error());
    return *row ? std::move((*row)->live) : std::nullopt;
}

core::Result<std::vector<core::ChannelId>> SubscriptionStore::channels(
    const core::Uaid& uaid) const {
    std::vector<core::ChannelId> living;
    const auto its_client = client(uaid);
    if (!its_client) return core::fail(its_client.error());
    if (!*its_client) return living;
    const auto partition = impl_->home_of(uaid);
    const auto rows = impl_->noted(partition, impl_->tables.channels(partition, uaid));
    if (!rows) return core::fail(rows.error());
    for (const auto& [channel, row] : *rows) {
        if (row.live) living.push_back(channel);
    }
    return living;
}

core::Result<ChannelCount> SubscriptionStore::count_channels(const core::Uaid& uaid,
                                                             std::size_t rows_max) const {
    const auto partition = impl_->home_of(uaid);
    ChannelCount count;
    const auto read = impl_->noted(
        partition, impl_->tables.each_channel(partition, uaid,
                                              [&](const core::ChannelId&, const ChannelRow& row) {
                                                  ++count.rows;
                                                  if (row.live) ++count.living;
                                                  return count.rows < rows_max;
                                              }));
    if (!read) return core::fail(read.error());
    return count;
}

std::string SubscriptionStore::digest() const {
    Digest digest;
    for (core::Partition p = 0; p < impl_->partitions; ++p)
        add_subscriptions(digest, impl_->tables, p);
    return digest.text();
}

core::Result<std::unique_ptr<SubscriptionStore>> SubscriptionStore::open(
    const SubscriptionStoreOptions& options) {
    BECKON_ASSERT(options.partitions >= 1, "a log has at least one partition");
    DatabaseOptions settings;
    settings.directory = options.directory;
    settings.log_id = options.log_id;
    // Rows stand under the partition that the count gives: another count is another layout.
    settings.format = "subscriptions/1/" + std::to_string(options.partitions);
    settings.families = SubscriptionTables::families();
    settings.families.push_back(CheckpointTable::family_spec());
    settings.memory = options.memory ? options.memory
                                     : std::make_shared<rocks::Memory>(options.cache_bytes,
                                                                       options.write_buffer_bytes);
    settings.env = options.env;
    settings.check = CheckpointTable::check;
    auto database = Database::open(settings);
    if (!database) return core::fail(database.error());
    auto checkpoints = CheckpointTable::read(**database);
    if (!checkpoints) return core::fail(checkpoints.error());
    return std::unique_ptr<SubscriptionStore>{new SubscriptionStore{
        std::make_unique<Impl>(std::move(*database), std::move(*checkpoints), options.partitions)}};
}

}  // namespace beckon::store
