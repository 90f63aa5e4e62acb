#include "store/subscription_store.hpp"

#include "core/assert.hpp"
#include "core/logger.hpp"
#include "store/database.hpp"
#include "store/digest.hpp"
#include "store/schema.hpp"
#include "store/subscription_fold.hpp"

#include <atomic>
#include <map>
#include <utility>

namespace beckon::store {

namespace {

class SubscriptionStoreImpl final : public SubscriptionStore {
public:
    SubscriptionStoreImpl(std::unique_ptr<Database> database, core::Partition partitions)
        : database_(std::move(database)),
          partitions_(partitions),
          checkpoints_family_(database_->family("partitions")),
          tables_(*database_),
          fold_(tables_) {}

    std::optional<core::Checkpoint> checkpoint(core::Partition partition) const override;
    bool fold(core::Partition partition, const core::SubscriptionsEvent& event,
              core::Timestamp time) override;
    void advance(core::Partition partition, core::Offset next,
                 std::optional<core::Timestamp> caught_up) override;
    core::Result<void> commit() override;
    core::Result<void> clear(core::Partition partition) override;

    std::optional<Subscription> find(const core::Uaid& uaid,
                                     const core::ChannelId& channel) const override;
    std::optional<StoredClient> client(const core::Uaid& uaid) const override;
    std::vector<core::ChannelId> channels(const core::Uaid& uaid) const override;
    bool unreadable() const override { return unreadable_.load(std::memory_order_relaxed); }
    std::string digest() const override;

private:
    /// What a table said, or nothing, which is noted.
    template <class T>
    T checked(core::Result<T> result) const {
        if (result) return std::move(*result);
        if (!unreadable_.exchange(true)) {
            core::log_error("store", "unreadable", {{"why", result.error().message}});
        }
        return {};
    }

    core::Partition home_of(const core::Uaid& uaid) const {
        return core::partition_of(uaid, partitions_);
    }

    const std::unique_ptr<Database> database_;
    const core::Partition partitions_;
    const Family checkpoints_family_;
    const SubscriptionTables tables_;

    // Owned by the folding thread.
    SubscriptionFold fold_;
    std::map<core::Partition, core::Checkpoint> advanced_;  ///< in this batch
    std::map<core::Partition, core::Timestamp> newest_;     ///< in this batch

    mutable std::atomic<bool> unreadable_ = false;
};

// --- folding thread

std::optional<core::Checkpoint> SubscriptionStoreImpl::checkpoint(core::Partition partition) const {
    const auto known = advanced_.find(partition);
    if (known != advanced_.end()) return known->second;
    std::string value;
    const auto key = checkpoint_row_key(partition, Source::subscriptions);
    const auto status = database_->db().Get({}, checkpoints_family_.get(), slice(key), &value);
    // What cannot be read is as good as none: the partition is restored from the log.
    return status.ok() ? parse_checkpoint(value) : std::nullopt;
}

bool SubscriptionStoreImpl::fold(core::Partition partition, const core::SubscriptionsEvent& event,
                                 core::Timestamp time) {
    newest_[partition] = time;
    return std::visit(
        core::Overloaded{
            [&](const core::ClientRecorded& e) { return fold_.put_client(partition, e); },
            [&](const core::ClientRemoved& e) { return fold_.remove_client(partition, e, time); },
            [&](const core::ChannelRecorded& e) { return fold_.put_channel(partition, e); },
            [&](const core::ChannelRemoved& e) { return fold_.remove_channel(partition, e, time); },
            [](const core::Mark&) { return true; },
            [](const core::Lease&) { return true; },
            [](const core::Unknown&) { return true; },
        },
        event);
}

void SubscriptionStoreImpl::advance(core::Partition partition, core::Offset next,
                                    std::optional<core::Timestamp> caught_up) {
    core::Checkpoint moved = checkpoint(partition).value_or(core::Checkpoint{});
    moved.next = next;
    if (caught_up) {
        moved.caught_up = *caught_up;
        newest_[partition] = *caught_up;
    }
    advanced_.insert_or_assign(partition, moved);
}

core::Result<void> SubscriptionStoreImpl::commit() {
    if (fold_.broken()) return core::fail(*fold_.broken());
    if (unreadable()) {
        return core::fail(core::Fault::corrupt,
                          "store " + database_->directory().string() + ": a row is unreadable");
    }
    rocksdb::WriteBatch batch;
    fold_.write_to(batch);
    for (const auto& [partition, checkpoint] : advanced_) {
        std::string value;
        append_checkpoint(value, checkpoint);
        batch.Put(checkpoints_family_.get(),
                  slice(checkpoint_row_key(partition, Source::subscriptions)), slice(value));
    }
    if (batch.Count() > 0) {
        if (auto written = database_->write(batch); !written) return written;
    }
    for (const auto& [partition, time] : newest_) database_->fold_times().set(partition, time);
    fold_.committed();
    advanced_.clear();
    newest_.clear();
    return {};
}

core::Result<void> SubscriptionStoreImpl::clear(core::Partition partition) {
    if (fold_.broken()) {
        // The batch is worthless, for all partitions: what it held is folded again.
        fold_.reset();
        advanced_.clear();
        newest_.clear();
    } else if (auto committed = commit(); !committed) {
        return committed;
    }
    const std::string begin = partition_begin(partition);
    const std::string end = partition_begin(partition + 1);
    rocksdb::WriteBatch batch;
    for (const auto& family :
         {tables_.clients_family, tables_.channels_family, checkpoints_family_}) {
        batch.DeleteRange(family.get(), slice(begin), slice(end));
    }
    database_->fold_times().forget(partition);
    return database_->write(batch);
}

// --- any thread

std::optional<SubscriptionStore::Subscription> SubscriptionStoreImpl::find(
    const core::Uaid& uaid, const core::ChannelId& channel) const {
    const auto partition = home_of(uaid);
    auto row = checked(tables_.client(partition, uaid));
    if (!row || !row->live) return std::nullopt;
    Subscription found{.router_type = row->live->router_type,
                       .router_data = std::move(row->live->router_data)};
    const auto known = checked(tables_.channel(partition, uaid, channel));
    found.channel_known = known && known->live;
    return found;
}

std::optional<StoredClient> SubscriptionStoreImpl::client(const core::Uaid& uaid) const {
    auto row = checked(tables_.client(home_of(uaid), uaid));
    return row ? std::move(row->live) : std::nullopt;
}

std::vector<core::ChannelId> SubscriptionStoreImpl::channels(const core::Uaid& uaid) const {
    std::vector<core::ChannelId> living;
    if (!client(uaid)) return living;
    for (const auto& [channel, row] : checked(tables_.channels(home_of(uaid), uaid))) {
        if (row.live) living.push_back(channel);
    }
    return living;
}

std::string SubscriptionStoreImpl::digest() const {
    Digest digest;
    for (core::Partition p = 0; p < partitions_; ++p) add_subscriptions(digest, tables_, p);
    return digest.text();
}

}  // namespace

core::Result<std::unique_ptr<SubscriptionStore>> open_subscription_store(
    const SubscriptionStoreOptions& options) {
    BECKON_ASSERT(options.partitions >= 1, "a log has at least one partition");
    DatabaseOptions settings;
    settings.directory = options.directory;
    settings.log_id = options.log_id;
    // Rows stand under the partition that the count gives: another count is another layout.
    settings.format = "subscriptions/1/" + std::to_string(options.partitions);
    settings.families = SubscriptionTables::families();
    settings.families.push_back({"partitions", FamilyKind::plain});
    settings.memory = options.memory ? options.memory
                                     : std::make_shared<rocks::Memory>(options.cache_bytes,
                                                                       options.write_buffer_bytes);
    auto database = Database::open(settings);
    if (!database) return core::fail(database.error());
    return std::unique_ptr<SubscriptionStore>{
        std::make_unique<SubscriptionStoreImpl>(std::move(*database), options.partitions)};
}

}  // namespace beckon::store
