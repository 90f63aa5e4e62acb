#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "retry/event/event_fan_out.hpp"
#include "retry/event/fan_out_turns.hpp"
#include "retry/webhook/directory.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace beckon::retry {

/// Fans out the events of the partitions that this node serves to their webhooks, on a thread of
/// its own: the cost of filters delays neither attempts nor the API. It has its own copy of the
/// webhooks. On the executor's thread.
///
/// While a partition takes events on trial (EventFanOut), the others take none, and it waits until
/// the others have matched the events that they have read: only an event of this trial can then
/// have ended the process. After kTrialMost without an end the next partition with events on trial
/// goes on.
class FanOut {
public:
    static constexpr core::Duration kTrialMost = std::chrono::seconds{5};
    /// Webhooks that events wait for are asked for with a read barrier so often.
    static constexpr core::Duration kCatchUpEvery = std::chrono::seconds{1};

    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        core::Executor& costly;  ///< of the thread for FanOutTurns::do_aside()
        std::shared_ptr<const core::KeyRing> keys;
        core::Partition partitions = 1;
    };
    /// Each names the lease under which the fan-out was started; called on this thread.
    struct Events {
        std::function<void(core::Partition, core::Epoch, core::Offset next)> done_up_to;
        std::function<void(core::Partition, core::Epoch, const core::Error&)> failed;
        /// Something of this partition of `webhooks` is missing here for a while: calls has_read()
        /// once all that is there now has been folded.
        std::function<void(core::Partition, core::Offset)> catch_up = [](core::Partition,
                                                                         core::Offset) {};
        /// Publishes the state; recorded() is called once the log has it.
        std::function<void(core::Partition, core::Epoch, const FanOutState&)> record;
    };

    FanOut(Context context, Events events);

    /// Folds a record of a partition of `webhooks`.
    void apply(core::Partition partition, const core::RecordView& record);
    /// All records below `next` have been folded, those that compaction has removed too.
    void has_read(core::Partition partition, core::Offset next);
    /// All webhooks are read again.
    void clear_webhooks();
    /// Sets whether the webhooks are up to date; while they are not, events wait, in the log and
    /// here.
    void set_up_to_date(bool is);

    /// `how` names the partition; Options::partitions is set here.
    void start(core::Epoch epoch, EventFanOut::Options how);
    void recorded(core::Partition partition, core::Epoch epoch);
    void stop(core::Partition partition);
    EventFanOut::Counts counts() const;

private:
    bool may_read(core::Partition partition) const;
    EventFanOut::Events events_of(core::Partition partition, core::Epoch epoch);
    bool has_all(const WebhooksChanged& changed);
    void catch_up_soon();
    bool others_have_all_matched(core::Partition partition) const;
    void trial_ends(core::Partition partition);
    void let_trial_go_on();
    void next_trial_soon();
    void read_on_soon();

    const Context context_;
    const Events events_;
    std::unique_ptr<log::Publisher> publisher_;
    WebhookDirectory directory_;
    FanOutTurns turns_;
    std::vector<core::Offset> next_;  ///< by partition of `webhooks`
    /// Changes of webhooks that events wait for; empty: none.
    std::map<core::Partition, core::Offset> missing_;
    bool catches_up_ = false;
    bool up_to_date_ = true;
    EventFanOut::Counts left_;  ///< of the fan-outs that have ended
    struct Running {
        core::Epoch epoch = 0;
        std::unique_ptr<EventFanOut> event_fan_out;
    };
    std::map<core::Partition, Running> event_fan_outs_;
    std::deque<core::Partition> on_trial_;  ///< the first one takes events
    std::uint64_t trial_ = 0;               ///< number of the first one's turn
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
