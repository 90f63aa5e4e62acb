#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <functional>
#include <memory>

/// The contract of `EventLog` as a test suite (contract_*.cpp) that runs over every
/// adapter: a test binary links the suite and defines `make_log_under_test`.
namespace beckon::test {

/// Options that a test case sets for its log; all others are the adapter's own choice.
struct LogOptions {
    std::size_t waiting_max = 10'000;
};

/// One log with the topics of docs/design.md#topics-and-partitions, empty at first, and an executor
/// on the test's thread.
struct LogUnderTest {
    virtual ~LogUnderTest() = default;

    virtual log::EventLog& log() = 0;
    virtual core::Executor& executor() = 0;
    /// The clock that the log looks at.
    virtual const core::Clock& clock() = 0;
    /// Runs what is due on the executor until `done()`; false when `limit` of the clock has passed.
    virtual bool wait_until(const std::function<bool()>& done,
                            core::Duration limit = std::chrono::seconds{20}) = 0;

    core::Partition partitions = 4;  ///< at least 2
    /// How long a publish may wait for a log that is away, until it is answered.
    core::Duration publish_timeout = std::chrono::seconds{5};
    /// The shortest that the log allows, so that the tests of dying members are quick.
    core::Duration session_timeout = std::chrono::seconds{6};
    /// The memory that the process may take for a reader that does not take, over what it had; 0 if
    /// the log itself lives in memory.
    std::size_t slow_reader_bytes_max = 0;

    // --- Hooks, empty where they have no meaning; a test that needs one is then left out.

    /// Stops the log cleanly and opens it again over the same data. The caller destroys all objects
    /// of log() before.
    std::function<void()> restart;
    /// Compacts the partition: afterwards, of all records that stood in it at the call, only the
    /// newest of each key is left, and of those no tombstone. Records may be appended to get there,
    /// under keys that begin with `!compact/`. Blocks.
    std::function<void(log::TopicPartition)> compact_now;
    /// Moves the start of the partition (DeleteRecords). Blocks.
    std::function<void(log::TopicPartition, core::Offset)> truncate_before;
    /// The log cannot be reached or cannot write, until it comes back.
    std::function<void()> go_away;
    std::function<void()> come_back;
};

/// A log of its own for one test case. Defined once by each adapter's contract test.
std::unique_ptr<LogUnderTest> make_log_under_test(const LogOptions& options);

}  // namespace beckon::test
