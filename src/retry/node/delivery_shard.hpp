#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
#include "retry/dispatch/dispatcher.hpp"
#include "retry/event/event_cache.hpp"
#include "retry/event/event_reader.hpp"
#include "retry/event/fan_out_turns.hpp"
#include "retry/node/partition_home.hpp"
#include "retry/node/webhook_progress.hpp"
#include "retry/tiers/tier_state.hpp"
#include "retry/tiers/tier_table.hpp"
#include "retry/webhook/directory.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::retry {

/// Some of the partitions of a node on a thread of their own: their homes, which match the events
/// and hold the tiers, and the attempts. It has its own copy of the webhooks. On the executor's
/// thread.
class DeliveryShard final : private DeliveryOutcomes {
public:
    struct Options {
        core::Partition partitions = 1;
        TierTable table;
        core::NodeId node;
        Scheduler::Options schedule{};
        std::chrono::seconds age_max = std::chrono::hours{24 * 7};
        std::chrono::seconds failing_max = std::chrono::hours{24 * 5};
        std::optional<core::MonoTime> stop_at{};
    };
    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        const core::Clock& clock;
        std::shared_ptr<const core::KeyRing> keys;
        SendRequest send;
        EventCache& cache;                     ///< of the process; outlives the shard
        WorkJournal::Slot* journal = nullptr;  ///< of this thread; may be null
    };
    /// Called on this thread.
    struct Events {
        /// A partition serves, or does not and why (empty: it is being taken over).
        std::function<void(core::Partition, bool serving, const std::string& fault)> serving;
        /// A message for a client of a bridge is due; the partition's outcomes come through
        /// finish(), promote() and dead_letter().
        std::function<void(Due)> bridged;
        std::function<void(core::Partition)> forget_bridged;
        std::function<void(const std::string& webhook, const WebhookState&)> change_state;
        std::function<void(const std::string& webhook, std::function<void(bool)>)> catch_up;
        /// As of WebhookProgress.
        std::function<void(core::Partition, core::Offset)> catch_up_events;
        std::function<void(const std::string& webhook, const Attempt&)> attempted;
        std::function<core::Epoch(core::Partition)> highest_epoch;
    };

    DeliveryShard(Options options, Context context, Events events);
    ~DeliveryShard() override;
    DeliveryShard(const DeliveryShard&) = delete;
    DeliveryShard& operator=(const DeliveryShard&) = delete;

    /// Folds a record of a partition of `webhooks`.
    void apply(core::Partition partition, const core::RecordView& record);
    /// As of WebhookProgress.
    void has_read(core::Partition partition, core::Offset next) {
        progress_.has_read(partition, next);
    }
    void clear_webhooks();
    /// Sets whether the webhooks are up to date; while they are not, events wait, in the log and
    /// here.
    void set_up_to_date(bool is);
    /// All webhooks that there were have been folded: homes may start.
    void webhooks_known();

    void open(core::Partition partition);
    /// The partition is another node's from now on: its finished records are written.
    void close(core::Partition partition);

    // A ticket of a lease that was lost meanwhile is void: the next home has the delivery.
    void finish(const Ticket& ticket) override;
    void promote(const Ticket& ticket, Delivery delivery, int tier) override;
    void dead_letter(const Ticket& ticket, Delivery delivery) override;

    /// Starts no new attempts; `done` once none is under way.
    void drain(std::function<void()> done) { dispatcher_->drain(std::move(done)); }
    void resume() { dispatcher_->resume(); }
    /// Writes the finished records of all partitions; answers when the log has them or has failed.
    void stop(std::function<void()> stopped);

    struct Counts {
        PartitionTiers::Counts tiers;
        Dispatcher::Counts dispatched;
        EventFanOut::Counts events;
        std::map<std::string, OwnerUsage, std::less<>> usage;
        std::size_t waiting = 0;
        std::size_t under_way = 0;
        std::vector<TierState> tier_states;         ///< of the partitions that are served
        std::vector<log::GroupOffset> fanned_out;   ///< events below are, in these partitions
        std::optional<fold::Restored> taking_over;  ///< of the partitions that are
        Counts& operator+=(const Counts& other);
    };
    Counts counts() const;
    WebhookAttempts attempts_of(const std::string& webhook) const {
        return {.last = dispatcher_->attempts_of(webhook), .hours = dispatcher_->hours_of(webhook)};
    }
    AttemptSummary summary_of(const std::string& webhook) const {
        return dispatcher_->summary_of(webhook);
    }

private:
    void due(Due due);
    void forget(core::Partition partition);
    void read_on_soon();
    PartitionTiers* tiers_of(const Ticket& ticket);

    const Options options_;
    const Context context_;
    const Events events_;
    std::unique_ptr<log::Publisher> publisher_;
    WebhookDirectory directory_;
    WebhookProgress progress_;
    FanOutTurns turns_;
    EventReader event_reader_;
    bool known_ = false;
    bool up_to_date_ = false;
    PartitionTiers::Counts left_;  ///< of homes that are not here any more
    EventFanOut::Counts left_events_;
    std::unique_ptr<Dispatcher> dispatcher_;
    std::map<core::Partition, std::unique_ptr<PartitionHome>> homes_;
    std::map<std::uint64_t, std::unique_ptr<PartitionHome>> leaving_;  ///< they stop
    std::uint64_t left_homes_ = 0;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
