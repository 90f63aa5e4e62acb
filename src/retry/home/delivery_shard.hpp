#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/key_ring.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
#include "retry/event/event_cache.hpp"
#include "retry/event/event_reader.hpp"
#include "retry/home/bridges.hpp"
#include "retry/home/dispatcher.hpp"
#include "retry/home/fan_out/fan_out_turns.hpp"
#include "retry/home/fan_out/webhook_progress.hpp"
#include "retry/home/partition_home.hpp"
#include "retry/home/queue/attempt_queue.hpp"
#include "retry/home/tiers/home_context.hpp"
#include "retry/home/tiers/tier_state.hpp"
#include "retry/webhook/directory.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::retry {

/// Some of the partitions of a node on a thread of their own: their homes, which match the events
/// and hold the tiers, and the attempts, at webhooks and bridges. It has its own copy of the
/// webhooks. On the executor's thread.
class DeliveryShard final : private DeliveryOutcomes {
public:
    /// Its thread; each of these is used there.
    struct Thread {
        core::Executor& executor;
        SendRequest send;                      ///< to webhooks
        WorkJournal::Slot* journal = nullptr;  ///< outlives the shard, may be null
        std::function<BridgeApps()> bridge_apps = [] { return BridgeApps{}; };
    };
    /// Of the process; they outlive the shard.
    struct Context {
        log::EventLog& log;
        const core::Clock& clock;
        std::shared_ptr<const core::KeyRing> keys;
        EventCache& cache;
        ProvenApps& proven;
        BridgeObserver* observer = nullptr;         ///< any thread; may be null without apps
        core::MilestoneSink* milestones = nullptr;  ///< null: nothing is reported
    };
    /// Called on this thread.
    struct Events {
        /// A partition serves, or does not and why (empty: it is being taken over).
        std::function<void(core::Partition, bool serving, const std::string& fault)> serving;
        std::function<void(core::Partition, core::Offset next)> fanned_out_up_to;
        std::function<void(const std::string& webhook, const WebhookState&)> change_state;
        CatchUp catch_up;
        std::function<void(const std::string& webhook, const Attempt&)> attempted;
        std::function<core::Epoch(core::Partition)> highest_epoch;
    };

    DeliveryShard(DeliveryOptions options, Context context, Thread thread, Events events);
    ~DeliveryShard() override;
    DeliveryShard(const DeliveryShard&) = delete;
    DeliveryShard& operator=(const DeliveryShard&) = delete;

    /// Folds a record of a partition of `webhooks`.
    void apply(core::Partition partition, const core::RecordView& record);
    void clear_webhooks();
    /// Sets whether the webhooks are up to date; while they are not, events wait, in the log and
    /// here.
    void set_up_to_date(bool is);
    /// All webhooks that there were have been folded: homes may start.
    void webhooks_known();

    void open(core::Partition partition);
    /// The partition is another node's from now on: its finished records are written.
    void close(core::Partition partition);

    /// Starts no new attempts; `done` once none is under way.
    void drain(std::function<void()> done) { queue_.drain(std::move(done)); }
    void resume() { queue_.resume(); }
    /// Writes the finished records of all partitions; answers when the log has them or has failed.
    void stop(std::function<void()> stopped);

    struct Counts {
        Tally tally;
        std::map<std::string, OwnerUsage, std::less<>> usage;
        std::size_t waiting = 0;  ///< of webhooks, as the next
        std::size_t under_way = 0;
        std::size_t bridged_waiting = 0;
        std::size_t bridged_under_way = 0;
        std::map<BridgeAppName, std::string> bridge_faults;
        std::vector<TierState> tier_states;         ///< of the partitions that are served
        std::vector<log::GroupOffset> fanned_out;   ///< events below are, in these partitions
        std::optional<fold::Restored> taking_over;  ///< of the partitions that are
        Counts& operator+=(const Counts& other);
    };
    Counts counts() const;
    const RecentAttempts& attempts() const { return dispatcher_.attempts(); }

private:
    // A ticket of a lease that was lost meanwhile is void: the next home has the delivery.
    void finish(const Ticket& ticket) override;
    void promote(const Ticket& ticket, Delivery delivery, int tier) override;
    void dead_letter(const Ticket& ticket, Delivery delivery) override;
    void due(Due due);
    void forget(core::Partition partition);
    void read_on_soon();
    PartitionTiers* tiers_of(const Ticket& ticket);

    const DeliveryOptions options_;
    const Events events_;
    Tally tally_;
    std::unique_ptr<log::Publisher> publisher_;
    const HomeContext home_;
    WebhookDirectory directory_;
    WebhookProgress progress_;
    FanOutTurns turns_;
    EventCache& cache_;
    EventReader event_reader_;
    bool known_ = false;
    AttemptQueue queue_;
    Dispatcher dispatcher_;
    Bridges bridges_;
    const PartitionHome::Events home_events_;
    std::map<core::Partition, std::unique_ptr<PartitionHome>> homes_;
    std::map<std::uint64_t, std::unique_ptr<PartitionHome>> leaving_;  ///< they stop
    std::uint64_t left_homes_ = 0;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
