#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

namespace beckon::log {

/// A sink's answer to a record: go on with the range, or stop.
enum class Next : std::uint8_t { go_on, stop };
using ScanSink = std::function<Next(const core::RecordView&)>;

/// Records with from <= offset < until.
struct Range {
    core::Offset from = 0;
    core::Offset until = std::numeric_limits<core::Offset>::max();
};

/// Reads the records of a range once, in turns of the executor's thread: the one way to read a part
/// of the log that has an end. Used and destroyed on that thread.
class RangeScan {
public:
    /// Records of one turn, and their bytes: others on the thread have turns in between.
    static constexpr std::size_t kTurn = 1'000;
    static constexpr std::size_t kTurnBytes = std::size_t{1} << 18;
    static constexpr core::Duration kTimeout = std::chrono::seconds{10};

    /// The offset behind the last record that was passed on before the sink stopped, or the end of
    /// the range. Errors: timed_out (for so long no record came), and those of
    /// PartitionReader::take that waiting does not mend.
    using Done = std::function<void(const core::Result<core::Offset>&)>;

    /// `done` is called once, from a later turn, and may destroy this.
    RangeScan(EventLog& log, TopicPartition where, Range range, core::Executor& executor,
              ScanSink sink, Done done, core::Duration timeout = kTimeout);

private:
    void turn_later();
    void turn();
    std::size_t deliver(const core::RecordView& record);
    void watch();
    void end(const core::Result<core::Offset>& result);

    const TopicPartition where_;
    const Range range_;
    core::Executor& executor_;
    const ScanSink sink_;
    Done done_;
    const core::Duration timeout_;
    core::Offset behind_;
    core::Offset watched_ = -1;  ///< `behind_` when the present time-out began
    bool stopped_ = false;
    core::Lifetime lifetime_{executor_};
    std::unique_ptr<PartitionReader> reader_;
};

}  // namespace beckon::log
