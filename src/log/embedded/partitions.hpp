#pragma once

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "log/embedded/tail_cache.hpp"
#include "log/event_log.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace beckon::log::embedded {

/// How a partition notifies a reader that there are records to take.
struct Waiter {
    core::Lifetime::Remote reader;  ///< runs `ready` while the reader lives
    core::Executor::Task ready;
    bool armed = false;  ///< under the partition's mutex: the reader returned `drained`
};

/// A partition at run time. Offsets below `visible_end` are durable as `sync` promises; readers see
/// nothing above it.
class Partition {
public:
    explicit Partition(TopicPartition where) : where_(where) {}

    const TopicPartition& where() const { return where_; }

    // --- any thread

    Ends ends() const {
        const std::scoped_lock lock{mutex_};
        return {start_, visible_end_};
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

    /// Moves the log's start up; records below it are about to go.
    void set_start(core::Offset start);

    /// Calls every armed reader.
    void wake_readers();

    // --- the writer's thread (and, before it runs, the one that opens the log)

    core::Offset next_offset = 0;
    core::Offset reserved_end = 0;  ///< offsets below it may be given out
    core::Timestamp newest{};
    std::vector<std::uint32_t> batch;  ///< its records of the batch being written, by index

    /// Sets the ends that were read from the disk at the start.
    void restore(Ends ends);

    /// Makes a durable chunk visible, then calls the readers that wait.
    void show(ChunkPtr chunk, core::Offset end);
    /// Takes the oldest chunk out of memory.
    void evict_oldest();

private:
    const TopicPartition where_;
    mutable std::mutex mutex_;
    core::Offset start_ = 0;
    core::Offset visible_end_ = 0;
    TailCache tail_;
    std::vector<std::shared_ptr<Waiter>> readers_;
};

/// All partitions of all topics; a topic's come to be when it is first used.
class Partitions {
public:
    explicit Partitions(core::Partition count) : count_(count) {}
    ~Partitions();
    Partitions(const Partitions&) = delete;
    Partitions& operator=(const Partitions&) = delete;

    /// Null if there is no such partition. Any thread.
    Partition* find(TopicPartition where);

    /// The partitions of the topics that were used so far.
    std::vector<Partition*> in_use();

private:
    using OfTopic = std::vector<std::unique_ptr<Partition>>;
    const core::Partition count_;
    std::mutex making_;
    std::array<std::atomic<OfTopic*>, Topic::kCount> topics_{};
};

}  // namespace beckon::log::embedded
