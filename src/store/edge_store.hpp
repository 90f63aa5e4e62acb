#pragma once

#include "core/checkpoint.hpp"
#include "core/clock.hpp"
#include "core/events.hpp"
#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "rocks/memory.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The edge's state (docs/design.md#the-store): a fold of `notifications` and `subscriptions`, in
/// one RocksDB per process. One owner thread folds each partition through its PartitionStore.
namespace beckon::store {

/// A message as it waits, as a drain hands it over; views end with the call.
struct MessageView {
    core::Offset offset = 0;  ///< its order
    core::Timestamp appended{};
    core::Timestamp expiry{};  ///< append time + TTL, kTtlMax at most
    core::MessageKey key;
    core::ChannelId channel;
    std::string_view message_id;  ///< `version`
    std::optional<std::string_view> topic;
    std::optional<std::string_view> encoding;
    std::optional<std::string_view> encryption;
    std::optional<std::string_view> crypto_key;
    std::optional<std::string_view> reliability_id;
    std::string_view body;
};

/// Nothing waits longer, whatever its record says: it bounds the number of month families.
inline constexpr std::chrono::hours kTtlMax{24 * 366};

struct StoredClient {
    core::RouterType router_type = core::RouterType::webpush;
    std::string router_data;
    core::Timestamp created{};
    core::Timestamp last_seen{};
    std::optional<core::WriteStamp> stamp;
};

struct StoredChannel {
    core::ChannelId channel;
    core::Timestamp created{};
    std::string vapid_sha256;  ///< hex; empty if unbound
    std::optional<core::WriteStamp> stamp;
};

/// The two log topics that a partition of the store is folded from.
enum class Source : std::uint8_t { notifications, subscriptions };

/// What put() made of a message.
enum class PutOutcome {
    pending,   ///< stored; deliver or keep
    ttl_zero,  ///< send now or never; its tombstone is owed already
    finished,  ///< its tombstone came first: nothing to deliver, a tombstone is owed
    expired,   ///< belongs to a month that is over: nothing to deliver, nothing owed
    repeated,  ///< folded before; nothing changed
};

/// A tombstone that the serving home must publish until it is read back.
struct Debt {
    core::Uaid uaid;
    core::MessageKey key;
    core::FinishReason reason = core::FinishReason::acked;
    core::Offset put_offset = 0;  ///< publish in this order: replaced ones before their replacement
    /// Of a tracked message whose end is to be told: the milestone that it ended with. It stays
    /// here until the tombstone is read back, so that whoever pays the debt can tell it again.
    struct End {
        core::Tracked message;
        core::Milestone milestone = core::Milestone::delivered;
        bool operator==(const End&) const = default;
    };
    std::optional<End> end{};
};

/// What take_new_debts() gives.
struct NewDebts {
    std::vector<Debt> debts;
    bool left_out = false;  ///< there were more than it remembers: read them with debts_after()
};

/// Where a drain stands: Topic messages first, then the others, each by offset
/// (docs/design.md#delivery). A drain ends below `until`, so that nothing that is folded meanwhile
/// is sent twice: set it to the checkpoint of `notifications` when the drain begins.
struct DrainCursor {
    bool topics = true;
    core::Offset after = -1;
    core::Offset until = 0;
};

struct ReadOutcome {
    std::size_t messages = 0;  ///< may be 0 without `done`: there were only expired ones so far
    bool done = false;         ///< nothing is left before the cursor's `until`
};

/// One partition's part of the store. Changes gather in memory, where reads see them at once, and
/// commit() writes what is left of them together with the offsets. Owner's thread only.
///
/// Commit seldom. What is put and finished between two commits is never written at all, and that
/// is most messages if there is a tenth of a second between two; a crash only folds again what came
/// since. So: commit() when commit_due(), and from a timer of about 100 ms while dirty().
///
/// Folds are pure: `appended` and `time` below are append times of the records, never a clock, so
/// that the same log gives the same state. Records are fed once each in the order of their offsets,
/// from the checkpoint on; what lies below it is answered `repeated`.
///
/// If stored bytes cannot be read back, reads say "nothing", and commit() fails with `corrupt`
/// from then on, so that no decision made on them outlives the process: clear() and fold anew.
class PartitionStore {
public:
    virtual ~PartitionStore() = default;

    // --- where we are
    /// Uncommitted advances included. nullopt: nothing was ever folded.
    virtual std::optional<core::Checkpoint> checkpoint(Source source) const = 0;
    /// The batch's offsets; `caught_up` when the fold was seen at the end (log time).
    virtual void advance(Source source, core::Offset next,
                         std::optional<core::Timestamp> caught_up) = 0;
    /// Deletes the partition's whole range and its checkpoints in one batch, which it writes at
    /// once (untrusted, given up). What was not committed is dropped.
    virtual core::Result<void> clear() = 0;
    /// Writes all changes as one batch (WAL on, no sync: a crash is a replay of a short tail).
    /// Errors: full (disk), unavailable, corrupt. After an error nothing of it counts as written,
    /// but reads go on seeing it; call again later, it recovers by itself when there is space.
    virtual core::Result<void> commit() = 0;
    /// True if commit() has something to write.
    virtual bool dirty() const = 0;
    /// True if so much has gathered that it should be written now.
    virtual bool commit_due() const = 0;

    // --- the fold of `notifications`
    /// Folds one message. A newer one of the same channel and Topic, by offset, makes the older one
    /// owed as `replaced` (unless it had expired by then). `replaced` (may be null) receives its
    /// key, if any.
    virtual PutOutcome put(core::Offset offset, core::Timestamp appended,
                           const core::NotificationAccepted& message,
                           std::optional<core::MessageKey>* replaced) = 0;
    /// Folds a tombstone appended at `time`: message and debt go. True if anything was known of
    /// it; if not, the key is remembered for ten minutes, for a put that may follow. (One that was
    /// put before is remembered too, in memory, with the last few thousand.)
    virtual bool finish(const core::Uaid& uaid, const core::MessageKey& key,
                        core::Timestamp time) = 0;

    // --- the fold of `subscriptions`; false: lost by (epoch, seq), nothing changed. A record with
    // the stamp that is stored already is the stored one: true, nothing changed. Removals are
    // remembered for a day from `time`.
    virtual bool put_client(const core::ClientRecorded& client) = 0;
    virtual bool remove_client(const core::ClientRemoved& client, core::Timestamp time) = 0;
    virtual bool put_channel(const core::ChannelRecorded& channel) = 0;
    virtual bool remove_channel(const core::ChannelRemoved& channel, core::Timestamp time) = 0;

    // --- what a serving home decides
    /// The message is done with here: it leaves the pending ones and its tombstone is owed. False
    /// if it was not pending. `end`: the milestone that is told of it if it is tracked.
    virtual bool owe(const core::Uaid& uaid, const core::MessageKey& key, core::FinishReason reason,
                     std::optional<core::Milestone> end = std::nullopt) = 0;

    // --- reads
    virtual std::optional<StoredClient> client(const core::Uaid& uaid) = 0;
    /// A pending message that is tracked.
    virtual std::optional<core::Tracked> tracked(const core::Uaid& uaid,
                                                 const core::MessageKey& key) = 0;
    /// nullopt also if its client is unknown: such a channel is dead.
    virtual std::optional<StoredChannel> channel(const core::Uaid& uaid,
                                                 const core::ChannelId& channel) = 0;
    virtual std::vector<StoredChannel> channels(const core::Uaid& uaid) = 0;
    /// Up to `max` pending messages after the cursor, which moves. Expired ones (now ≥ expiry) are
    /// skipped and become owed as `expired`. Costs what it hands over or skips, not what waits;
    /// one call skips at most kSkipMax. `sink` must not call the store.
    virtual ReadOutcome read_pending(const core::Uaid& uaid, DrainCursor& cursor, std::size_t max,
                                     core::Timestamp now,
                                     const std::function<void(const MessageView&)>& sink) = 0;
    static constexpr std::size_t kSkipMax = 1000;

    /// Up to `max` debts behind `after` (from the first one: nullopt), ascending by put_offset.
    virtual std::vector<Debt> debts_after(const std::optional<Debt>& after, std::size_t max) = 0;
    std::vector<Debt> debts() { return debts_after(std::nullopt, static_cast<std::size_t>(-1)); }
    /// Debts that arose in folds, reads and decisions since the last call, without those whose
    /// tombstone was read meanwhile; ascending by put_offset.
    virtual NewDebts take_new_debts() = 0;
    virtual std::size_t debt_count() const = 0;

    /// True after a read failed: what reads said since may be wrong, so nothing negative follows
    /// from them. The next commit() fails.
    virtual bool broken() const = 0;

    /// A digest of what the fold determines (for `replay` and tests): two stores that folded the
    /// same log agree, however they got there. Covers living clients and channels, messages that
    /// have not expired by `now` (log time), and debts: a home that serves has some that no log
    /// shows yet, so compare when it has gone quiet, when debts are published and read back.
    /// Covers what is committed; call it when not dirty().
    virtual std::string digest(core::Timestamp now) = 0;
    /// Pending messages of a client, expired ones that were not met yet included; stops counting
    /// at `at_most`, which bounds the cost.
    virtual std::size_t pending_count(const core::Uaid& uaid, std::size_t at_most) = 0;
    std::size_t pending_count(const core::Uaid& uaid) {
        return pending_count(uaid, static_cast<std::size_t>(-1));
    }
};

/// How messages are spread over families. Changing it rebuilds the store from the log.
enum class Rotation : std::uint8_t { monthly, off };

struct EdgeStoreOptions {
    std::filesystem::path directory;
    std::string log_id;  ///< a store of another log is set aside and made anew
    std::size_t cache_bytes = 128U << 20;
    std::size_t write_buffer_bytes = 64U << 20;
    /// Shared with the other stores of the process; then the two sizes above do not count.
    std::shared_ptr<rocks::Memory> memory;
    Rotation rotation = Rotation::monthly;
};

/// One RocksDB with all partitions that this process holds.
class EdgeStore {
public:
    virtual ~EdgeStore() = default;
    /// Any thread. A partition is open at most once at a time and is destroyed before the
    /// EdgeStore; what it had not committed is dropped then.
    virtual std::unique_ptr<PartitionStore> open_partition(core::Partition partition) = 0;
    /// Drops month families that are over: `log_now` and host time both past the month + 1 h.
    /// Any thread but a shard's, since it may take a tenth of a second; while others fold and read.
    /// Call it about once an hour: the files of a dropped month are deleted by the
    /// call after the one that dropped it. Returns what was dropped; nothing without rotation.
    virtual std::vector<std::string> drop_past_months(core::Timestamp log_now,
                                                      core::Timestamp host_now) = 0;
};

/// Opens or makes the store. One of another log, or in a format that this build does not know, is
/// renamed to `<directory>.set-aside-<n>`, with a warning, and made anew.
/// Errors, each with the path: conflict (in use by another process), unavailable (not writable),
/// full, corrupt (delete the directory: it is rebuilt from the log).
core::Result<std::unique_ptr<EdgeStore>> open_edge_store(const EdgeStoreOptions& options);

}  // namespace beckon::store
