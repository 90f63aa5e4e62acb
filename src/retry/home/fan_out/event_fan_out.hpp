#pragma once

#include "core/clock.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "retry/event/event_cache.hpp"
#include "retry/home/fan_out/fan_out_turns.hpp"
#include "retry/home/fan_out/webhook_progress.hpp"
#include "retry/home/tiers/home_context.hpp"
#include "retry/webhook/directory.hpp"
#include "retry/webhook/webhooks_changed.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace beckon::retry {

/// Reads one partition of `events` and writes each event to `retry.0` once for every webhook that
/// wants it; a large one stays in `events`, and its deliveries name it (kEventInDeliveryMax). An
/// event counts as fanned out when the log has all of its deliveries; after a crash it
/// may be fanned out again, under the same delivery ids. Copies of an event among the last 8,192
/// are dropped.
///
/// Events are read ahead, up to kReadAheadMax, and matched in their owner's turn (FanOutTurns): the
/// events of one owner in order, and an event for all owners in the turn of each. The filters of
/// each owner may take Steps::kMax of one event, and the rate of StepQuota of many. For a webhook
/// whose filter has no result then, the delivery goes to `retry.dead` (filter_too_costly), and a
/// record in `webhooks` reports it. An exception while an event is matched makes a dead letter of
/// the event, with the reason.
///
/// An event may also end the process, or hang so that an operator ends it: the WorkJournal names
/// the event that a thread is working on, and one that two processes ended with is a dead letter.
///
/// Events behind a WebhooksChanged wait until the directory has those webhooks. On the executor's
/// thread.
class EventFanOut {
public:
    static constexpr core::Offset kReadBack = 1'000;
    /// How far events are begun behind the first one that is not fanned out.
    static constexpr core::Offset kReadAheadMax = 4'096;
    /// Events that are read and not yet matched, counted for each owner.
    static constexpr std::size_t kMatchesMax = 16'384;
    /// The bytes of events that are read and not yet fanned out, and of their dead letters.
    static constexpr std::size_t kAheadBytesMax = std::size_t{4} << 20;
    /// The text of events that stay parsed between two parts of their matching; beyond that they
    /// are parsed again.
    static constexpr std::size_t kParsedBytesMax = std::size_t{1} << 18;
    static constexpr std::size_t kReadBytesPerTurn = std::size_t{1} << 14;  ///< of the thread
    /// A CostlyFilter of one webhook is written at most so often.
    static constexpr core::Duration kReportCostlyEvery = std::chrono::minutes{1};
    static constexpr core::Duration kPublishAgain = std::chrono::milliseconds{500};

    struct Options {
        core::Partition partition = 0;
        core::Partition partitions = 1;
        core::Offset from = 0;
    };
    struct Context {
        HomeContext home;
        const WebhookDirectory& webhooks;
        /// Of the directory. While it is not up to date, or lacks changes, events wait in the log;
        /// the owner calls read_on() later.
        WebhookProgress& progress;
        FanOutTurns& turns;
        EventCache& cache;
    };
    struct Events {
        /// Everything below `next` is fanned out.
        std::function<void(core::Offset next)> fanned_out_up_to;
        std::function<void(const core::Error&)> failed;
    };
    EventFanOut(Options options, Context context, Events events);
    ~EventFanOut();

    void start();
    /// Events may be read again.
    void read_on();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
