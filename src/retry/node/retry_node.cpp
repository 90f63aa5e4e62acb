#include "retry/node/retry_node.hpp"

#include "cluster/cluster.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "fold/restored.hpp"
#include "log/checked_publisher.hpp"
#include "log/until.hpp"
#include "retry/event/owned_record.hpp"
#include "retry/node/change_notices.hpp"
#include "retry/node/hosted.hpp"
#include "retry/node/left_records.hpp"
#include "retry/node/node_state.hpp"
#include "retry/node/written_check.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

namespace beckon::retry {

using log::Topic;
using Done = std::function<void(core::Result<void>)>;

namespace {

constexpr const char* kRole = "retry";
constexpr core::Duration kLeaveAgain = std::chrono::seconds{1};

}  // namespace

struct RetryNode::Impl final : DeliveryOutcomes {
    Impl(Options o, Context p)
        : options(std::move(o)),
          context(std::move(p)),
          publisher(std::make_unique<log::CheckedPublisher>(
              context.log.open_publisher(context.executor), context.executor,
              [this](const auto& where, const auto& record) {
                  return check_written(where, record, known.webhooks().box());
              })),
          known({.partitions = options.partitions,
                 .node = options.node,
                 .dead_letters_max = options.dead_letters_max},
                {context.log, *publisher, context.executor, context.clock, context.keys},
                events_of_state()),
          first_attempts(context.executor),
          latest(context.workers.size()),
          tier_watch(context.log, context.executor, context.clock),
          epochs(std::make_shared<Epochs>(static_cast<std::size_t>(options.partitions))) {
        for (const auto& worker : context.workers) shards.emplace_back(*worker.executor);
    }

    using Epochs = std::vector<std::atomic<core::Epoch>>;
    struct Home {
        bool serving = false;
        std::string fault;
    };

    const Options options;
    const Context context;
    core::Lifetime lifetime{context.executor};
    EventCache cache{options.event_cache_bytes};
    std::unique_ptr<log::Publisher> publisher;
    NodeState known;
    ChangeNotices notices{options.partitions, options.node, *publisher, context.executor};
    ChangeTurns change_turns{context.executor};
    std::map<std::string, WebhookState> judged;  ///< states that wait for the webhook's turn
    LeftRecords left_records{left_records_context()};
    EventReader event_reader{context.log, context.executor, cache};
    std::unique_ptr<Resender> resender;
    FirstAttempts first_attempts;
    std::unique_ptr<cluster::Cluster> cluster;
    std::vector<Hosted<DeliveryShard>> shards;
    std::vector<DeliveryShard::Counts> latest;  ///< of each shard
    TierWatch tier_watch;
    std::shared_ptr<Epochs> epochs;              ///< highest ones; read by the shards
    std::map<core::Partition, Home> homes;       ///< as their shards report
    std::set<core::Partition> placed_elsewhere;  ///< known, and not ours
    bool stopping = false;
    bool leaving = false;  ///< hands its partitions over, before the end of its time
    bool homes_stopping = false;

    void start();
    void begin_shard(std::size_t index);
    DeliveryShard::Events events_of_shard(std::size_t index);
    void end_parts();
    NodeState::Events events_of_state();
    LeftRecords::Context left_records_context();
    bool serves(core::Partition partition) const;
    void clear_webhooks();
    void pass_on(core::Partition partition, const core::RecordView& record);
    void catch_up(std::size_t shard, core::Partition partition, core::Offset below);
    void webhooks_known();
    void webhooks_changed();
    void join_cluster();
    void placed(core::Partition partition, const cluster::Placement& placement);
    void note_epochs();
    void serving(core::Partition partition, bool serves, const std::string& fault);
    void hand_over_soon();
    void hand_over_all();
    void leave();
    void report_ready();
    void change_state(const std::string& id, const WebhookState& state);
    void write_judged(const std::string& id, const ChangeTurns::TurnPtr& turn);
    void announce_disabled(const std::string& id, const WebhookState& state,
                           std::function<void()> then);
    bool is_past(const std::string& id, const WebhookState& state) const;
    void publish(log::TopicPartition where, core::Record record, Done done);
    void publish_webhook(const std::string& id, core::Record record, Done done);
    void announce_webhook(const std::string& id, core::Record record, Done done);
    void confirm(const std::string& id, const Done& done);
    void drain(std::function<void()> done);
    void stop_homes(const std::function<void()>& stopped);
    void measure();

    std::size_t index_of(core::Partition partition) const {
        return static_cast<std::size_t>(partition) % shards.size();
    }
    const Hosted<DeliveryShard>& shard_of(core::Partition partition) const {
        return shards[index_of(partition)];
    }
    /// `f` on this thread, from any other; dropped once the node has ended.
    template <class F>
    auto here(F f) {
        return [remote = lifetime.remote(), f = std::move(f)](auto... args) {
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

    // For the bridges, which run here.
    void finish(const Ticket& ticket) override {
        shard_of(ticket.partition).use([ticket](auto& shard) { shard.finish(ticket); });
    }
    void promote(const Ticket& ticket, Delivery delivery, int tier) override {
        shard_of(ticket.partition)
            .use([ticket, delivery = std::move(delivery), tier](auto& shard) mutable {
                shard.promote(ticket, std::move(delivery), tier);
            });
    }
    void dead_letter(const Ticket& ticket, Delivery delivery) override {
        shard_of(ticket.partition)
            .use([ticket, delivery = std::move(delivery)](auto& shard) mutable {
                shard.dead_letter(ticket, std::move(delivery));
            });
    }
};

void RetryNode::Impl::start() {
    if (context.bridges) context.bridges->serve(*this);
    for (std::size_t i = 0; i < shards.size(); ++i) begin_shard(i);
    known.start();
    join_cluster();
    hand_over_soon();
}

void RetryNode::Impl::begin_shard(std::size_t index) {
    const auto& worker = context.workers[index];
    shards[index].begin([options = DeliveryShard::Options{.partitions = options.partitions,
                                                          .table = options.table,
                                                          .node = options.node,
                                                          .schedule = options.schedule,
                                                          .age_max = options.age_max,
                                                          .failing_max = options.failing_max,
                                                          .stop_at = options.stop_at},
                         given = DeliveryShard::Context{.log = context.log,
                                                        .executor = *worker.executor,
                                                        .clock = context.clock,
                                                        .keys = context.keys,
                                                        .send = worker.send,
                                                        .cache = cache,
                                                        .journal = worker.journal},
                         events = events_of_shard(index)] {
        return std::make_unique<DeliveryShard>(options, given, events);
    });
}

/// Called on the shard's thread: they post.
DeliveryShard::Events RetryNode::Impl::events_of_shard(std::size_t index) {
    DeliveryShard::Events events{
        .serving = here([this](core::Partition p, bool serves, const std::string& fault) {
            serving(p, serves, fault);
        }),
        .bridged = {},
        .forget_bridged = {},
        .change_state = here(
            [this](const std::string& id, const WebhookState& state) { change_state(id, state); }),
        .catch_up =
            here([this, index](const std::string& id, const std::function<void(bool)>& done) {
                known.confirm(id, [this, index, done](const core::Result<void>& passed) {
                    shards[index].use([done, all = passed.has_value()](auto&) { done(all); });
                });
            }),
        .catch_up_events = here(
            [this, index](core::Partition p, core::Offset below) { catch_up(index, p, below); }),
        .attempted =
            [this, remote = lifetime.remote()](const std::string& id, const Attempt& attempt) {
                if (!first_attempts.any()) return;
                remote.post([this, id, attempt] { first_attempts.attempted(id, attempt); });
            },
        .highest_epoch =
            [epochs = epochs](core::Partition p) {
                return (*epochs)[static_cast<std::size_t>(p)].load();
            }};
    if (context.bridges) {
        events.bridged = here([this](const Due& due) { context.bridges->due(due); });
        events.forget_bridged = here([this](core::Partition p) { context.bridges->forget(p); });
    }
    return events;
}

/// Each on its thread, which still runs.
void RetryNode::Impl::end_parts() {
    const auto end = [this](const auto& part, const core::Executor* of) {
        context.one_thread || of == &context.executor ? part.end_here() : part.end();
    };
    for (std::size_t i = 0; i < shards.size(); ++i) end(shards[i], context.workers[i].executor);
}

NodeState::Events RetryNode::Impl::events_of_state() {
    return {.webhook_read = [this](core::Partition p, const auto& record) { pass_on(p, record); },
            .webhooks_cleared = [this] { clear_webhooks(); },
            .webhooks_known = [this] { webhooks_known(); },
            .webhooks_changed = [this] { webhooks_changed(); },
            .changed = [this] { report_ready(); }};
}

/// The home of a partition is one node, but for a moment of its take-over.
LeftRecords::Context RetryNode::Impl::left_records_context() {
    return {.partitions = options.partitions,
            .webhooks = known.webhooks(),
            .publisher = *publisher,
            .executor = context.executor,
            .confirm = [this](core::Partition p,
                              fold::Answer answer) { known.confirm(p, std::move(answer)); },
            .ours = [this](core::Partition p) { return serves(p); }};
}

bool RetryNode::Impl::serves(core::Partition partition) const {
    const auto found = homes.find(partition);
    return found != homes.end() && found->second.serving;
}

/// All copies are read anew.
void RetryNode::Impl::clear_webhooks() {
    for (const auto& shard : shards) shard.use([](auto& one) { one.clear_webhooks(); });
}

/// To all copies, in one order.
void RetryNode::Impl::pass_on(core::Partition partition, const core::RecordView& record) {
    const auto copy = std::make_shared<const OwnedRecord>(record);
    for (const auto& shard : shards) {
        shard.use([partition, copy](auto& one) {
            copy->visit([&](const auto& read) { one.apply(partition, read); });
        });
    }
}

void RetryNode::Impl::catch_up(std::size_t shard, core::Partition partition, core::Offset below) {
    known.confirm(partition,
                  lifetime.guard([this, shard, partition, below](const core::Result<void>& passed) {
                      if (passed)
                          shards[shard].use([=](auto& one) { one.has_read(partition, below); });
                  }));
}

/// From here on this node can serve any partition: waiting deliveries are in the log. The
/// controller moves partitions to a node that reports this.
void RetryNode::Impl::webhooks_known() {
    if (resender) return;  // they were read anew
    resender = std::make_unique<Resender>(Resender::Context{
        context.log, *publisher, context.executor, event_reader, known.dead_letters()});
    known.start_dead_letters();
    std::set<core::Partition> all;
    for (core::Partition p = 0; p < options.partitions; ++p) all.insert(p);
    cluster->set_ready(all);
    for (const auto& shard : shards) shard.use([](auto& one) { one.webhooks_known(); });
    report_ready();
}

/// While the webhooks cannot be read, events wait: a webhook that is not known here would miss
/// them.
void RetryNode::Impl::webhooks_changed() {
    report_ready();
    for (const auto& shard : shards) {
        shard.use([is = known.knows_webhooks()](auto& one) { one.set_up_to_date(is); });
    }
}

void RetryNode::Impl::join_cluster() {
    cluster = std::make_unique<cluster::Cluster>(
        cluster::ClusterOptions{.role = kRole,
                                .self = options.node,
                                .name = options.node_name,
                                .partitions = options.partitions,
                                .link_url = "",
                                .standby_count = 0},
        context.log, context.executor, context.clock,
        cluster::Cluster::Events{
            .placed = [this](core::Partition p, const auto& placement) { placed(p, placement); }});
}

void RetryNode::Impl::placed(core::Partition partition, const cluster::Placement& placement) {
    if (stopping) return;
    note_epochs();
    const auto& shard = shard_of(partition);
    if (placement.home == options.node) {
        placed_elsewhere.erase(partition);
        homes.try_emplace(partition);
        shard.use([partition](auto& one) { one.open(partition); });
        return;
    }
    placed_elsewhere.insert(partition);
    if (homes.erase(partition) > 0) {
        shard.use([partition](auto& one) { one.close(partition); });
    }
    report_ready();
}

void RetryNode::Impl::note_epochs() {
    for (core::Partition p = 0; p < options.partitions; ++p) {
        (*epochs)[static_cast<std::size_t>(p)] = cluster->highest_epoch(p);
    }
}

void RetryNode::Impl::serving(core::Partition partition, bool serves, const std::string& fault) {
    const auto found = homes.find(partition);
    if (found == homes.end()) return;  // it went elsewhere meanwhile
    found->second = {serves, fault};
    report_ready();
}

/// Hands over once no attempt of a webhook with the usual time-out can start any more.
void RetryNode::Impl::hand_over_soon() {
    if (!options.stop_at) return;
    const auto at = *options.stop_at - Webhook{}.timeout - AttemptEngine::kOverhead;
    context.executor.post_after(std::max<core::Duration>(at - context.clock.mono(), kLeaveAgain),
                                lifetime.guard([this] { hand_over_all(); }));
}

/// Hands all partitions over to other nodes, if there are any; else it goes on attempting while
/// there is time. Attempts under way have `drain` to end, so that few are made twice.
void RetryNode::Impl::hand_over_all() {
    if (stopping || leaving) return;
    if (!cluster->may_leave()) return hand_over_soon();
    leaving = true;
    const auto go_on = after(shards.size(), [this] { leave(); });
    for (const auto& shard : shards) shard.use([go_on](auto& one) { one.drain(go_on); });
    context.executor.post_after(options.drain, lifetime.guard([this] { leave(); }));
}

void RetryNode::Impl::leave() {
    if (stopping || !std::exchange(leaving, false)) return;
    if (cluster->leave()) {
        core::log_info("retry", "partitions_handed_over", {{"why", "the run ends soon"}});
        return;
    }
    for (const auto& shard : shards) shard.use([](auto& one) { one.resume(); });
    hand_over_soon();
}

void RetryNode::Impl::report_ready() {
    std::string why;
    std::optional<fold::Restored> taken;
    for (const auto& counts : latest) taken += counts.taking_over;
    for (const auto& [partition, home] : homes) {
        if (home.serving) continue;
        why = "partition " + std::to_string(partition) + ": " +
              (home.fault.empty() ? "being taken over" : home.fault);
        if (home.fault.empty() && taken) why += ": " + fold::to_string(*taken);
    }
    if (homes.size() + placed_elsewhere.size() < static_cast<std::size_t>(options.partitions)) {
        why = "waits for its place in the cluster";
    }
    if (auto unread = known.why_not_current(); !unread.empty()) why = std::move(unread);
    context.ready(why.empty(), why);
}

/// A state that attempts have led to. At most one of each webhook waits for its turn: the last one,
/// or one that disables the webhook.
void RetryNode::Impl::change_state(const std::string& id, const WebhookState& state) {
    const auto [waiting, first] = judged.try_emplace(id, state);
    if (first) {
        return change_turns.take(id, {}, 0,
                                 [this, id](const auto& turn) { write_judged(id, turn); });
    }
    if (waiting->second.enabled) waiting->second = state;
}

/// Whether attempts led to a state before the webhook was deleted, disabled, or enabled anew.
bool RetryNode::Impl::is_past(const std::string& id, const WebhookState& state) const {
    const auto* entry = known.webhooks().find(id);
    return !entry || !entry->state.enabled || entry->state.enabled_at != state.enabled_at;
}

void RetryNode::Impl::write_judged(const std::string& id, const ChangeTurns::TurnPtr& turn) {
    const auto state = judged.extract(id).mapped();
    if (is_past(id, state)) return;
    if (!state.enabled) {
        core::log_warn("retry", "webhook_disabled",
                       {{"owner", known.webhooks().find(id)->webhook.owner},
                        {"webhook", id},
                        {"host", known.webhooks().find(id)->host},
                        {"reason", state.reason}});
    }
    const auto write = [this, id, state, turn] {
        publish_webhook(id, encode(id, state), [id, turn](const auto& written) {
            turn->end();
            if (written) return;
            core::log_error("retry", "webhook_state_not_written",
                            {{"webhook", id}, {"why", written.error().message}});
        });
    };
    state.enabled ? write() : announce_disabled(id, state, write);
}

/// The event comes before the state: a process that ends between them finds the webhook enabled,
/// and what disables it publishes the same event again.
void RetryNode::Impl::announce_disabled(const std::string& id, const WebhookState& state,
                                        std::function<void()> then) {
    const auto* entry = known.webhooks().find(id);
    if (!entry) return then();
    const auto event = disabled_event(entry->webhook, state);
    log::until_written(
        {lifetime, context.executor}, *publisher,
        {Topic::kEvents, core::partition_of(event, options.partitions)},
        [event] { return core::encode(event); }, [then = std::move(then)](const auto&) { then(); });
}

void RetryNode::Impl::publish(log::TopicPartition where, core::Record record, Done done) {
    publisher->publish(where, std::move(record), [done = std::move(done)](const auto& at) {
        at ? done({}) : done(core::fail(at.error()));
    });
}

void RetryNode::Impl::publish_webhook(const std::string& id, core::Record record, Done done) {
    const log::TopicPartition where{Topic::kWebhooks, core::partition_of(id, options.partitions)};
    publish(where, std::move(record),
            lifetime.guard([this, id, done = std::move(done)](const auto& written) {
                if (!written) return done(written);
                confirm(id, done);
            }));
}

/// Answers when all nodes will match later events with it, and this one has folded it.
void RetryNode::Impl::announce_webhook(const std::string& id, core::Record record, Done done) {
    const auto partition = core::partition_of(id, options.partitions);
    publisher->publish(
        {Topic::kWebhooks, partition}, std::move(record),
        lifetime.guard([this, id, partition,
                        done = std::move(done)](const core::Result<log::Appended>& written) {
            if (!written) return done(core::fail(written.error()));
            notices.announce(partition, written->offset, [this, id, done](const auto& announced) {
                announced ? confirm(id, done) : done(announced);
            });
        }));
}

/// Answers when all copies have the log's records of this webhook.
void RetryNode::Impl::confirm(const std::string& id, const Done& done) {
    known.confirm(id, lifetime.guard([this, done](const core::Result<void>& passed) {
        if (!passed) return done(passed);
        const auto one = after(shards.size(), [done] { done({}); });
        for (const auto& shard : shards) shard.use([one](auto&) { one(); });
    }));
}

void RetryNode::Impl::drain(std::function<void()> done) {
    const auto one = after(shards.size() + 1, std::move(done));
    for (const auto& shard : shards) shard.use([one](auto& s) { s.drain(one); });
    if (context.bridges) return context.bridges->drain(one);
    one();
}

void RetryNode::Impl::stop_homes(const std::function<void()>& stopped) {
    if (std::exchange(homes_stopping, true)) return;
    const auto one = after(shards.size(), stopped);
    for (const auto& shard : shards) shard.use([one](auto& s) { s.stop(one); });
}

void RetryNode::Impl::measure() {
    std::vector<TierState> states;
    std::vector<log::GroupOffset> fanned_out;
    for (const auto& counts : latest) {
        states.insert(states.end(), counts.tier_states.begin(), counts.tier_states.end());
        fanned_out.insert(fanned_out.end(), counts.fanned_out.begin(), counts.fanned_out.end());
    }
    tier_watch.update(states, fanned_out);
    for (std::size_t i = 0; i < shards.size(); ++i) {
        shards[i].use([report = here([this, i](const DeliveryShard::Counts& counts) {
                           latest[i] = counts;
                       })](auto& shard) { report(shard.counts()); });
    }
    if (stopping) return;
    report_ready();  // a start is further than a second ago
    if (known.knows_webhooks()) left_records.remove_some();
}

RetryNode::RetryNode(Options options, Context context)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(context))) {}

RetryNode::~RetryNode() {
    impl_->lifetime.end();
    impl_->cluster.reset();
    impl_->end_parts();
}

void RetryNode::start() { impl_->start(); }

void RetryNode::still_alive() {
    impl_->cluster->still_alive();
    impl_->note_epochs();
    impl_->known.list_passed_over();
}

void RetryNode::measure() { impl_->measure(); }
const WebhookDirectory& RetryNode::webhooks() const { return impl_->known.webhooks(); }

void RetryNode::attempts_of(const std::string& webhook, std::function<void(WebhookAttempts)> done) {
    if (!serves(webhook)) return done({});
    const auto report = impl_->here(std::move(done));
    impl_->shard_of(core::partition_of(webhook, impl_->options.partitions))
        .use([webhook, report](auto& shard) { report(shard.attempts_of(webhook)); });
}

void RetryNode::summaries_of(const std::vector<std::string>& webhooks,
                             std::function<void(std::map<std::string, AttemptSummary>)> done) {
    using Summaries = std::map<std::string, AttemptSummary>;
    std::vector<std::vector<std::string>> of_shard(impl_->shards.size());
    for (const auto& id : webhooks) {
        if (!serves(id)) continue;
        of_shard[impl_->index_of(core::partition_of(id, impl_->options.partitions))].push_back(id);
    }
    const auto all = std::make_shared<Summaries>();
    const auto one =
        impl_->after(of_shard.size(), [all, done = std::move(done)] { done(std::move(*all)); });
    for (std::size_t i = 0; i < of_shard.size(); ++i) {
        const auto report = impl_->here([all, one](const Summaries& some) {
            all->insert(some.begin(), some.end());
            one();
        });
        impl_->shards[i].use([ids = std::move(of_shard[i]), report](auto& shard) {
            Summaries some;
            for (const auto& id : ids) some.emplace(id, shard.summary_of(id));
            report(std::move(some));
        });
    }
}

OwnerUsage RetryNode::usage_of(std::string_view owner) const {
    OwnerUsage sum;
    for (const auto& counts : impl_->latest) {
        const auto found = counts.usage.find(owner);
        if (found != counts.usage.end()) sum += found->second;
    }
    return sum;
}

std::size_t RetryNode::partitions_served() const {
    std::size_t count = 0;
    for (const auto& [partition, home] : impl_->homes) count += home.serving ? 1 : 0;
    return count;
}

bool RetryNode::may_post(const Event& event, const std::string& poster) const {
    return impl_->known.waiting().has_space(partition_of(event, impl_->options.partitions), poster);
}

void RetryNode::post_event(const Event& event, const std::string& poster, Done done) {
    const WaitingEvents::Posted posted{.partition = partition_of(event, impl_->options.partitions),
                                       .owner = poster,
                                       .bytes = event.json.size()};
    impl_->known.waiting().post(posted);
    impl_->publisher->publish(
        {Topic::kEvents, posted.partition}, encode(event),
        impl_->lifetime.guard([this, posted, done = std::move(done)](const auto& at) {
            at ? impl_->known.waiting().appended(posted, at->offset)
               : impl_->known.waiting().failed(posted);
            at ? done({}) : done(core::fail(at.error()));
        }));
}

core::Executor& RetryNode::executor() const { return impl_->context.executor; }

core::Timestamp RetryNode::now() const { return impl_->known.now(); }

ChangeTurns& RetryNode::change_turns() { return impl_->change_turns; }

void RetryNode::put_webhook(const Webhook& webhook, Done done) {
    impl_->announce_webhook(webhook.id, encode(webhook, impl_->known.webhooks().box()),
                            std::move(done));
}

void RetryNode::remove_webhook(const std::string& id, Done done) {
    impl_->publish_webhook(id, encode_state_removed(id), [](const auto&) {});
    impl_->publish_webhook(id, encode_filter_removed(id), [](const auto&) {});
    impl_->announce_webhook(id, encode_removed(id), std::move(done));
}

/// The owner of a webhook is told what others do to it.
void RetryNode::put_state(const std::string& id, const WebhookState& state, Done done) {
    const auto write = [impl = impl_.get(), id, state, done = std::move(done)] {
        impl->announce_webhook(id, encode(id, state), done);
    };
    const auto* entry = impl_->known.webhooks().find(id);
    const bool by_operator = !state.enabled && state.reason == kDisabledByOperator;
    if (!by_operator || !entry || !entry->state.enabled) return write();
    auto told = state;
    told.enabled_at = entry->state.enabled_at;
    impl_->announce_disabled(id, told, write);
}

void RetryNode::deliver(const Delivery& delivery, Done done) {
    const auto partition = core::partition_of(delivery.webhook, impl_->options.partitions);
    impl_->publish({Topic::retry(0), partition}, encode(delivery), std::move(done));
}

bool RetryNode::knows_webhooks() const { return impl_->known.knows_webhooks(); }

const DeadIndex& RetryNode::dead_letters() const { return impl_->known.dead_letters(); }

bool RetryNode::knows_dead_letters() const { return impl_->known.knows_dead_letters(); }

Resender& RetryNode::resender() { return *impl_->resender; }
FirstAttempts& RetryNode::first_attempts() { return impl_->first_attempts; }

bool RetryNode::serves(std::string_view webhook) const {
    return impl_->serves(core::partition_of(webhook, impl_->options.partitions));
}

RetryNode::Counts RetryNode::counts() const {
    Counts sum{.deliveries = {}, .tiers = impl_->tier_watch.waiting()};
    for (const auto& counts : impl_->latest) sum.deliveries += counts;
    return sum;
}

void RetryNode::stop(std::function<void()> stopped) {
    impl_->stopping = true;
    impl_->first_attempts.end();
    const std::function<void()> go_on = impl_->lifetime.guard(
        [impl = impl_.get(), stopped = std::move(stopped)] { impl->stop_homes(stopped); });
    impl_->drain(go_on);
    impl_->context.executor.post_after(impl_->options.drain, go_on);
}

}  // namespace beckon::retry
