#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "records/events.hpp"
#include "store/database.hpp"
#include "store/folds/digest.hpp"
#include "store/rows/schema.hpp"
#include "store/tables/message_table.hpp"
#include "store/tables/pending_tombstone_table.hpp"
#include "store/tables/row_changes.hpp"
#include "store/types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// Acknowledged messages whose changes commits leave out
/// (docs/decisions/0201-an-ack-is-committed-with-its-tombstone.md): an overlay of the tables, which
/// know nothing of it and have each of these messages as still pending. Reads look here first. One
/// thread.
class PostponedAcks {
public:
    struct Ack {
        PendingTombstone pending;
        core::Timestamp expiry{};
        bool seen = false;  ///< it was here at the last due()
    };

    void add(const PendingTombstone& pending, core::Timestamp expiry);
    /// Removes it, so that its changes are made in the tables; nullopt: it is not here.
    std::optional<Ack> take(const KeyName& name);

    /// nullptr: it is not here.
    const Ack* find(const KeyName& name) const;
    /// The message that was put at `offset` is here.
    bool contains(core::Offset offset) const { return acks_.contains(offset); }
    /// Adds those behind `after` to pending tombstones of a table, `max` in all, in their order.
    void merge_into(std::vector<PendingTombstone>& found,
                    const std::optional<PendingTombstone>& after, std::size_t max) const;

    /// All, or those that the last call has seen.
    std::vector<KeyName> due(bool all);
    std::size_t size() const { return acks_.size(); }
    void clear();

private:
    using Acks = std::map<core::Offset, Ack>;
    Acks acks_;  ///< by the offset of the put
    std::unordered_map<KeyName, Acks::iterator, KeyHash> by_name_;
};

/// The last few thousand finished messages of a partition, in memory: a producer's duplicate of
/// such a put must not be pending again (docs/design.md#a-key-is-published-once). Older ones are
/// forgotten one by one as newer ones take their places. One thread.
class RecentlyFinished {
public:
    struct Entry {
        core::MessageKey key;
        core::Offset put_offset = -1;
        core::Timestamp when{};  ///< log time
    };

    void remember(const core::MessageKey& key, core::Offset put_offset, core::Timestamp when) {
        if (!places_) places_ = std::make_unique<std::array<Entry, kPlaces>>();
        (*places_)[place_of(key)] = {key, put_offset, when};
    }
    /// nullptr: never finished, or forgotten.
    const Entry* find(const core::MessageKey& key) const {
        if (!places_) return nullptr;
        const Entry& entry = (*places_)[place_of(key)];
        return entry.put_offset >= 0 && entry.key == key ? &entry : nullptr;
    }
    void clear() { places_.reset(); }

private:
    static constexpr std::size_t kPlaces = 4096;  ///< 128 KB
    static std::size_t place_of(const core::MessageKey& key) {
        return (std::hash<core::MessageKey>{}(key)*0x9e3779b97f4a7c15ULL) >> 52;
    }

    std::unique_ptr<std::array<Entry, kPlaces>> places_;  ///< made when first needed
};

/// The pending tombstones that arose since they were last taken, a bounded number. One thread.
class NewTombstones {
public:
    /// A home that restores or stands by takes none; with more than so many, all are left out.
    static constexpr std::size_t kNewMax = 10'000;

    void add(const PendingTombstone& pending) {
        if (left_out_) return;
        new_.insert_or_assign(new_.end(), {pending.put_offset, pending.key}, pending);
        if (new_.size() <= kNewMax) return;
        new_.clear();
        left_out_ = true;
    }
    /// It is pending no more.
    void erase(core::Offset put_offset, const core::MessageKey& key) {
        new_.erase({put_offset, key});
    }
    NewPendingTombstones take() {
        NewPendingTombstones taken{.pending_tombstones = {},
                                   .left_out = std::exchange(left_out_, false)};
        taken.pending_tombstones.reserve(new_.size());
        for (auto& [place, pending] : new_) taken.pending_tombstones.push_back(std::move(pending));
        new_.clear();
        return taken;
    }
    void clear() {
        new_.clear();
        left_out_ = false;
    }

private:
    std::map<std::pair<core::Offset, core::MessageKey>, PendingTombstone> new_;
    bool left_out_ = false;
};

/// The fold of one partition of `notifications`, and a home's decisions about messages. Reads see
/// changes since the last commit. One thread.
///
/// Invariants. A `keys` row is pending exactly while the message waits in its month's family, and
/// finished exactly while a pending tombstone stands at its offset in `pending_tombstones`; a
/// `replacements` row names the one pending message of its channel and Topic. (Rows whose time is
/// over may be missing: the compaction filter takes each by itself.)
///
/// The changes of an ack may be postponed (PostponedAcks): reads see them, and commits leave them
/// out, until the tombstone is folded or write_postponed() releases them. The tables then have the
/// message as a crash would: still pending. Any other change of the key comes behind resume(), so
/// the tables never have a part of it.
class NotificationFold {
public:
    NotificationFold(Database& database, Months& months, core::Partition partition);
    static std::vector<FamilySpec> families();

    PutOutcome put(core::Offset offset, core::Timestamp appended,
                   const core::NotificationAccepted& message,
                   std::optional<core::MessageKey>* replaced);
    bool finish(const core::NotificationFinished& done, core::Timestamp time);
    bool add_tombstone(const core::Uaid& uaid, const core::MessageKey& key,
                       core::FinishReason reason, std::optional<core::Milestone> end,
                       bool may_wait);
    void write_postponed(bool all);
    bool tombstone_pending(const core::Uaid& uaid, const core::MessageKey& key);
    std::optional<core::Tracked> tracked(const core::Uaid& uaid, const core::MessageKey& key);

    ReadOutcome read_pending(const core::Uaid& uaid, DrainCursor& cursor, std::size_t max,
                             core::Timestamp now,
                             const std::function<void(const MessageView&)>& sink);
    void expire(const core::Uaid& uaid, const std::vector<ExpiredMessage>& expired);
    std::vector<PendingTombstone> pending_tombstones_after(
        const std::optional<PendingTombstone>& after, std::size_t max);
    NewPendingTombstones take_new_pending_tombstones() { return new_tombstones_.take(); }
    std::size_t pending_tombstone_count() const {
        return pending_tombstones_.size() + postponed_.size();
    }
    std::size_t pending_count(const core::Uaid& uaid, std::size_t at_most);

    /// The greatest append time folded; the log time that decisions are remembered at.
    core::Timestamp latest() const { return latest_; }
    void raise_latest(core::Timestamp time) {
        latest_ = std::max(latest_, time);
        newest_ = time;
    }
    /// The append time folded last; lower than latest() after the log's clock stepped back.
    core::Timestamp newest() const { return newest_; }

    /// Adds all changes to a batch. Errors as Months::require().
    core::Result<void> write_to(rocksdb::WriteBatch& batch);
    std::size_t changed_rows() const;
    std::size_t changed_bytes() const { return messages_.changed_bytes(); }
    /// The batch is written · it failed.
    void committed();
    void write_failed();
    /// Drops uncommitted changes and all that is known of the tables.
    void reset();

    /// Set once a row could not be read; changes since then are void.
    const std::optional<core::Error>& broken() const { return broken_; }

private:
    std::optional<KeyRow> key_row(const KeyName& name);
    /// Of a key that is not postponed: resume() was called.
    std::optional<KeyRow> resumed_row(const KeyName& name);
    std::optional<ReplacementRow> replacement_row(const std::string& row_key);
    /// The outcome of a put that the known state of its key forbids; nullopt: nothing forbids it.
    std::optional<PutOutcome> refuse(core::Offset offset, core::Timestamp appended,
                                     const KeyName& name, bool& key_in_table);
    void add_pending_tombstone(const PendingTombstone& pending);
    void erase_pending_tombstone(core::Offset put_offset, const core::MessageKey& key);
    PutOutcome add_tombstone_at_once(core::Offset offset, const KeyName& name,
                                     core::FinishReason reason, PutOutcome outcome,
                                     std::optional<PendingTombstone::End> end = std::nullopt);
    bool fill_slot(core::Offset offset, core::Timestamp appended, const core::Uaid& uaid,
                   const std::string& row_key, std::optional<core::MessageKey>* replaced);
    /// Message, key and Topic's slot go.
    void erase_from_pending(const KeyName& name, const KeyRow& row);
    void remember_tombstone(const KeyName& name, core::Timestamp time, bool in_table);
    bool deleted_after_end(const KeyRow& row, const core::MessageKey& key, core::Timestamp time);
    bool may_postpone(const KeyName& name, const KeyRow& row) const;
    void resume(const KeyName& name);
    bool finish_postponed(const KeyName& name, core::Timestamp time);

    void fail(core::Error error);
    template <class Parse>
    auto read_row(const Family& family, std::string_view row_key, Parse parse)
        -> decltype(parse(std::string_view{}));

    Database& database_;
    const core::Partition partition_;
    const Family keys_family_;
    const Family replacements_family_;

    MessageTable messages_;
    PendingTombstoneTable pending_tombstones_;
    RowChanges<KeyName, KeyRow, KeyHash> keys_;
    RowChanges<std::string, ReplacementRow> replacements_;  ///< by row key
    RecentlyFinished finished_;

    NewTombstones new_tombstones_;
    PostponedAcks postponed_;

    bool in_sink_ = false;  ///< a sink runs
    core::Timestamp latest_{};
    core::Timestamp newest_{};
    std::optional<core::Error> broken_;
};

}  // namespace beckon::store
