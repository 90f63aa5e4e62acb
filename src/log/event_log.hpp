#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "core/time_guard.hpp"
#include "log/topic.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The interface to the log (docs/design.md#the-log). Adapters: log/kafka, log/embedded;
/// for tests, support/memory_log. One contract test suite (tests/log/contract.hpp) runs over all of
/// them and defines the precise meaning of this interface.
///
/// Threads. Completions and wake-ups run on the executor that the caller gave at open; no log
/// runs user code on threads of its own. Objects are used and destroyed on the thread of
/// their executor, and before the EventLog. After a destructor returns nothing of it is called.
namespace beckon::log {

/// Where a published record stands. `offset` is ≥ 0, always: a report without one is an error.
struct Appended {
    core::Offset offset = 0;
    core::Timestamp time{};  ///< append time, given by the log
    bool operator==(const Appended&) const = default;
};

/// Limit of one record: key, value, and names and values of its headers together.
inline constexpr std::size_t kRecordBytesMax = 1'000'000;

/// A publish is answered by then: while Kafka elects a leader, a sender rather tries again.
inline constexpr std::chrono::milliseconds kPublishTimeout{5'000};
/// Publishes of one publisher that wait for the log. More are `full`.
inline constexpr std::size_t kWaitingMax = 10'000;

/// The size that kRecordBytesMax bounds.
inline std::size_t size_of(const core::Record& record) {
    auto size = record.key.size() + (record.value ? record.value->size() : 0);
    for (const auto& header : record.headers) size += header.name.size() + header.value.size();
    return size;
}

/// How the message of an error (`full`) begins that a log reports when its disk has no space. A
/// full queue is `full` too, and is over in a moment; this is not.
inline constexpr std::string_view kDiskFull = "the log's disk is full";

inline bool is_disk_full(const core::Error& error) {
    return error.fault == core::Fault::full && error.message.starts_with(kDiskFull);
}

/// Called exactly once unless the Publisher is destroyed first. Errors: `unavailable` (certainly or
/// possibly not in the log: the outcome is unknown), `full` (too many unanswered, or the disk),
/// `too_large`, `not_found` (no such partition), `unauthorized` (a right is missing), `invalid`
/// (CheckedPublisher: readers could not read the record).
using AppendDone = std::function<void(const core::Result<Appended>&)>;

/// Appends records. Records of one publisher and partition stand in the log in the order of
/// publish(), and are answered in that order. A refusal without an attempt (`full`, `too_large`,
/// `not_found`) may be answered earlier.
class Publisher {
public:
    virtual ~Publisher() = default;

    /// Answers when the record is durable (Kafka: all in-sync replicas; embedded: as `sync` says),
    /// or failed, in bounded time (`publish_timeout`). Never blocks and never answers from within.
    /// A failed put must not be repeated under its key (docs/design.md#a-key-is-published-once).
    virtual void publish(TopicPartition where, core::Record record, AppendDone done) = 0;

    /// Records that publish() accepted and has not answered yet; at most `waiting_max`, above which
    /// publish() answers `full`.
    virtual std::size_t unanswered() const = 0;
};

/// The outcome of one take().
struct Taken {
    std::size_t records = 0;
    /// Nothing more was there: the partition's end as the log knew it, at this moment. A
    /// later `ready` announces more.
    bool drained = false;
};

/// Called with each record; the views end with the call. Must not destroy the reader.
using RecordSink = std::function<void(const core::RecordView&)>;

/// Reads one partition from one offset on, for one owner. Readers of the same partition are
/// independent of each other. An owner that stops taking loses nothing and holds a bounded amount
/// of memory.
class PartitionReader {
public:
    virtual ~PartitionReader() = default;

    /// Passes on up to `max` records in order of their offsets. Never blocks. Offsets may have
    /// gaps (compaction, log start, reserved blocks) but never go back. After `drained` position()
    /// is that end. No records and not drained is the answer of a paused reader only, so that
    /// `while (!drained)` ends.
    /// If `sink` throws, so does this; the record counts as passed on, and no other one is left
    /// out. Errors: out_of_range (the reader was opened above the log's end; it is useless now),
    /// unavailable (nothing can be read at present, or it is on its way; take when `ready` comes),
    /// corrupt (the next record does not decode; this reader will not get past it), not_found (no
    /// such partition).
    virtual core::Result<Taken> take(std::size_t max, const RecordSink& sink) = 0;

    /// The offset that the next record will have at least.
    virtual core::Offset position() const = 0;

    /// Stops fetching and drops prefetched records; take() passes on nothing until resume(). The
    /// position stays, and a `ready` follows resume(). Both are idempotent.
    virtual void pause() = 0;
    virtual void resume() = 0;

    /// From now on the log accepts records not much faster than this reader takes them, if it is a
    /// log of one process. For readers that deliver.
    virtual void applies_backpressure() {}
};

/// The offsets that a partition holds: [start, end).
struct Ends {
    core::Offset start = 0;
    core::Offset end = 0;
    bool operator==(const Ends&) const = default;
};

/// How much of a partition was read.
struct ReadUpTo {
    core::Offset next = 0;       ///< of the record that is read next
    core::Timestamp youngest{};  ///< the greatest append time of the records below it
    bool operator==(const ReadUpTo&) const = default;
};

struct GroupOffset {
    TopicPartition where;
    core::Offset offset = 0;  ///< of the next record to read
    bool operator==(const GroupOffset&) const = default;
};

/// The living members of a group, as one of them sees them.
struct Members {
    std::vector<core::NodeId> alive;  ///< sorted, self included while it is a member
    bool first = false;               ///< this member is the controller candidate
    bool operator==(const Members&) const = default;
};

/// Membership of a named group; leaves when destroyed.
class Member {
public:
    virtual ~Member() = default;
    /// "My loops turn." Without a call for a session time-out the group takes this member for dead.
    virtual void still_alive() = 0;
};

struct MemberOptions {
    std::string group;  ///< without prefix, e.g. "edge.members"
    core::NodeId self;
    core::Duration session_timeout = std::chrono::seconds{6};
};

class EventLog {
public:
    virtual ~EventLog() = default;

    virtual std::unique_ptr<Publisher> open_publisher(core::Executor& executor) = 0;

    /// Reads from offset `from` on; below the log's start it begins at the start. `ready` runs on
    /// the executor after opening and whenever there are records to take after take() returned
    /// `drained` (spurious calls are allowed). An owner that stops before `drained` gets no new
    /// call: it must remember to come back.
    virtual std::unique_ptr<PartitionReader> open_reader(TopicPartition where, core::Offset from,
                                                         core::Executor& executor,
                                                         std::function<void()> ready) = 0;

    /// The offsets of a partition now. No proof of having seen everything (that is a read barrier).
    /// Errors: unavailable, not_found (no such topic or partition).
    virtual void ends(TopicPartition where, core::Executor& executor,
                      std::function<void(core::Result<Ends>)> done) = 0;

    /// Whether the partition is another one than that of which `read` was read: somebody has
    /// deleted its topic and made it anew, so that the same offsets have other records. True only
    /// if a record below `read.next` is younger than `read.youngest`, or the embedded log has lost
    /// records that were read (it was restored from an earlier copy); that the partition
    /// ends below `read.next` is for the caller to see (ends()). Errors: as ends().
    virtual void is_made_anew(TopicPartition, ReadUpTo, core::Executor& executor,
                              std::function<void(core::Result<bool>)> done) {
        executor.post([done = std::move(done)] { done(false); });
    }

    /// Commits offsets of a named group (without prefix), for lag tools and for resuming.
    virtual void commit(std::string group, std::vector<GroupOffset> offsets,
                        core::Executor& executor, std::function<void(core::Result<void>)> done) = 0;

    /// Looks up committed offsets; partitions without one are left out of the answer.
    virtual void committed(std::string group, std::vector<TopicPartition> partitions,
                           core::Executor& executor,
                           std::function<void(core::Result<std::vector<GroupOffset>>)> done) = 0;

    /// Joins a group. `changed` runs on the executor at every change, the first time when joined.
    virtual std::unique_ptr<Member> join(MemberOptions options, core::Executor& executor,
                                         std::function<void(const Members&)> changed) = 0;

    /// By how much records may be older than their append times say, at this moment. Nothing where
    /// the log's own clock goes on while this process is down. Any thread.
    virtual core::MissingTime missing_time() const { return {}; }

    /// By how much this host's wall clock is ahead of the log's time (negative: behind), as far as
    /// one of the two must be wrong; zero: they agree. nullopt: nothing was appended recently that
    /// shows it, or the log stamps its records by the host's clock. Any thread.
    virtual std::optional<core::Duration> clock_ahead() const { return std::nullopt; }
};

}  // namespace beckon::log
