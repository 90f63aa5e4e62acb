#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "retry/tiers/done_record.hpp"
#include "retry/webhook/directory.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace beckon::retry {

/// Reads one partition of `events` and writes each event to `retry.0` once for every webhook that
/// wants it. An event counts as fanned out when the log has all of its deliveries; after a crash it
/// may be fanned out again, under the same delivery ids. Copies of an event among the last 8,192
/// are dropped.
///
/// The filters of each owner may take Steps::kMax of one event, and of many what StepQuota has. For
/// a webhook whose filter has no result then, the delivery goes to `retry.dead`
/// (filter_too_costly), and `webhooks` says so. Owners are matched one after the other, and the
/// thread has other turns between them and between events. What fails while one event is matched
/// ends that event, which is kept as a dead letter with the reason.
///
/// An event may also end the process, or hang so that somebody else ends it. After a fan-out that
/// did not end in order (`careful`), what it may have begun is taken *on trial*: only once the log
/// knows which events come next. The first few are tried alone, others kTrialEvents at a time, and
/// those of a trial in which the process ended alone. An event in whose trial alone two processes
/// have ended is kept as a dead letter. Otherwise nothing is written for it.
/// On the executor's thread.
class EventFanOut {
public:
    static constexpr core::Offset kReadBack = 1'000;
    static constexpr std::size_t kDeliveriesMax = 4'096;  ///< written and not yet reported
    static constexpr std::size_t kBytesMax = std::size_t{16} << 20;  ///< of events, likewise
    /// In one turn of the thread; the filters of an owner, and the parsing of an event, are not
    /// broken off.
    static constexpr std::size_t kStepsPerTurn = Steps::kMax;
    /// A CostlyFilter of one webhook is written at most so often.
    static constexpr core::Duration kReportCostlyEvery = std::chrono::minutes{1};
    static constexpr core::Duration kPublishAgain = std::chrono::milliseconds{500};
    static constexpr core::Offset kTrialsMax = 8'192;  ///< events that a fan-out may have begun
    static constexpr core::Offset kTriedAlone = 8;     ///< the first of them
    static constexpr core::Offset kTrialEvents = 64;

    struct Options {
        core::Partition partition = 0;
        core::Partition partitions = 1;
        core::Offset from = 0;
        FanOutState before{};  ///< what the log knew of the fan-out before
        bool careful = false;  ///< that one has ended with its process, as far as anybody knows
    };
    struct Events {
        /// Everything below `next` is fanned out.
        std::function<void(core::Offset next)> fanned_out_up_to;
        std::function<void(const core::Error&)> failed;
        /// Whether the directory is up to date. While it is not, events wait in the log; whoever
        /// says no calls read_on() later.
        std::function<bool()> may_read = [] { return true; };
        /// recorded() when the log knows this. One at a time.
        std::function<void(const FanOutState&)> record = [](const FanOutState&) {};
        /// Nothing is taken on trial any more; once, of a careful one.
        std::function<void()> trials_over = [] {};
    };
    struct Counts {
        std::uint64_t events = 0;
        std::uint64_t copies = 0;
        std::uint64_t broken = 0;
        std::uint64_t deliveries = 0;
        std::uint64_t too_costly = 0;  ///< dead letters among the deliveries
        std::uint64_t filter_steps = 0;
    };

    EventFanOut(Options options, log::EventLog& log, log::Publisher& publisher,
                core::Executor& executor, const WebhookDirectory& webhooks, Events events);
    ~EventFanOut();
    EventFanOut(const EventFanOut&) = delete;
    EventFanOut& operator=(const EventFanOut&) = delete;

    void start();
    /// Events may be read again.
    void read_on();
    /// The log knows what was last to be recorded.
    void recorded();
    const Counts& counts() const;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace beckon::retry
