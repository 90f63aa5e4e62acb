#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::log {

/// Knows whether the log can be reached and accepts records, for readiness. It learns from every
/// publish, and probes the log itself while there are none or the last ones failed. Once nothing
/// but failures came for the grace period it reports why; the first success after that reports the
/// end.
///
/// Made, started and destroyed on the executor's thread (or after its end); published() is called
/// from any thread.
class LogWatch {
public:
    struct Options {
        core::Duration grace = std::chrono::seconds{3};
        core::Duration interval = std::chrono::seconds{1};
        /// A probe without an answer for so long is taken for lost, and the next one is sent.
        core::Duration lost_after = std::chrono::seconds{30};
    };
    using Answer = std::function<void(const core::Result<void>&)>;
    struct Probes {
        /// Asks whether the log can be reached; writes nothing.
        std::function<void(Answer)> reach;
        /// Asks whether it accepts a record; called only while publishing fails. An owner that
        /// never calls published() needs none.
        std::function<void(Answer)> write = {};
    };
    /// Runs on the executor; empty: the log works.
    using Changed = std::function<void(std::string_view why)>;

    LogWatch(const Options& options, core::Executor& executor, const core::Clock& clock,
             Probes probes, Changed changed);

    void start();
    /// The outcome of a publish. Only failures of the log itself count: a record that is too large
    /// proves nothing about it.
    void published(const std::optional<core::Error>& error);

private:
    enum class Kind : bool { reach, write };
    struct Failure {
        core::MonoTime since{};
        std::string why;
    };

    void tick();
    void ask();
    void answered(Kind kind, const core::Result<void>& answer);
    void note(Kind kind, const std::optional<core::Error>& error, core::MonoTime since);
    std::string lasting_failure() const;

    const Options options_;
    core::Executor& executor_;
    const core::Clock& clock_;
    const Probes probes_;
    const Changed changed_;
    std::string reported_;
    std::optional<core::MonoTime> asked_;  ///< the first query that is not answered yet
    core::MonoTime asked_last_{};

    std::atomic<bool> failing_{false};  ///< spares the lock while all goes well
    mutable std::mutex mutex_;
    std::optional<Failure> unreachable_;  ///< under mutex_
    std::optional<Failure> unwritable_;   ///< under mutex_

    core::Lifetime lifetime_;  ///< of callbacks from the executor and the log
};

/// A query whether the log can be reached: for the ends of a partition.
std::function<void(LogWatch::Answer)> ask_ends(TopicPartition where, EventLog& log,
                                               core::Executor& executor);

}  // namespace beckon::log
