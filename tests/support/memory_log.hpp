#pragma once

#include "log/event_log.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace beckon::log {

/// In-memory log for simulations and tests: deterministic for a seed, with knobs for faults.
/// Single-threaded: everything runs on the thread that uses it and its executors.
class MemoryLog final : public EventLog {
public:
    struct Options {
        std::uint64_t seed = 0;
        core::Partition partitions = 4;
        const core::Clock* clock = nullptr;
        /// The time with which a partition's leader stamps records. Empty: the clock's wall time,
        /// never back.
        std::function<core::Timestamp(const TopicPartition&)> stamp = nullptr;
        /// Publishes are answered, and become readable, after a random delay up to this.
        core::Duration append_delay_max{};
        core::Duration read_delay_max{};
        core::Duration publish_timeout = std::chrono::seconds{5};
        std::size_t waiting_max = 10'000;  ///< publishes of one publisher not yet answered
    };

    /// A record at rest, for looking at and for replays.
    struct Stored {
        core::Offset offset;
        core::Timestamp time;
        core::Record record;
    };

    explicit MemoryLog(const Options& options);
    ~MemoryLog() override;
    MemoryLog(const MemoryLog&) = delete;
    MemoryLog& operator=(const MemoryLog&) = delete;

    std::unique_ptr<Publisher> open_publisher(core::Executor& executor) override;
    std::unique_ptr<PartitionReader> open_reader(TopicPartition where, core::Offset from,
                                                 core::Executor& executor,
                                                 std::function<void()> ready) override;
    void ends(TopicPartition where, core::Executor& executor,
              std::function<void(core::Result<Ends>)> done) override;
    void is_made_anew(TopicPartition where, ReadUpTo read, core::Executor& executor,
                      std::function<void(core::Result<bool>)> done) override;
    void commit(std::string group, std::vector<GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done) override;
    void committed(std::string group, std::vector<TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(core::Result<std::vector<GroupOffset>>)> done) override;
    std::unique_ptr<Member> join(MemberOptions options, core::Executor& executor,
                                 std::function<void(const Members&)> changed) override;

    core::MissingTime missing_time() const override { return missing_; }

    // --- knobs
    /// The next `count` publishes fail without being appended.
    void fail_next_publishes(int count);
    /// The next `count` publishes are appended but answered with an error (a lost report).
    void lose_next_answers(int count);
    /// While away: publishes fail after their time-out, readers get nothing, ends() fails.
    void set_away(bool away);
    /// Members that are destroyed while it is set were killed: the group misses them only when
    /// their time is over.
    void kill_members(bool killed);
    /// Readers of this partition see nothing beyond what they have until released (a lagging fold).
    void hold_readers(TopicPartition where, bool hold);
    /// Keeps the newest record of each key below `before`, drops tombstones too if asked.
    void compact(TopicPartition where, core::Offset before, bool drop_tombstones);
    /// What missing_time() answers from now on.
    void set_missing_time(core::MissingTime missing) { missing_ = std::move(missing); }
    /// Moves the log start.
    void truncate_before(TopicPartition where, core::Offset start);
    /// Empties the partition, whose next record has offset 0: its topic was deleted and made anew.
    /// While it has no reader.
    void make_anew(TopicPartition where);

    const std::vector<Stored>& records(TopicPartition where) const;

private:
    struct State;
    class MemoryPublisher;
    class MemoryReader;
    const std::unique_ptr<State> state_;
    core::MissingTime missing_;
};

std::unique_ptr<MemoryLog> make_memory_log(const MemoryLog::Options& options);

}  // namespace beckon::log
