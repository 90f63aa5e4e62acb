#include "retry/node/retry_node.hpp"

#include "bridge/message.hpp"
#include "cluster/cluster.hpp"
#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "log/checked_publisher.hpp"
#include "log/log_watch.hpp"
#include "retry/node/partition_home.hpp"
#include "retry/node/topic_view.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using log::Topic;
using Done = std::function<void(core::Result<void>)>;

namespace {

constexpr const char* kRole = "retry";
constexpr core::Duration kLeaveAgain = std::chrono::seconds{1};

/// What Beckon says when it disables a webhook: others of the same owner can subscribe to it.
Event disabled_event(const Webhook& webhook, const WebhookState& state, const core::NodeId& node) {
    const auto& id = webhook.id;
    const nlohmann::json event{{"specversion", "1.0"},
                               {"id", core::to_hex(core::random_uuid4())},
                               {"source", "/beckon/retry/" + node.text},
                               {"type", "beckon.webhook.disabled"},
                               {"subject", id},
                               {kOwnerAttribute, webhook.owner},
                               {"data", {{"webhook", id}, {"reason", state.reason}}}};
    return {.source = event["source"],
            .id = event["id"],
            .type = event["type"],
            .json = core::json_text(event),
            .owner = webhook.owner};
}

}  // namespace

struct RetryNode::Impl : std::enable_shared_from_this<Impl>, Fates {
    Impl(Options o, Context p)
        : options(std::move(o)),
          context(std::move(p)),
          publisher(std::make_unique<log::CheckedPublisher>(
              context.log.open_publisher(context.executor), context.executor,
              [this](const auto& where, const auto& record) { return check(where, record); })),
          directory(SecretBox{context.keys}),
          first_attempts(context.executor) {}

    const Options options;
    const Context context;
    std::unique_ptr<log::Publisher> publisher;
    WebhookDirectory directory;
    std::unique_ptr<TopicView> view;  ///< of `webhooks`
    DeadIndex dead{DeadIndex::kLettersMax, [this](const std::string& webhook) {
                       const auto* entry = directory.find(webhook);
                       return entry ? entry->webhook.owner : std::string{};
                   }};
    std::unique_ptr<TopicView> dead_view;  ///< of `retry.dead`
    std::unique_ptr<Resender> resender;
    std::unique_ptr<log::LogWatch> watch;
    std::string log_fault;  ///< why the log cannot be reached
    FirstAttempts first_attempts;
    std::unique_ptr<Dispatcher> dispatcher;
    std::unique_ptr<cluster::Cluster> cluster;
    std::map<core::Partition, std::unique_ptr<PartitionHome>> homes;
    std::set<core::Partition> placed_elsewhere;  ///< known, and not ours
    bool stopping = false;
    bool homes_stopping = false;
    std::size_t stops_left = 0;
    bool leaving = false;    ///< hands its partitions over, before the end of its time
    RetryNode::Counts left;  ///< of homes that are not here any more

    void start();
    void webhooks_known();
    void view_changed();
    void open_dead_letters();
    void placed(core::Partition partition, const cluster::Placement& placement);
    void open_home(core::Partition partition);
    void hand_over_soon();
    void hand_over_all();
    void leave();
    void tell_ready();
    void change_state(const std::string& id, const WebhookState& state);
    core::Result<void> check(const log::TopicPartition& where,
                             const core::RecordView& record) const;
    void publish(log::TopicPartition where, core::Record record, Done done);
    void publish_webhook(const std::string& id, core::Record record, Done done);
    PartitionTiers* tiers_of(const Ticket& ticket);
    void stop_homes(std::function<void()> stopped);
    RetryNode::Counts counts() const;
    void due(Due due);
    void forget(core::Partition partition);
    void drain(std::function<void()> done);

    // A ticket of a lease that was lost meanwhile is void: the next home has the delivery.
    void finish(const Ticket& ticket) override {
        if (auto* tiers = tiers_of(ticket)) tiers->finish(ticket);
    }
    void hand_over(const Ticket& ticket, Delivery delivery, int tier) override {
        if (auto* tiers = tiers_of(ticket)) tiers->hand_over(ticket, std::move(delivery), tier);
    }
    void bury(const Ticket& ticket, Delivery delivery) override {
        if (auto* tiers = tiers_of(ticket)) tiers->bury(ticket, std::move(delivery));
    }
};

PartitionTiers* RetryNode::Impl::tiers_of(const Ticket& ticket) {
    const auto found = homes.find(ticket.partition);
    return found == homes.end() ? nullptr : found->second->tiers(ticket.epoch);
}

/// To whom a delivery belongs shows in its id.
void RetryNode::Impl::due(Due due) {
    if (context.bridges && bridge::is_bridged(due.delivery.id)) {
        return context.bridges->due(std::move(due));
    }
    dispatcher->due(std::move(due));
}

void RetryNode::Impl::forget(core::Partition partition) {
    dispatcher->forget(partition);
    if (context.bridges) context.bridges->forget(partition);
}

void RetryNode::Impl::drain(std::function<void()> done) {
    if (!context.bridges) return dispatcher->drain(std::move(done));
    dispatcher->drain(
        [bridges = context.bridges, done = std::move(done)] { bridges->drain(done); });
}

void RetryNode::Impl::start() {
    if (context.bridges) context.bridges->serve(*this);
    auto schedule = options.schedule;
    schedule.tiers = static_cast<std::size_t>(options.table.tiers().back()) + 1;
    dispatcher = std::make_unique<Dispatcher>(
        Dispatcher::Options{.table = options.table,
                            .schedule = schedule,
                            .age_max = options.age_max,
                            .failing_max = options.failing_max,
                            .stop_at = options.stop_at},
        Dispatcher::Context{.executor = context.executor,
                            .clock = context.clock,
                            .webhooks = directory,
                            .fates = *this,
                            .send = context.send,
                            .change_state = [this](const std::string& id,
                                                   const WebhookState& s) { change_state(id, s); },
                            .catch_up =
                                [this](const std::string& id, std::function<void(bool)> done) {
                                    view->confirm(id, [done = std::move(done)](const auto& passed) {
                                        done(passed.has_value());
                                    });
                                },
                            .attempted =
                                [this](const std::string& id, const Attempt& attempt) {
                                    first_attempts.attempted(id, attempt);
                                }});
    view = std::make_unique<TopicView>(
        TopicView::Options{Topic::kWebhooks, options.partitions, options.node}, context.log,
        *publisher, context.executor,
        TopicView::Events{
            .apply = [this](core::Partition, const auto& record) { directory.apply(record); },
            .caught_up = [this] { webhooks_known(); },
            .changed = [this] { view_changed(); }});
    view->start();
    watch = std::make_unique<log::LogWatch>(
        log::LogWatch::Options{}, context.executor, context.clock,
        log::LogWatch::Questions{
            .reach = log::ask_ends({Topic::kWebhooks, 0}, context.log, context.executor)},
        [this](std::string_view why) {
            log_fault = why;
            tell_ready();
        });
    watch->start();
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
    hand_over_soon();
}

/// When no attempt of a webhook with the usual time-out can start any more.
void RetryNode::Impl::hand_over_soon() {
    if (!options.stop_at) return;
    const auto at = *options.stop_at - Webhook{}.timeout - Dispatcher::kOverhead;
    context.executor.post_after(std::max<core::Duration>(at - context.clock.mono(), kLeaveAgain),
                                [weak = weak_from_this()] {
                                    if (const auto self = weak.lock()) self->hand_over_all();
                                });
}

/// To other nodes, if there are any: else what can still be attempted is. What is under way has
/// `drain` to end, so that little is attempted twice.
void RetryNode::Impl::hand_over_all() {
    if (stopping || leaving) return;
    if (!cluster->may_leave()) return hand_over_soon();
    leaving = true;
    const auto go_on = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->leave();
    };
    dispatcher->drain(go_on);
    context.executor.post_after(options.drain, go_on);
}

void RetryNode::Impl::leave() {
    if (stopping || !std::exchange(leaving, false)) return;
    if (cluster->leave()) {
        core::log_info("retry", "partitions_handed_over", {{"why", "the run ends soon"}});
        return;
    }
    dispatcher->resume();
    hand_over_soon();
}

/// From here on this node can serve any partition: what waits stands in the log. The controller
/// moves partitions to a node that says so.
void RetryNode::Impl::webhooks_known() {
    open_dead_letters();  // whose they are is known from here on
    std::set<core::Partition> all;
    for (core::Partition p = 0; p < options.partitions; ++p) all.insert(p);
    cluster->set_ready(all);
    for (auto& [partition, home] : homes) home->start();
    tell_ready();
}

/// While the webhooks cannot be read, events wait: a webhook that is not known here would miss
/// them.
void RetryNode::Impl::view_changed() {
    tell_ready();
    if (!view->fault().empty()) return;
    for (auto& [partition, home] : homes) home->fan_out();
}

void RetryNode::Impl::open_dead_letters() {
    resender = std::make_unique<Resender>(
        Resender::Context{context.log, *publisher, context.executor, dead});
    dead_view = std::make_unique<TopicView>(
        TopicView::Options{Topic::kRetryDead, options.partitions, options.node}, context.log,
        *publisher, context.executor,
        TopicView::Events{
            .apply = [this](core::Partition p, const auto& record) { dead.apply(p, record); },
            .caught_up = [] {},
            .changed = [this] { tell_ready(); }});
    dead_view->start();
}

void RetryNode::Impl::placed(core::Partition partition, const cluster::Placement& placement) {
    if (stopping) return;
    if (placement.home == options.node) {
        placed_elsewhere.erase(partition);
        if (!homes.contains(partition)) open_home(partition);
        return;
    }
    placed_elsewhere.insert(partition);
    const auto found = homes.find(partition);
    if (found == homes.end()) return tell_ready();
    // The new home takes the lease when it has read this; writing what is finished first spares it
    // the repetition.
    forget(partition);
    left += {found->second->counts(), found->second->spread()};
    const auto leaving = std::make_shared<std::unique_ptr<PartitionHome>>(std::move(found->second));
    homes.erase(found);
    (*leaving)->stop([leaving] {});
    tell_ready();
}

void RetryNode::Impl::open_home(core::Partition partition) {
    auto home = std::make_unique<PartitionHome>(
        PartitionHome::Options{.partition = partition,
                               .partitions = options.partitions,
                               .table = options.table,
                               .node = options.node,
                               .window_max = options.schedule.queued_max},
        PartitionHome::Context{
            .log = context.log,
            .publisher = *publisher,
            .executor = context.executor,
            .clock = context.clock,
            .webhooks = directory,
            .highest_epoch = [this, partition] { return cluster->highest_epoch(partition); },
            .directory_reads = [this] { return view->fault().empty(); }},
        PartitionHome::Events{.due = [this](Due one) { due(std::move(one)); },
                              .serving =
                                  [this, partition](bool serving) {
                                      if (!serving) forget(partition);
                                      tell_ready();
                                  }});
    auto& opened = *home;
    homes[partition] = std::move(home);
    // Without the directory a delivery's webhook, and an event's webhooks, are not known.
    if (view->caught_up()) opened.start();
}

void RetryNode::Impl::tell_ready() {
    std::string why;
    if (!view->caught_up()) why = "reads the webhooks";
    for (const auto& [partition, home] : homes) {
        if (home->serving()) continue;
        why = "partition " + std::to_string(partition) + ": " +
              (home->fault().empty() ? "being taken over" : home->fault());
    }
    if (homes.size() + placed_elsewhere.size() < static_cast<std::size_t>(options.partitions)) {
        why = "waits for its place in the cluster";
    }
    for (const auto* one : {view.get(), dead_view.get()}) {
        if (one && !one->fault().empty()) why = one->fault();
    }
    if (!log_fault.empty()) why = log_fault;
    context.ready(why.empty(), why);
}

void RetryNode::Impl::change_state(const std::string& id, const WebhookState& state) {
    if (!state.enabled) {
        core::log_warn("retry", "webhook_disabled", {{"webhook", id}, {"reason", state.reason}});
        if (const auto* entry = directory.find(id)) {
            const auto event = disabled_event(entry->webhook, state, options.node);
            publish({Topic::kEvents, partition_of(event, options.partitions)}, encode(event),
                    [](const auto&) {});
        }
    }
    publish_webhook(id, encode(id, state), [id](const auto& written) {
        if (written) return;
        core::log_error("retry", "webhook_state_not_written",
                        {{"webhook", id}, {"why", written.error().message}});
    });
}

/// What owners send is read again before the log has it.
core::Result<void> RetryNode::Impl::check(const log::TopicPartition& where,
                                          const core::RecordView& record) const {
    const auto readable = [](const auto& decoded) -> core::Result<void> {
        if (decoded) return {};
        return core::fail(Fault::invalid,
                          "its record could not be read again: " + decoded.error().message);
    };
    if (!record.value) return {};
    if (where.topic == Topic::kEvents) {
        if (record.value->size() <= kEventBytesMax) return readable(decode_event(record));
        return core::fail(Fault::too_large,
                          "an event may have 262144 bytes, with beckonowner and data as they are "
                          "kept");
    }
    if (where.topic != Topic::kWebhooks) return {};
    if (record.key.ends_with("/state")) return readable(decode_webhook_state(record));
    const bool webhook = record.key.find('/') == std::string_view::npos;
    return webhook ? readable(decode_webhook(record, directory.box())) : core::Result<void>{};
}

void RetryNode::Impl::publish(log::TopicPartition where, core::Record record, Done done) {
    publisher->publish(where, std::move(record), [done = std::move(done)](const auto& at) {
        at ? done({}) : done(core::fail(at.error()));
    });
}

void RetryNode::Impl::publish_webhook(const std::string& id, core::Record record, Done done) {
    const log::TopicPartition where{Topic::kWebhooks, core::partition_of(id, options.partitions)};
    publish(where, std::move(record),
            [weak = weak_from_this(), id, done = std::move(done)](const auto& written) {
                const auto self = weak.lock();
                if (!self) return;
                if (!written) return done(written);
                self->view->confirm(id, done);
            });
}

void RetryNode::Impl::stop_homes(std::function<void()> stopped) {
    if (std::exchange(homes_stopping, true)) return;
    stops_left = homes.size();
    if (stops_left == 0) return context.executor.post(std::move(stopped));
    for (auto& [partition, home] : homes) {
        home->stop([weak = weak_from_this(), stopped] {
            const auto self = weak.lock();
            if (self && --self->stops_left == 0) stopped();
        });
    }
}

RetryNode::Counts RetryNode::Impl::counts() const {
    auto sum = left;
    for (const auto& [partition, home] : homes) sum += {home->counts(), home->spread()};
    return sum;
}

RetryNode::Counts& RetryNode::Counts::operator+=(const Counts& other) {
    tiers.tiers.due += other.tiers.tiers.due;
    tiers.tiers.copies += other.tiers.tiers.copies;
    tiers.tiers.broken += other.tiers.tiers.broken;
    tiers.handed_over += other.tiers.handed_over;
    tiers.buried += other.tiers.buried;
    tiers.lost += other.tiers.lost;
    events.events += other.events.events;
    events.copies += other.events.copies;
    events.broken += other.events.broken;
    events.deliveries += other.events.deliveries;
    events.too_costly += other.events.too_costly;
    events.filter_steps += other.events.filter_steps;
    return *this;
}

RetryNode::RetryNode(Options options, Context context)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(context))) {}

RetryNode::~RetryNode() {
    impl_->watch.reset();
    impl_->cluster.reset();
    impl_->homes.clear();
    impl_->dispatcher.reset();
    impl_->view.reset();
    impl_->dead_view.reset();
    impl_->resender.reset();
    impl_->publisher.reset();
}

void RetryNode::start() { impl_->start(); }
void RetryNode::still_alive() { impl_->cluster->still_alive(); }
const WebhookDirectory& RetryNode::webhooks() const { return impl_->directory; }
const Dispatcher& RetryNode::dispatcher() const { return *impl_->dispatcher; }

OwnerUsage RetryNode::usage_of(std::string_view owner) const {
    return impl_->dispatcher->usage_of(owner);
}

std::size_t RetryNode::partitions_served() const {
    std::size_t count = 0;
    for (const auto& [partition, home] : impl_->homes) count += home->serving() ? 1 : 0;
    return count;
}

void RetryNode::post_event(const Event& event, Done done) {
    impl_->publish({Topic::kEvents, partition_of(event, impl_->options.partitions)}, encode(event),
                   std::move(done));
}

void RetryNode::put_webhook(const Webhook& webhook, Done done) {
    impl_->publish_webhook(webhook.id, encode(webhook, impl_->directory.box()), std::move(done));
}

void RetryNode::remove_webhook(const std::string& id, Done done) {
    impl_->publish_webhook(id, encode_state_removed(id), [](const auto&) {});
    impl_->publish_webhook(id, encode_filter_removed(id), [](const auto&) {});
    impl_->publish_webhook(id, encode_removed(id), std::move(done));
}

void RetryNode::put_state(const std::string& id, const WebhookState& state, Done done) {
    impl_->publish_webhook(id, encode(id, state), std::move(done));
}

void RetryNode::deliver(const Delivery& delivery, Done done) {
    const auto partition = core::partition_of(delivery.webhook, impl_->options.partitions);
    impl_->publish({Topic::retry(0), partition}, encode(delivery), std::move(done));
}

bool RetryNode::knows_webhooks() const { return impl_->view && impl_->view->caught_up(); }

const DeadIndex& RetryNode::dead_letters() const { return impl_->dead; }

bool RetryNode::knows_dead_letters() const {
    return impl_->dead_view && impl_->dead_view->caught_up();
}

Resender& RetryNode::resender() { return *impl_->resender; }
FirstAttempts& RetryNode::first_attempts() { return impl_->first_attempts; }

bool RetryNode::serves(std::string_view webhook) const {
    const auto found = impl_->homes.find(core::partition_of(webhook, impl_->options.partitions));
    return found != impl_->homes.end() && found->second->serving();
}

RetryNode::Counts RetryNode::counts() const { return impl_->counts(); }

void RetryNode::stop(std::function<void()> stopped) {
    impl_->stopping = true;
    impl_->first_attempts.end();
    const auto go_on = [weak = std::weak_ptr{impl_}, stopped = std::move(stopped)] {
        if (const auto self = weak.lock()) self->stop_homes(stopped);
    };
    impl_->drain(go_on);
    impl_->context.executor.post_after(impl_->options.drain, go_on);
}

}  // namespace beckon::retry
