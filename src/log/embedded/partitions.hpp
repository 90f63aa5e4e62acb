#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "log/event_log.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beckon::log::embedded {

/// A few consecutive records of one partition, as they are on disk. Never changed once readers can
/// see it, so they share it without a lock.
struct Chunk {
    struct Entry {
        core::Offset offset;
        core::Timestamp time;
        std::string body;
    };
    std::vector<Entry> entries;  ///< not empty, in order of offsets
    std::size_t bytes = 0;

    void add(core::Offset offset, core::Timestamp time, std::string body) {
        bytes += sizeof(Entry) + body.size();
        entries.push_back({offset, time, std::move(body)});
    }
    core::Offset first() const { return entries.front().offset; }
    core::Offset end() const { return entries.back().offset + 1; }
    /// The index of the first record at or above `offset`; entries.size() if there is none.
    std::size_t index_of(core::Offset offset) const {
        const auto at =
            std::lower_bound(entries.begin(), entries.end(), offset,
                             [](const Entry& entry, core::Offset o) { return entry.offset < o; });
        return static_cast<std::size_t>(at - entries.begin());
    }
};
using ChunkPtr = std::shared_ptr<const Chunk>;

/// The newest records of one partition: every record from first() on is in it. Protected by the
/// partition's mutex; bounded by the writer, which counts the bytes of all partitions together.
class TailCache {
public:
    void push(ChunkPtr chunk) { chunks_.push_back(std::move(chunk)); }
    void pop_oldest() { chunks_.pop_front(); }
    bool empty() const { return chunks_.empty(); }
    core::Offset first() const { return chunks_.front()->first(); }

    /// The chunk in which a reader at `position` ≥ first() finds its next record; null if all
    /// records lie below it.
    ChunkPtr find(core::Offset position) const {
        // A live reader wants the last one.
        if (!chunks_.empty() && position >= chunks_.back()->first()) {
            return position < chunks_.back()->end() ? chunks_.back() : nullptr;
        }
        const auto at = std::lower_bound(
            chunks_.begin(), chunks_.end(), position,
            [](const ChunkPtr& chunk, core::Offset offset) { return chunk->end() <= offset; });
        return at == chunks_.end() ? nullptr : *at;
    }

private:
    std::deque<ChunkPtr> chunks_;
};

/// The readers that pace puts (PartitionReader::applies_backpressure()), the stage behind the
/// writer: whether they have read all that was written before the last batch. Any thread.
class PacingReaders {
public:
    /// The number of the batch that woke a reader.
    using Batch = std::uint64_t;

    /// On the writer's thread: the next batch is written.
    void next_batch() {
        const std::scoped_lock lock{mutex_};
        ++last_;
        behind_last_ = 0;
    }
    Batch woken() {
        const std::scoped_lock lock{mutex_};
        ++behind_;
        ++behind_last_;
        return last_;
    }
    void has_read(Batch batch) {
        bool call = false;
        {
            const std::scoped_lock lock{mutex_};
            --behind_;
            if (batch == last_) --behind_last_;
            call = awaited_ && behind_ == behind_last_;
        }
        if (call) changed_();
    }
    /// All that were woken before the last batch have read since.
    bool have_room() const {
        const std::scoped_lock lock{mutex_};
        return behind_ == behind_last_;
    }

    /// Before there are readers: called on a reader's thread when have_room() has become true while
    /// that is awaited.
    void on_room(std::function<void()> call) { changed_ = std::move(call); }
    void await(bool awaited) {
        const std::scoped_lock lock{mutex_};
        awaited_ = awaited;
    }

private:
    mutable std::mutex mutex_;
    Batch last_ = 0;
    int behind_ = 0;       ///< readers that were woken and have not read all
    int behind_last_ = 0;  ///< those of them that the last batch woke
    bool awaited_ = false;
    std::function<void()> changed_;
};

/// How a partition notifies a reader that there are records to take.
struct Waiter {
    core::Lifetime::Remote reader;  ///< runs `ready` while the reader lives
    core::Executor::Task ready;
    // Under the partition's mutex:
    bool armed = false;                            ///< the reader returned `drained`
    bool paces = false;                            ///< it is one of the pacing readers
    std::optional<PacingReaders::Batch> behind{};  ///< and has not read what this batch wrote
};

/// A partition at run time. Offsets below `visible_end` are durable as `sync` promises; readers see
/// nothing above it.
class Partition {
public:
    Partition(TopicPartition where, PacingReaders& pacing) : where_(where), pacing_(pacing) {}

    const TopicPartition& where() const { return where_; }

    // --- any thread

    Ends ends() const {
        const std::scoped_lock lock{mutex_};
        return {start_, visible_end_};
    }

    /// Whether somebody has read records that the log has lost: up to `next`, which was no
    /// offset of a record when the log was opened, and is none of the offsets given out since.
    bool has_lost(core::Offset next) const {
        const std::scoped_lock lock{mutex_};
        return next > known_end_ && next < opened_end_;
    }

    /// Where a reader that stands at `position` goes on.
    struct Next {
        ChunkPtr chunk;           ///< from memory; null: see below
        core::Offset position;    ///< not below the log's start
        core::Offset disk_until;  ///< > position: read [position, disk_until) from disk
        bool drained = false;     ///< position is the end; `waiter` is armed
    };
    Next next(core::Offset position, Waiter& waiter);

    void add_reader(const std::shared_ptr<Waiter>& waiter);
    void remove_reader(const std::shared_ptr<Waiter>& waiter);
    /// From its next `drained` on the reader paces puts, or does not any more.
    void set_pacing(Waiter& waiter, bool paces);

    /// Moves the log's start up; records below it are about to go.
    void set_start(core::Offset start);

    /// Calls every armed reader.
    void wake_readers();

    // --- the writer's thread (and, before it runs, the one that opens the log)

    core::Offset next_offset = 0;
    core::Offset reserved_end = 0;  ///< offsets below it may be given out
    core::Timestamp newest{};
    std::vector<std::uint32_t> batch;  ///< its records of the batch being written, by index

    /// Sets what was read from the disk at the start. `known_end`: at or above it there was no
    /// record before, but for those that the log has lost.
    void restore(Ends ends, core::Offset known_end);

    /// Makes a durable chunk visible, then calls the readers that wait.
    void show(ChunkPtr chunk, core::Offset end);
    /// Takes the oldest chunk out of memory.
    void evict_oldest();

private:
    void arm(Waiter& waiter);
    void not_behind(Waiter& waiter);

    const TopicPartition where_;
    PacingReaders& pacing_;
    mutable std::mutex mutex_;
    core::Offset start_ = 0;
    core::Offset visible_end_ = 0;
    core::Offset known_end_ = 0;  ///< this and the next: as restore() set them
    core::Offset opened_end_ = 0;
    TailCache tail_;
    std::vector<std::shared_ptr<Waiter>> readers_;
};

/// All partitions of all topics; a topic's come to be when it is first used.
class Partitions {
public:
    explicit Partitions(core::Partition count) : count_(count) {}
    ~Partitions();

    /// Null if there is no such partition. Any thread.
    Partition* find(TopicPartition where);

    /// The partitions of the topics that were used so far.
    std::vector<Partition*> in_use();

    PacingReaders& pacing() { return pacing_; }

private:
    using OfTopic = std::vector<std::unique_ptr<Partition>>;
    const core::Partition count_;
    PacingReaders pacing_;
    std::mutex making_;
    std::array<std::atomic<OfTopic*>, Topic::kCount> topics_{};
};

}  // namespace beckon::log::embedded
