#include "store/partition_store.hpp"

#include "core/assert.hpp"
#include "store/digest.hpp"
#include "store/notification_fold.hpp"
#include "store/subscription_fold.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <rocksdb/iterator.h>
#include <rocksdb/write_batch.h>

namespace beckon::store {

namespace {

/// What commit_due() lets gather: enough for a batch to be cheap, little to fold again.
constexpr std::size_t kCommitRows = 5'000;
constexpr std::size_t kCommitBytes = 4U << 20;

constexpr std::array kSources{Source::notifications, Source::subscriptions};

class PartitionStoreImpl final : public PartitionStore {
public:
    PartitionStoreImpl(const EdgeTables& tables, core::Partition partition,
                       std::function<void()> closed)
        : database_(tables.database),
          months_(tables.months),
          partition_(partition),
          closed_(std::move(closed)),
          checkpoints_family_(database_.family("partitions")),
          subscription_tables_(tables.subscriptions),
          notifications_(database_, months_, partition),
          subscriptions_(tables.subscriptions) {
        load_checkpoints();
    }
    ~PartitionStoreImpl() override { closed_(); }

    std::optional<core::Checkpoint> checkpoint(Source source) const override {
        return progress_of(source).checkpoint;
    }
    void advance(Source source, core::Offset next,
                 std::optional<core::Timestamp> caught_up) override;
    core::Result<void> clear() override;
    core::Result<void> commit() override;
    bool dirty() const override { return changed_rows() > 0 || advanced(); }
    bool commit_due() const override {
        return changed_rows() >= kCommitRows || notifications_.changed_bytes() >= kCommitBytes;
    }

    PutOutcome put(core::Offset offset, core::Timestamp appended,
                   const core::NotificationAccepted& message,
                   std::optional<core::MessageKey>* replaced) override {
        const auto& folded = progress_of(Source::notifications).checkpoint;
        if (folded && offset < folded->next) return PutOutcome::repeated;
        return notifications_.put(offset, appended, message, replaced);
    }
    bool finish(const core::Uaid& uaid, const core::MessageKey& key,
                core::Timestamp time) override {
        return notifications_.finish(uaid, key, time);
    }

    bool put_client(const core::ClientRecorded& client) override {
        return subscriptions_.put_client(partition_, client);
    }
    bool remove_client(const core::ClientRemoved& client, core::Timestamp time) override {
        notifications_.raise_latest(time);
        return subscriptions_.remove_client(partition_, client, time);
    }
    bool put_channel(const core::ChannelRecorded& channel) override {
        return subscriptions_.put_channel(partition_, channel);
    }
    bool remove_channel(const core::ChannelRemoved& channel, core::Timestamp time) override {
        notifications_.raise_latest(time);
        return subscriptions_.remove_channel(partition_, channel, time);
    }

    bool owe(const core::Uaid& uaid, const core::MessageKey& key, core::FinishReason reason,
             std::optional<core::Milestone> end) override {
        return notifications_.owe(uaid, key, reason, end);
    }
    std::optional<core::Tracked> tracked(const core::Uaid& uaid,
                                         const core::MessageKey& key) override {
        return notifications_.tracked(uaid, key);
    }

    std::optional<StoredClient> client(const core::Uaid& uaid) override {
        return subscriptions_.client(partition_, uaid);
    }
    std::optional<StoredChannel> channel(const core::Uaid& uaid,
                                         const core::ChannelId& channel) override {
        return subscriptions_.channel(partition_, uaid, channel);
    }
    std::vector<StoredChannel> channels(const core::Uaid& uaid) override {
        return subscriptions_.channels(partition_, uaid);
    }
    ReadOutcome read_pending(const core::Uaid& uaid, DrainCursor& cursor, std::size_t max,
                             core::Timestamp now,
                             const std::function<void(const MessageView&)>& sink) override {
        return notifications_.read_pending(uaid, cursor, max, now, sink);
    }
    std::vector<Debt> debts_after(const std::optional<Debt>& after, std::size_t max) override {
        return notifications_.debts().after(after, max);
    }
    NewDebts take_new_debts() override { return notifications_.debts().take_new(); }
    std::size_t debt_count() const override { return notifications_.debts().size(); }
    bool broken() const override { return error().has_value(); }
    std::string digest(core::Timestamp now) override;
    std::size_t pending_count(const core::Uaid& uaid, std::size_t at_most) override {
        return notifications_.pending_count(uaid, at_most);
    }

private:
    struct Progress {
        std::optional<core::Checkpoint> checkpoint;
        bool advanced = false;  ///< since the last commit
    };

    const Progress& progress_of(Source source) const {
        return progress_[static_cast<std::size_t>(source)];
    }
    Progress& progress_of(Source source) { return progress_[static_cast<std::size_t>(source)]; }
    bool advanced() const { return progress_[0].advanced || progress_[1].advanced; }
    std::optional<core::Error> error() const {
        return notifications_.broken() ? notifications_.broken() : subscriptions_.broken();
    }
    std::size_t changed_rows() const {
        return notifications_.changed_rows() + subscriptions_.changed_rows();
    }
    void load_checkpoints();
    void write_checkpoints_to(rocksdb::WriteBatch& batch) const;
    void committed();

    Database& database_;
    Months& months_;
    const core::Partition partition_;
    const std::function<void()> closed_;
    const Family checkpoints_family_;
    const SubscriptionTables& subscription_tables_;

    std::array<Progress, 2> progress_;
    core::Timestamp fold_time_{};  ///< log time that the fold has come to
    NotificationFold notifications_;
    SubscriptionFold subscriptions_;
};

void PartitionStoreImpl::load_checkpoints() {
    for (const auto source : kSources) {
        std::string value;
        const auto key = checkpoint_row_key(partition_, source);
        const auto status = database_.db().Get({}, checkpoints_family_.get(), slice(key), &value);
        // What cannot be read is as good as none: the partition is restored from the log.
        if (!status.ok()) continue;
        progress_of(source).checkpoint = parse_checkpoint(value);
        if (const auto& known = progress_of(source).checkpoint) {
            notifications_.raise_latest(known->caught_up);
        }
    }
}

void PartitionStoreImpl::advance(Source source, core::Offset next,
                                 std::optional<core::Timestamp> caught_up) {
    auto& progress = progress_of(source);
    core::Checkpoint checkpoint = progress.checkpoint.value_or(core::Checkpoint{});
    checkpoint.next = next;
    if (caught_up) checkpoint.caught_up = *caught_up;
    fold_time_ = caught_up.value_or(notifications_.newest());
    progress.checkpoint = checkpoint;
    progress.advanced = true;
}

core::Result<void> PartitionStoreImpl::commit() {
    if (const auto why = error()) return core::fail(*why);
    if (!dirty()) return {};
    rocksdb::WriteBatch batch;
    if (auto added = notifications_.write_to(batch); !added) return added;
    subscriptions_.write_to(batch);
    write_checkpoints_to(batch);
    if (auto written = database_.write(batch); !written) {
        notifications_.suspect();
        return written;
    }
    committed();
    return {};
}

void PartitionStoreImpl::write_checkpoints_to(rocksdb::WriteBatch& batch) const {
    for (const auto source : kSources) {
        const auto& progress = progress_of(source);
        if (!progress.advanced) continue;
        std::string value;
        append_checkpoint(value, *progress.checkpoint);
        batch.Put(checkpoints_family_.get(), slice(checkpoint_row_key(partition_, source)),
                  slice(value));
    }
}

void PartitionStoreImpl::committed() {
    for (auto& progress : progress_) progress.advanced = false;
    database_.fold_times().set(partition_, fold_time_);
    notifications_.committed();
    subscriptions_.committed();
}

core::Result<void> PartitionStoreImpl::clear() {
    const std::string begin = partition_begin(partition_);
    const std::string end = partition_begin(partition_ + 1);
    rocksdb::WriteBatch batch;
    const auto erase = [&](const Family& family) {
        batch.DeleteRange(family.get(), slice(begin), slice(end));
    };
    for (const auto& spec : NotificationFold::families()) erase(database_.family(spec.name));
    for (const auto& spec : SubscriptionTables::families()) erase(database_.family(spec.name));
    const auto months = months_.list();
    for (const auto& month : *months) erase(month.family);
    erase(checkpoints_family_);
    if (auto written = database_.write(batch); !written) return written;
    database_.fold_times().forget(partition_);
    progress_ = {};
    fold_time_ = {};
    notifications_.reset();
    subscriptions_.reset();
    return {};
}

std::string PartitionStoreImpl::digest(core::Timestamp now) {
    BECKON_ASSERT(!dirty(), "a digest covers what is committed");
    Digest digest;
    add_subscriptions(digest, subscription_tables_, partition_);
    const auto add = [&](rocksdb::ColumnFamilyHandle& family, const auto& visit) {
        if (!scan_partition(database_.db(), family, partition_, visit)) digest.spoil();
    };
    const auto months = months_.list();
    for (const auto& month : *months) {
        add(*month.family, [&](std::string_view key, std::string_view value) {
            if (const auto due = drop_time(value); due && *due > now) {
                digest.add({"message", key, value});
            }
        });
    }
    add(*database_.family("owed"), [&](std::string_view key, std::string_view value) {
        digest.add({"owed", key, value});
    });
    return digest.text();
}

}  // namespace

std::unique_ptr<PartitionStore> make_partition_store(const EdgeTables& tables,
                                                     core::Partition partition,
                                                     std::function<void()> closed) {
    return std::make_unique<PartitionStoreImpl>(tables, partition, std::move(closed));
}

}  // namespace beckon::store
