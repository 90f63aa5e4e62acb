#pragma once

#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/embedded/log_time.hpp"
#include "log/embedded/partitions.hpp"
#include "log/embedded/storage.hpp"
#include "log/event_log.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace beckon::log::embedded {

/// Where the writer leaves the answers for one publisher, in the order of its publishes. However
/// many collect before the publisher's thread comes, they cost it one task.
class AnswerQueue {
public:
    using Answers = std::vector<core::Result<Appended>>;

    /// `collect` runs on the publisher's executor while the publisher lives.
    AnswerQueue(core::Lifetime::Remote publisher, core::Executor::Task collect)
        : publisher_(std::move(publisher)), collect_(std::move(collect)) {}

    /// The writer's thread collects the answers of one batch here, then sends them together.
    Answers staged;
    void send_staged() {
        bool first = false;
        {
            const std::scoped_lock lock{mutex_};
            first = answers_.empty();
            if (first) {
                answers_.swap(staged);
            } else {
                answers_.insert(answers_.end(), std::make_move_iterator(staged.begin()),
                                std::make_move_iterator(staged.end()));
            }
        }
        staged.clear();
        if (first) publisher_.post(collect_);
    }

    /// The publisher's thread takes the answers that came.
    void take(Answers& into) {
        into.clear();
        const std::scoped_lock lock{mutex_};
        into.swap(answers_);
    }

private:
    const core::Lifetime::Remote publisher_;
    const core::Executor::Task collect_;
    std::mutex mutex_;  ///< guards answers_
    Answers answers_;
};

/// Offsets are reserved in synced blocks of so many: an unclean stop loses one block at most.
inline constexpr core::Offset kBlock = 65'536;

/// The one thread that appends ("log-writer"). It takes all that is queued, stamps append times,
/// gives offsets,
/// writes one batch, syncs if `always` says so, and only then answers and shows the records to
/// readers.
class Writer {
public:
    /// Writes to `meta` that wait.
    static constexpr std::size_t kMetaWritesMax = 1'000;
    /// A batch begins once the readers that deliver have read all batches but the last one, so that
    /// nothing is accepted much faster than it is delivered, or this long after that one
    /// (docs/decisions/0198-messages-are-batched-under-load.md).
    static constexpr std::chrono::milliseconds kWaitMax{100};
    static constexpr std::size_t kBatchRecordsMax = 2'048;

    Writer(const EmbeddedConfig& config, Storage& storage, Partitions& partitions, LogTime& time);
    /// Writes the queue, then stops.
    ~Writer();

    struct Publish {
        Partition* where;
        std::string body;
        std::shared_ptr<AnswerQueue> answers;
        core::MonoTime deadline;  ///< the publisher has given up by then: not written any more
    };
    /// Any thread. The queue is bounded by the publishers, each by its `waiting_max`.
    void submit(Publish publish);

    /// A write to `meta` that goes with the next batch; `done` runs on the writer's thread and
    /// only posts. False if too many wait.
    struct MetaWrite {
        std::vector<std::pair<std::string, std::string>> pairs;
        std::function<void(const core::Result<void>&)> done;
    };
    bool submit(MetaWrite write);

    /// Writes the queue and records that the log stopped cleanly. Nothing may be submitted
    /// afterwards.
    void stop();

private:
    struct Work {
        std::vector<Publish> publishes;
        std::vector<MetaWrite> meta;
    };

    /// Offsets [from, to) of a write that failed. The next successful write erases records that it
    /// may have left on the disk, since readers have not seen them and never may.
    struct Void {
        const Partition* partition;
        core::Offset from;
        core::Offset to;
    };

    void run();
    bool wait_for_work(Work& work);
    bool is_woken() const;
    void wait_for_readers(std::unique_lock<std::mutex>& lock);
    void handle(Work& work);
    std::size_t slice_of(std::span<const Publish> publishes) const;
    std::size_t answer_overdue(std::span<const Publish> publishes);
    core::Result<void> write(std::span<Publish> publishes, std::span<const MetaWrite> meta);
    core::Result<void> ready_to_write();
    void fill(Batch& batch, std::span<const Publish> publishes, std::span<const MetaWrite> meta);
    void place(Batch& batch, const Publish& publish, core::Timestamp now);
    void succeeded(std::span<Publish> publishes);
    void failed(const core::Error& error);
    void show_written(std::span<Publish> publishes);
    void trim_tail();
    void answer(std::span<const Publish> publishes, const core::Result<void>& written);
    void record_clean_stop();

    const EmbeddedConfig config_;
    Storage& storage_;
    Partitions& partitions_;
    LogTime& time_;

    std::mutex mutex_;
    std::condition_variable wake_;
    Work queue_;
    bool stopping_ = false;

    // Of the writer's thread.
    std::chrono::steady_clock::time_point last_written_{};
    Batch batch_;
    std::vector<Appended> appended_;   ///< beside the publishes of the batch being written
    std::vector<Partition*> touched_;  ///< with records in the batch being written
    std::vector<Void> voids_;
    std::vector<AnswerQueue*> answered_;
    std::deque<std::pair<Partition*, std::size_t>> tail_;  ///< chunks in memory, oldest first
    std::size_t tail_bytes_ = 0;
    std::optional<core::Error> failure_;  ///< of the last write; writing is tried again from
    core::MonoTime retry_at_{};           ///< this moment on

    std::thread thread_;
};

}  // namespace beckon::log::embedded
