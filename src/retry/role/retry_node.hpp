#pragma once

#include "cluster/cluster.hpp"
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/key_ring.hpp"
#include "core/lifetime.hpp"
#include "log/event_log.hpp"
#include "retry/event/event.hpp"
#include "retry/event/event_cache.hpp"
#include "retry/event/event_reader.hpp"
#include "retry/home/dead/dead_index.hpp"
#include "retry/home/dead/resender.hpp"
#include "retry/home/delivery_options.hpp"
#include "retry/home/delivery_shard.hpp"
#include "retry/home/first_attempts.hpp"
#include "retry/role/change_notices.hpp"
#include "retry/role/change_turns.hpp"
#include "retry/role/hosted.hpp"
#include "retry/role/node_state.hpp"
#include "retry/role/tier_watch.hpp"
#include "retry/webhook/directory.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
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
    /// Deleted webhooks of one partition whose left records are removed at once, before a further
    /// read barrier.
    static constexpr std::size_t kLeftAtOnceMost = 64;

    struct Options {
        DeliveryOptions deliveries;
        std::string node_name{};  ///< placement goes by it; empty: by the node's id
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
        std::vector<DeliveryShard::Thread> threads;
        std::function<void(bool ready, const std::string& why)> ready;
        BridgeObserver* observer = nullptr;  ///< as of DeliveryShard::Context, and the next
        core::MilestoneSink* milestones = nullptr;
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
    core::Executor& executor() const { return context_.executor; }
    const WebhookDirectory& webhooks() const { return known_.webhooks(); }
    /// The last attempts of a webhook; none if this node does not serve it.
    void attempts_of(const std::string& webhook, std::function<void(WebhookAttempts)> done);
    /// Those of the named webhooks, each named once, that this node serves, in short.
    void summaries_of(const std::vector<std::string>& webhooks,
                      std::function<void(std::map<std::string, AttemptSummary>)> done);
    /// The resources of this process that an owner's webhooks have used, as of the last measure().
    OwnerUsage usage_of(std::string_view owner) const;
    std::size_t partitions_served() const;
    /// True once all webhooks have been read; before that a missing webhook proves nothing.
    bool knows_webhooks() const { return known_.knows_webhooks(); }
    /// The dead letters of all partitions, which are complete once knows_dead_letters() is true,
    /// and their resender.
    const DeadIndex& dead_letters() const { return known_.dead_letters(); }
    bool knows_dead_letters() const { return known_.knows_dead_letters(); }
    Resender& resender() { return *resender_; }
    /// The first attempts of posted events, at the webhooks that this node serves.
    FirstAttempts& first_attempts() { return first_attempts_; }
    /// The log's time, as far as records show it; else the host's.
    core::Timestamp now() const { return known_.now(); }
    /// Whether the deliveries of this webhook are attempted on this node.
    bool serves(std::string_view webhook) const;

    /// Of all threads since the start, as of the last measure().
    DeliveryShard::Counts counts() const;
    /// By tier, of the partitions that are served; likewise.
    const std::map<int, TierWatch::Waiting>& tiers() const { return tier_watch_.waiting(); }

    /// Whether this owner's events that wait to be fanned out leave space for one more in the
    /// event's partition (WaitingEvents).
    bool may_post(const Event& event, const std::string& poster);
    /// Writes an event, which counts for the owner that posts it until it is fanned out; the answer
    /// comes when the log has it.
    void post_event(const Event& event, const std::string& poster,
                    std::function<void(core::Result<void>)> done);
    /// A change that reads a webhook and then calls one of the next three is made in its turn.
    ChangeTurns& change_turns() { return change_turns_; }
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
    using Done = std::function<void(core::Result<void>)>;
    struct Home {
        bool serving = false;
        std::string fault;
    };
    /// Of one partition, between this thread and that of its home.
    struct Shared {
        std::atomic<core::Epoch> highest_epoch = 0;  ///< for the home
        std::atomic<core::Offset> fanned_out = 0;    ///< by the home: events below
    };

    void begin_shard(std::size_t index);
    DeliveryShard::Events events_of_shard(std::size_t index);
    NodeState::Events events_of_state();
    bool serves(core::Partition partition) const;
    void pass_on(core::Partition partition, const core::RecordView& record);
    void remove_left(core::Partition partition);
    void webhooks_known();
    void webhooks_changed();
    void placed(core::Partition partition, const cluster::Placement& placement);
    void note_epochs();
    void serving(core::Partition partition, bool serves, const std::string& fault);
    void hand_over_soon();
    void hand_over_all();
    void leave();
    void report_ready();
    void change_state(const std::string& id, const WebhookState& state);
    void write_judged(const std::string& id, const ChangeTurns::Turn& turn);
    void announce_disabled(const std::string& id, const WebhookState& state,
                           std::function<void()> then);
    bool is_past(const std::string& id, const WebhookState& state) const;
    void publish(log::TopicPartition where, core::Record record, Done done);
    void publish_webhook(const std::string& id, core::Record record, Done done);
    void announce_webhook(const std::string& id, core::Record record, Done done);
    void confirm(const std::string& id, const Done& done);
    void stop_homes(const std::function<void()>& stopped);

    core::Partition partitions() const { return options_.deliveries.partitions; }
    Shared& shared(core::Partition partition) const {
        return (*shared_)[static_cast<std::size_t>(partition)];
    }
    const Hosted<DeliveryShard>& shard_of(core::Partition partition) const {
        return shards_[static_cast<std::size_t>(partition) % shards_.size()];
    }
    /// `f` on this thread, from any other; dropped once the node has ended.
    template <class F>
    auto here(F f) {
        return [remote = lifetime_.remote(), f = std::move(f)](auto... args) {
            remote.post([f, args...] { f(args...); });
        };
    }
    /// Calls `done` here when it was called so often.
    std::function<void()> after(std::size_t times, std::function<void()> done) {
        const auto left = std::make_shared<std::size_t>(times);
        return here([left, done = std::move(done)] {
            if (--*left == 0) done();
        });
    }
    /// Calls `f` with each shard, on its thread.
    template <class F>
    void each_shard(const F& f) const {
        for (const auto& shard : shards_) shard.use(f);
    }

    const Options options_;
    const Context context_;
    core::Lifetime lifetime_{context_.executor};
    EventCache cache_{options_.event_cache_bytes};
    ProvenApps proven_;
    std::unique_ptr<log::Publisher> publisher_;
    NodeState known_;
    ChangeNotices notices_{partitions(), options_.deliveries.node, *publisher_, context_.executor};
    ChangeTurns change_turns_{context_.executor};
    std::map<std::string, WebhookState> judged_;  ///< states that wait for the webhook's turn
    EventReader event_reader_{context_.log, context_.executor, cache_};
    std::unique_ptr<Resender> resender_;
    FirstAttempts first_attempts_{context_.executor};
    std::unique_ptr<cluster::Cluster> cluster_;
    std::vector<Hosted<DeliveryShard>> shards_;
    std::vector<DeliveryShard::Counts> latest_;  ///< of each shard
    TierWatch tier_watch_{context_.log, context_.executor, context_.clock};
    std::shared_ptr<std::vector<Shared>> shared_;
    std::map<core::Partition, Home> homes_;       ///< as their shards report
    std::set<core::Partition> placed_elsewhere_;  ///< known, and not ours
    std::set<core::Partition> removing_;          ///< what is left there of deleted webhooks
    bool stopping_ = false;
    bool leaving_ = false;  ///< hands its partitions over, before the end of its time
    bool homes_stopping_ = false;
};

}  // namespace beckon::retry
