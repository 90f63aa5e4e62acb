#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/range_scan.hpp"
#include "records/dead_letter.hpp"
#include "retry/event/event_reader.hpp"
#include "retry/home/dead/dead_index.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace beckon::retry {

/// Settles dead letters: sends them on their way again, or drops them. A redrive is in `retry.0`
/// durably before its letter is settled, so a crash leaves the letter there to be redriven once
/// more under the same id and hop, which the tier recognises. On the executor's thread.
class Resender {
public:
    struct Context {
        log::EventLog& log;
        log::Publisher& publisher;
        core::Executor& executor;
        EventReader& events;
        DeadIndex& index;  ///< settled letters leave it at once
    };
    struct Outcome {
        std::size_t settled = 0;
        std::size_t gone = 0;    ///< fell off the log
        std::size_t failed = 0;  ///< the log did not take it; the letter is there still
    };
    using Done = std::function<void(Outcome)>;

    explicit Resender(Context context) : context_(context) {}

    void redrive(const std::vector<DeadLetter>& letters, Done done);
    void drop(const std::vector<DeadLetter>& letters, Done done);
    /// One letter with its event, which is empty if the log has the event no more. Errors:
    /// not_found, and those of log::RangeScan and EventReader.
    void read(const DeadLetter& letter, std::function<void(core::Result<Delivery>)> done);

private:
    /// A letter as it stands in `retry.dead`.
    struct Found {
        core::Timestamp died{};
        Delivery delivery;
    };
    using FoundAt = std::map<core::Offset, Found>;
    /// One call of redrive() or drop(). The partitions of a redrive follow one after the other.
    struct Task {
        Outcome outcome;
        std::vector<std::vector<DeadLetter>> partitions;  ///< of a redrive, that have not begun
        std::size_t left = 1;  ///< steps without an answer; one is the call itself
        Done done;
    };
    using TaskPtr = std::shared_ptr<Task>;

    /// Those of these offsets, which ascend, that the log still has. Errors: as log::RangeScan.
    void read(core::Partition partition, std::vector<core::Offset> offsets,
              std::function<void(const core::Result<FoundAt>&)> done);
    void read_event(const DeadLetter& letter, Delivery delivery,
                    const std::function<void(core::Result<Delivery>)>& done);
    void redrive_partition(const TaskPtr& task, const std::vector<DeadLetter>& letters);
    void resend(const TaskPtr& task, const DeadLetter& letter, const Found& found);
    void settle(const TaskPtr& task, const DeadLetter& letter, Settlement how);
    void step_done(const TaskPtr& task);

    const Context context_;
    std::map<std::uint64_t, std::unique_ptr<log::RangeScan>> scans_;
    std::uint64_t next_scan_ = 0;
    core::Lifetime lifetime_{context_.executor};
};

}  // namespace beckon::retry
