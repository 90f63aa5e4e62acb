#pragma once

#include "log/event_log.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace beckon::log {

/// In-memory log for simulations and tests: deterministic for a seed, with knobs for what goes
/// wrong. Single-threaded: everything runs on the thread that uses it and its executors.
class MemoryLog : public EventLog {
public:
    struct Options {
        std::uint64_t seed = 0;
        core::Partition partitions = 4;
        const core::Clock* clock = nullptr;
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

    // --- knobs
    /// The next `count` publishes fail without being appended.
    virtual void fail_next_publishes(int count) = 0;
    /// The next `count` publishes are appended but answered with an error (a lost report).
    virtual void lose_next_answers(int count) = 0;
    /// While away: publishes fail after their time-out, readers get nothing, ends() fails.
    virtual void set_away(bool away) = 0;
    /// Readers of this partition see nothing beyond what they have until released (a lagging fold).
    virtual void hold_readers(TopicPartition where, bool hold) = 0;
    /// Keeps the newest record of each key below `before`, drops tombstones too if asked.
    virtual void compact(TopicPartition where, core::Offset before, bool drop_tombstones) = 0;
    /// Moves the log start.
    virtual void truncate_before(TopicPartition where, core::Offset start) = 0;

    virtual const std::vector<Stored>& records(TopicPartition where) const = 0;
};

std::unique_ptr<MemoryLog> make_memory_log(const MemoryLog::Options& options);

}  // namespace beckon::log
