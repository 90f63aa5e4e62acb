#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "records/events.hpp"
#include "store/database.hpp"
#include "store/folds/key_name.hpp"
#include "store/folds/new_tombstones.hpp"
#include "store/folds/postponed_acks.hpp"
#include "store/folds/recently_finished.hpp"
#include "store/rows/schema.hpp"
#include "store/tables/message_table.hpp"
#include "store/tables/pending_tombstone_table.hpp"
#include "store/tables/row_changes.hpp"
#include "store/types.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

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
