#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "log/event_log.hpp"
#include "retry/bridge/bridges.hpp"
#include "retry/dead/dead_index.hpp"
#include "retry/dead/resender.hpp"
#include "retry/dispatch/dispatcher.hpp"
#include "retry/dispatch/first_attempts.hpp"
#include "retry/event/event.hpp"
#include "retry/event/event_cache.hpp"
#include "retry/event/event_fan_out.hpp"
#include "retry/node/change_turns.hpp"
#include "retry/node/delivery_shard.hpp"
#include "retry/node/tier_watch.hpp"
#include "retry/tiers/partition_tiers.hpp"
#include "retry/tiers/tier_table.hpp"
#include "retry/webhook/directory.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// The role `retry` on one node: its place in the cluster, the directory of all webhooks, the dead
/// letters, and the queries of the API, on the executor's thread. The homes of its partitions have
/// threads of their own, divided among them by number, to which this one posts (DeliveryShard):
/// each matches the events of its partitions, holds their tiers and makes their attempts, with a
/// copy of the webhooks that follows this one's. A change of a webhook is answered when all of them
/// have it.
class RetryNode {
public:
    /// A thread for deliveries; `send` is called on it.
    struct Worker {
        core::Executor* executor = nullptr;
        SendRequest send;
        WorkJournal::Slot* journal = nullptr;  ///< of the thread; outlives the node, may be null
    };

    struct Options {
        core::Partition partitions = 16;
        TierTable table;
        core::NodeId node;
        std::string node_name{};        ///< placement goes by it; empty: by `node`
        Scheduler::Options schedule{};  ///< of each worker
        std::chrono::seconds age_max = std::chrono::hours{24 * 7};
        std::chrono::seconds failing_max = std::chrono::hours{24 * 5};
        std::optional<core::MonoTime> stop_at{};
        std::size_t event_cache_bytes = EventCache::kBytesMax;
        std::size_t dead_letters_max = DeadIndex::kLettersMax;  ///< fewer in tests
        /// At a stop, for attempts under way; the next home makes attempts without an answer again.
        core::Duration drain = std::chrono::seconds{2};
    };
    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        const core::Clock& clock;
        std::shared_ptr<const core::KeyRing> keys;
        /// At least one; they outlive the node, and run until it is destroyed.
        std::vector<Worker> workers;
        std::function<void(bool ready, const std::string& why)> ready;
        Bridges* bridges = nullptr;  ///< for messages of bridged clients; outlives the node
        /// All executors turn on the thread that destroys the node (in a simulation).
        bool one_thread = false;
    };

    RetryNode(Options options, Context context);
    ~RetryNode();
    RetryNode(const RetryNode&) = delete;
    RetryNode& operator=(const RetryNode&) = delete;

    void start();
    /// The owner's loops are running; call it every second.
    void still_alive();
    /// Collects the counts of workers, for counts() and usage_of().
    void measure();

    /// Of the thread that the node runs on.
    core::Executor& executor() const;
    const WebhookDirectory& webhooks() const;
    /// The last attempts of a webhook; none if this node does not serve it.
    void attempts_of(const std::string& webhook, std::function<void(WebhookAttempts)> done);
    /// Those of the named webhooks that this node serves, in short.
    void summaries_of(const std::vector<std::string>& webhooks,
                      std::function<void(std::map<std::string, AttemptSummary>)> done);
    /// The resources of this process that an owner's webhooks have used, as of the last measure().
    OwnerUsage usage_of(std::string_view owner) const;
    std::size_t partitions_served() const;
    /// True once all webhooks have been read; before that a missing webhook proves nothing.
    bool knows_webhooks() const;
    /// The dead letters of all partitions, which are complete once knows_dead_letters() is true,
    /// and their resender.
    const DeadIndex& dead_letters() const;
    bool knows_dead_letters() const;
    Resender& resender();
    /// The first attempts of posted events, at the webhooks that this node serves.
    FirstAttempts& first_attempts();
    /// The log's time, as far as records show it; else the host's.
    core::Timestamp now() const;
    /// Whether the deliveries of this webhook are attempted on this node.
    bool serves(std::string_view webhook) const;

    /// Since the start, as of the last measure(); a home that starts over counts anew.
    struct Counts {
        DeliveryShard::Counts deliveries;
        std::map<int, TierWatch::Waiting> tiers;  ///< by tier, of the partitions that are served
    };
    Counts counts() const;

    /// Whether this owner's events that wait to be fanned out leave space for one more in the
    /// event's partition (WaitingEvents).
    bool may_post(const Event& event, const std::string& poster) const;
    /// Writes an event, which counts for the owner that posts it until it is fanned out; the answer
    /// comes when the log has it.
    void post_event(const Event& event, const std::string& poster,
                    std::function<void(core::Result<void>)> done);
    /// A change that reads a webhook and then calls one of the next three is made in its turn.
    ChangeTurns& change_turns();
    /// Writes a webhook, and answers when this node has folded it. Likewise the next two.
    void put_webhook(const Webhook& webhook, std::function<void(core::Result<void>)> done);
    void remove_webhook(const std::string& id, std::function<void(core::Result<void>)> done);
    void put_state(const std::string& id, const WebhookState& state,
                   std::function<void(core::Result<void>)> done);
    /// Writes a delivery of one event to one webhook alone (a test).
    void deliver(const Delivery& delivery, std::function<void(core::Result<void>)> done);

    /// Starts no new attempt, waits for those under way (`drain`), and writes the finished records.
    void stop(std::function<void()> stopped);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
