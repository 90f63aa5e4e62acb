#pragma once

#include "core/checkpoint.hpp"
#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "records/events.hpp"
#include "store/rows/receipt_row.hpp"
#include "store/types.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beckon::store {

/// One partition's part of the store: two folds with their tables, and the tables of stale writes
/// and receipts. They commit together, and their users see no RocksDB. Changes collect in memory,
/// where reads see them at once, and commit() writes the net changes together with the offsets.
/// Owner's thread only.
///
/// Commit seldom. A message that is put and finished between two commits is never written at all,
/// and with a second between commits most messages are; after a crash the records since the last
/// commit are folded again.
///
/// Folds are pure: `appended` and `time` below are append times of the records, never a clock, so
/// that the same log gives the same state. Records are fed once each in the order of their offsets,
/// from the checkpoint on; records below it are answered `repeated`.
///
/// A read that fails. Reads then find nothing and broken() is true: no negative answer may follow
/// from them, and no decision made on them outlives the process, since the next commit() fails too.
/// With `corrupt` the bytes will not come back: clear(), and fold anew. With any other error (the
/// disk failed for a moment) uncommitted changes are dropped and checkpoint() goes back to the
/// committed one: fold again from there.
class PartitionStore {
public:
    ~PartitionStore();

    // --- where we are
    /// Uncommitted advances included. nullopt: nothing was ever folded.
    std::optional<core::Checkpoint> checkpoint(Source source) const;
    /// The batch's offsets; `caught_up` when the fold was seen at the end (log time); `youngest` as
    /// in core::Checkpoint.
    void advance(Source source, core::Offset next, std::optional<core::Timestamp> caught_up,
                 core::Timestamp youngest = {});
    /// Deletes the partition's whole range and its checkpoints in one batch, written at once (for
    /// an untrusted partition, or one that this node no longer holds). Drops uncommitted changes.
    core::Result<void> clear();
    /// Writes all changes as one batch (WAL on, no sync: a crash is a replay of a short tail).
    /// Errors: full (disk), unavailable, corrupt. After a failed write nothing of it counts as
    /// written, but reads go on seeing it; call again later, it recovers by itself when there is
    /// space. After a failed read (broken()): see above.
    core::Result<void> commit();
    /// True if commit() has something to write, or a failed read to report.
    bool dirty() const;
    /// True if so much has collected that it should be written now, or a read failed.
    bool commit_due() const;
    /// The rows that commit() would write, and the bytes of their messages.
    std::size_t changed_rows() const;
    std::size_t changed_bytes() const;
    /// A read failed since the last commit.
    bool broken() const;

    // --- the fold of `notifications`
    /// Folds one message. A newer one of the same channel and Topic, by offset, makes the older one
    /// finished as `replaced` (unless it had expired by then). `replaced` (may be null) receives
    /// its key, if any.
    PutOutcome put(core::Offset offset, core::Timestamp appended,
                   const core::NotificationAccepted& message,
                   std::optional<core::MessageKey>* replaced);
    /// Folds a tombstone appended at `time`: message and pending tombstone go. True if anything was
    /// known of it; if not, the key is remembered for ten minutes, for a put that may follow. (One
    /// that was put before is remembered too, in memory, with the last few thousand.) Of a tracked
    /// message that was waiting and that its sender deleted, a tombstone is pending afterwards, so
    /// that its end is reported before it is forgotten.
    bool finish(const core::NotificationFinished& done, core::Timestamp time);

    /// Folds, behind put(), that the sender receives the message's outcome. It is remembered until
    /// finish(). While no message has a receipt, these cost nothing.
    void put_receipt(const core::MessageKey& key, Receipt receipt);
    std::optional<Receipt> receipt(const core::MessageKey& key);
    /// Up to `max` messages with a receipt that have expired by `now`. They are named again until
    /// they are finished.
    std::vector<core::MessageKey> receipts_due(core::Timestamp now, std::size_t max);

    // --- the fold of `subscriptions`; false: lost by (epoch, seq), nothing changed. A record with
    // the stamp that is stored already is the stored one: true, nothing changed. Removals are
    // remembered for a day from `time`. The channels that go with a removed client are stale writes
    // from then on: the log has their records still.
    bool put_client(const core::ClientRecorded& client);
    bool remove_client(const core::ClientRemoved& client, core::Timestamp time);
    bool put_channel(const core::ChannelRecorded& channel);
    bool remove_channel(const core::ChannelRemoved& channel, core::Timestamp time);

    // --- decisions of a serving home
    /// Finishes a message here: it leaves the pending ones and its tombstone is pending. False if
    /// it was not pending. `end`: the milestone that is reported if it is tracked.
    bool add_tombstone(const core::Uaid& uaid, const core::MessageKey& key,
                       core::FinishReason reason,
                       std::optional<core::Milestone> end = std::nullopt);
    /// Like add_tombstone(), for a message that its client has acknowledged. The pending tombstone
    /// may stay in memory until the tombstone is folded, and is then never written: two rows
    /// instead of five, and no commit for its sake. A crash before that delivers the message again.
    /// The next commit writes pending tombstones of Topic messages, of tracked ones and of messages
    /// with a receipt, as with add_tombstone().
    bool add_acked_tombstone(const core::Uaid& uaid, const core::MessageKey& key,
                             std::optional<core::Milestone> end);
    /// The next commit writes postponed pending tombstones: `all` of them, or only those that the
    /// last call has seen (a timer calls it, so their tombstones take longer than its period).
    void write_postponed(bool all);
    /// A tombstone of the message is pending already.
    bool tombstone_pending(const core::Uaid& uaid, const core::MessageKey& key);
    /// Finishes expired messages that a read has found: their tombstones are pending as `expired`.
    void expire(const core::Uaid& uaid, const std::vector<ExpiredMessage>& expired);

    // --- reads
    std::optional<StoredClient> client(const core::Uaid& uaid);
    /// The living clients among the next `rows_max` ones behind `after` (nullopt: from the first),
    /// ascending, as the last commit left them. Rows of removed clients count too.
    ClientPage clients_after(const std::optional<core::Uaid>& after, std::size_t rows_max);
    /// A pending message that is tracked.
    std::optional<core::Tracked> tracked(const core::Uaid& uaid, const core::MessageKey& key);
    /// nullopt also if its client is unknown: then the channel is dead.
    std::optional<StoredChannel> channel(const core::Uaid& uaid, const core::ChannelId& channel);
    std::vector<StoredChannel> channels(const core::Uaid& uaid);
    /// Its cost is bounded by `rows_max`.
    ChannelCount count_channels(const core::Uaid& uaid, std::size_t rows_max);
    /// Up to `max` pending messages after the cursor, which moves. Skips expired ones (now ≥
    /// expiry) and names them in the outcome. The cost is linear in the messages passed on or
    /// skipped, not in all that wait; one call skips at most kSkipMax. Changes nothing. `sink` must
    /// not call the store.
    ReadOutcome read_pending(const core::Uaid& uaid, DrainCursor& cursor, std::size_t max,
                             core::Timestamp now,
                             const std::function<void(const MessageView&)>& sink);
    static constexpr std::size_t kSkipMax = 1000;

    /// Up to `max` clients and channels behind `after` (nullopt: from the first) whose last record
    /// in the log lost: a serving home publishes the read repair behind it, or compaction keeps the
    /// wrong one. They are remembered until a record of theirs wins or is read again.
    std::vector<StaleWrite> stale_writes_after(const std::optional<StaleWrite>& after,
                                               std::size_t max);

    /// Up to `max` pending tombstones behind `after` (nullopt: from the first), ascending by
    /// put_offset. The cost is linear in the returned ones, however many there are.
    std::vector<PendingTombstone> pending_tombstones_after(
        const std::optional<PendingTombstone>& after, std::size_t max);
    /// All of them: for tests and tools.
    std::vector<PendingTombstone> pending_tombstones() {
        return pending_tombstones_after(std::nullopt, static_cast<std::size_t>(-1));
    }
    /// Pending tombstones that arose since the last call, without those whose tombstone was read
    /// meanwhile; ascending by put_offset. Remembers a bounded number.
    NewPendingTombstones take_new_pending_tombstones();
    std::size_t pending_tombstone_count() const;

    /// A digest of the state that the fold determines (for `replay` and tests): two stores that
    /// folded the same log agree, however they got there. Covers living clients and channels,
    /// messages that have not expired by `now` (log time), and pending tombstones: a home that
    /// serves has some that no log shows yet, so compare when it has gone quiet, when pending
    /// tombstones are published and read back. Covers committed rows only; call it when not
    /// dirty().
    std::string digest(core::Timestamp now);
    /// Pending messages of a client, expired ones that were not met yet included; stops counting
    /// at `at_most`, which bounds the cost.
    std::size_t pending_count(const core::Uaid& uaid, std::size_t at_most);
    /// Messages that read_pending() has read since this was opened: the cost of reading.
    std::uint64_t messages_read() const;
    std::size_t pending_count(const core::Uaid& uaid) {
        return pending_count(uaid, static_cast<std::size_t>(-1));
    }

private:
    friend class EdgeStore;
    struct Impl;
    explicit PartitionStore(std::unique_ptr<Impl> impl);
    const std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::store
