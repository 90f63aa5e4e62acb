#include "store/partition_store.hpp"

#include "core/assert.hpp"
#include "store/folds/digest.hpp"
#include "store/partition_impl.hpp"
#include "store/tables/row_changes.hpp"

#include <algorithm>

#include <rocksdb/write_batch.h>

namespace beckon::store {

namespace {

/// Bytes of messages, as kCommitRows counts rows.
constexpr std::size_t kCommitBytes = 2U << 20;

/// About the bytes that a row takes in a batch beside the text of a message: key, form and time,
/// ids, sizes.
constexpr std::size_t kRowBytes = 64;

constexpr std::array kSources{Source::notifications, Source::subscriptions};

}  // namespace

// --- Impl

PartitionStore::Impl::Impl(const EdgeTables& t, core::Partition p, std::function<void()> c)
    : tables(t),
      partition(p),
      closed(std::move(c)),
      notifications(tables.database, tables.months, partition),
      subscriptions(tables.subscriptions),
      stale_writes(tables.database, partition),
      receipts(tables.database, partition) {
    go_back();
}

PartitionStore::Impl::~Impl() { closed(); }

std::optional<core::Error> PartitionStore::Impl::read_error() const {
    if (notifications.broken()) return notifications.broken();
    return subscriptions.broken() ? subscriptions.broken() : table_unread;
}

std::size_t PartitionStore::Impl::changed_rows() const {
    return notifications.changed_rows() + subscriptions.changed_rows() +
           stale_writes.changed_rows() + receipts.changed_rows();
}

bool PartitionStore::Impl::folded(const StaleWrite& what, bool won) {
    stale_writes.folded(what, won);
    return won;
}

/// Back to the committed state.
void PartitionStore::Impl::go_back() {
    notifications.reset();
    subscriptions.reset();
    stale_writes.reset();
    receipts.reset();
    table_unread.reset();
    if (auto loaded = stale_writes.load(); !loaded) table_unread = loaded.error();
    if (auto loaded = receipts.load(); !loaded) table_unread = loaded.error();
    for (const auto source : kSources) {
        progress_of(source) = {.checkpoint = tables.checkpoints.find(partition, source)};
        if (const auto& known = progress_of(source).checkpoint) {
            notifications.raise_latest(known->caught_up);
        }
    }
}

void PartitionStore::Impl::committed() {
    for (const auto source : kSources) {
        auto& state = progress_of(source);
        if (!std::exchange(state.advanced, false)) continue;
        tables.checkpoints.committed(partition, source, *state.checkpoint);
    }
    // Rows of both log topics go by it, so it is the lower one: their leaders' clocks may differ.
    tables.database.fold_times().set(partition, std::min(progress[0].time, progress[1].time));
    notifications.committed();
    subscriptions.committed();
    stale_writes.committed();
    receipts.committed();
}

/// At the log's end it is the time of the log's clock, which a step forward of the log's time does
/// not move at once. Short of the end there are only records: a fold that was at the end before may
/// meet such a step in them, so they lower the time and never raise it. In a restore they raise it.
core::Timestamp PartitionStore::Impl::time_of(Source source,
                                              std::optional<core::Timestamp> caught_up) {
    if (caught_up) return *caught_up;
    const auto& before = progress_of(source);
    if (source == Source::subscriptions) return before.time;
    const auto newest = notifications.newest();
    return before.was_at_end ? std::min(before.time, newest) : newest;
}

// --- where we are

PartitionStore::PartitionStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PartitionStore::~PartitionStore() = default;

std::optional<core::Checkpoint> PartitionStore::checkpoint(Source source) const {
    return impl_->progress_of(source).checkpoint;
}

void PartitionStore::advance(Source source, core::Offset next,
                             std::optional<core::Timestamp> caught_up, core::Timestamp youngest) {
    auto& progress = impl_->progress_of(source);
    core::Checkpoint checkpoint = progress.checkpoint.value_or(core::Checkpoint{});
    checkpoint.next = next;
    checkpoint.youngest = youngest;
    if (caught_up) checkpoint.caught_up = *caught_up;
    progress = {.checkpoint = checkpoint,
                .advanced = true,
                .time = impl_->time_of(source, caught_up),
                .was_at_end = progress.was_at_end || caught_up};
}

bool PartitionStore::dirty() const {
    return impl_->changed_rows() > 0 || impl_->progress[0].advanced ||
           impl_->progress[1].advanced || broken();
}

bool PartitionStore::commit_due() const {
    return impl_->changed_rows() >= kCommitRows ||
           impl_->notifications.changed_bytes() >= kCommitBytes || broken();
}

std::size_t PartitionStore::changed_rows() const { return impl_->changed_rows(); }

std::size_t PartitionStore::changed_bytes() const { return impl_->notifications.changed_bytes(); }

bool PartitionStore::broken() const { return impl_->read_error().has_value(); }

core::Result<void> PartitionStore::commit() {
    if (const auto error = impl_->read_error()) {
        if (error->fault != core::Fault::corrupt) impl_->go_back();
        return core::fail(*error);
    }
    if (!dirty()) return {};
    rocksdb::WriteBatch batch{impl_->changed_rows() * kRowBytes +
                              impl_->notifications.changed_bytes()};
    if (auto added = impl_->notifications.write_to(batch); !added) return added;
    impl_->subscriptions.write_to(batch);
    impl_->stale_writes.write_to(batch);
    impl_->receipts.write_to(batch);
    for (const auto source : kSources) {
        const auto& state = impl_->progress_of(source);
        if (!state.advanced) continue;
        impl_->tables.checkpoints.put(batch, impl_->partition, source, *state.checkpoint);
    }
    if (auto written = impl_->tables.database.write(batch); !written) {
        impl_->notifications.write_failed();
        impl_->receipts.write_failed();
        return written;
    }
    impl_->committed();
    return {};
}

core::Result<void> PartitionStore::clear() {
    auto& database = impl_->tables.database;
    rocksdb::WriteBatch batch;
    const auto erase = [&](const Family& family) {
        database.erase_rows_of(impl_->partition, family, batch);
    };
    for (const auto& spec : NotificationFold::families()) erase(database.family(spec.name));
    for (const auto& spec : SubscriptionTables::families()) erase(database.family(spec.name));
    erase(database.family(StaleWriteTable::family_spec().name));
    erase(database.family(ReceiptTable::family_spec().name));
    const auto months = impl_->tables.months.list();
    for (const auto& month : *months) erase(month.family);
    impl_->tables.checkpoints.erase(batch, impl_->partition);
    if (auto written = database.write(batch); !written) return written;
    impl_->tables.checkpoints.erased(impl_->partition);
    database.fold_times().forget(impl_->partition);
    impl_->go_back();
    return {};
}

// --- the fold of `notifications`

PutOutcome PartitionStore::put(core::Offset offset, core::Timestamp appended,
                               const core::NotificationAccepted& message,
                               std::optional<core::MessageKey>* replaced) {
    const auto& folded = impl_->progress_of(Source::notifications).checkpoint;
    if (folded && offset < folded->next) return PutOutcome::repeated;
    return impl_->notifications.put(offset, appended, message, replaced);
}

bool PartitionStore::finish(const core::NotificationFinished& done, core::Timestamp time) {
    if (auto erased = impl_->receipts.erase(done.key); !erased && !impl_->table_unread) {
        impl_->table_unread = erased.error();
    }
    return impl_->notifications.finish(done, time);
}

void PartitionStore::put_receipt(const core::MessageKey& key, Receipt receipt) {
    if (auto added = impl_->receipts.add(key, std::move(receipt)); !added && !impl_->table_unread) {
        impl_->table_unread = added.error();
    }
}
std::optional<Receipt> PartitionStore::receipt(const core::MessageKey& key) {
    return impl_->value_of(impl_->receipts.find(key));
}
std::vector<core::MessageKey> PartitionStore::receipts_due(core::Timestamp now, std::size_t max) {
    return impl_->value_of(impl_->receipts.due(now, max));
}

// --- the fold of `subscriptions`

bool PartitionStore::put_client(const core::ClientRecorded& client) {
    return impl_->folded({client.uaid, std::nullopt},
                         impl_->subscriptions.put_client(impl_->partition, client));
}
bool PartitionStore::remove_client(const core::ClientRemoved& client, core::Timestamp time) {
    impl_->notifications.raise_latest(time);
    std::vector<core::ChannelId> dropped;
    const bool won = impl_->subscriptions.remove_client(impl_->partition, client, time, &dropped);
    for (const auto& channel : dropped) impl_->folded({client.uaid, channel}, false);
    return impl_->folded({client.uaid, std::nullopt}, won);
}
bool PartitionStore::put_channel(const core::ChannelRecorded& channel) {
    return impl_->folded({channel.uaid, channel.channel},
                         impl_->subscriptions.put_channel(impl_->partition, channel));
}
bool PartitionStore::remove_channel(const core::ChannelRemoved& channel, core::Timestamp time) {
    impl_->notifications.raise_latest(time);
    return impl_->folded({channel.uaid, channel.channel},
                         impl_->subscriptions.remove_channel(impl_->partition, channel, time));
}

// --- decisions of a serving home

bool PartitionStore::add_tombstone(const core::Uaid& uaid, const core::MessageKey& key,
                                   core::FinishReason reason, std::optional<core::Milestone> end) {
    return impl_->notifications.add_tombstone(uaid, key, reason, end, false);
}
bool PartitionStore::add_acked_tombstone(const core::Uaid& uaid, const core::MessageKey& key,
                                         std::optional<core::Milestone> end) {
    const bool may_wait = !receipt(key);
    return impl_->notifications.add_tombstone(uaid, key, core::FinishReason::acked, end, may_wait);
}
void PartitionStore::write_postponed(bool all) { impl_->notifications.write_postponed(all); }
std::optional<core::Tracked> PartitionStore::tracked(const core::Uaid& uaid,
                                                     const core::MessageKey& key) {
    return impl_->notifications.tracked(uaid, key);
}
bool PartitionStore::tombstone_pending(const core::Uaid& uaid, const core::MessageKey& key) {
    return impl_->notifications.tombstone_pending(uaid, key);
}
void PartitionStore::expire(const core::Uaid& uaid, const std::vector<ExpiredMessage>& expired) {
    impl_->notifications.expire(uaid, expired);
}

// --- reads

std::optional<StoredClient> PartitionStore::client(const core::Uaid& uaid) {
    return impl_->subscriptions.client(impl_->partition, uaid);
}
ClientPage PartitionStore::clients_after(const std::optional<core::Uaid>& after,
                                         std::size_t rows_max) {
    return impl_->subscriptions.clients_after(impl_->partition, after, rows_max);
}
std::optional<StoredChannel> PartitionStore::channel(const core::Uaid& uaid,
                                                     const core::ChannelId& channel) {
    return impl_->subscriptions.channel(impl_->partition, uaid, channel);
}
std::vector<StoredChannel> PartitionStore::channels(const core::Uaid& uaid) {
    return impl_->subscriptions.channels(impl_->partition, uaid);
}
ChannelCount PartitionStore::count_channels(const core::Uaid& uaid, std::size_t rows_max) {
    return impl_->subscriptions.count_channels(impl_->partition, uaid, rows_max);
}
ReadOutcome PartitionStore::read_pending(const core::Uaid& uaid, DrainCursor& cursor,
                                         std::size_t max, core::Timestamp now,
                                         const std::function<void(const MessageView&)>& sink) {
    auto outcome = impl_->notifications.read_pending(uaid, cursor, max, now, sink);
    impl_->messages_read += outcome.messages + outcome.expired.size();
    return outcome;
}
std::uint64_t PartitionStore::messages_read() const { return impl_->messages_read; }
std::vector<PendingTombstone> PartitionStore::pending_tombstones_after(
    const std::optional<PendingTombstone>& after, std::size_t max) {
    return impl_->notifications.pending_tombstones_after(after, max);
}
std::vector<StaleWrite> PartitionStore::stale_writes_after(const std::optional<StaleWrite>& after,
                                                           std::size_t max) {
    return impl_->value_of(impl_->stale_writes.page_after(after, max));
}
NewPendingTombstones PartitionStore::take_new_pending_tombstones() {
    return impl_->notifications.take_new_pending_tombstones();
}
std::size_t PartitionStore::pending_tombstone_count() const {
    return impl_->notifications.pending_tombstone_count();
}
std::size_t PartitionStore::pending_count(const core::Uaid& uaid, std::size_t at_most) {
    return impl_->notifications.pending_count(uaid, at_most);
}

std::string PartitionStore::digest(core::Timestamp now) {
    BECKON_ASSERT(!dirty(), "a digest covers committed rows only");
    auto& database = impl_->tables.database;
    Digest digest;
    add_subscriptions(digest, impl_->tables.subscriptions, impl_->partition);
    const auto add = [&](const Family& family, const Database::Visit& visit) {
        if (!database.scan(family, partition_range(impl_->partition), visit)) digest.spoil();
    };
    const auto months = impl_->tables.months.list();
    for (const auto& month : *months) {
        add(month.family, [&](std::string_view key, std::string_view value) {
            if (const auto due = drop_time(value); due && *due > now) {
                digest.add({"message", key, value});
            }
            return true;
        });
    }
    add(database.family("pending_tombstones"), [&](std::string_view key, std::string_view value) {
        digest.add({"pending_tombstones", key, value});
        return true;
    });
    return digest.text();
}

}  // namespace beckon::store
