#include "retry/node/delivery_shard.hpp"

#include "bridge/message.hpp"

#include <utility>

namespace beckon::retry {

namespace {

PartitionTiers::Counts& add_tiers(PartitionTiers::Counts& sum, const PartitionTiers::Counts& more) {
    sum.tiers.due += more.tiers.due;
    sum.tiers.copies += more.tiers.copies;
    sum.tiers.broken += more.tiers.broken;
    sum.promoted += more.promoted;
    sum.dead_lettered += more.dead_lettered;
    sum.lost += more.lost;
    return sum;
}

}  // namespace

DeliveryShard::Counts& DeliveryShard::Counts::operator+=(const Counts& other) {
    add_tiers(tiers, other.tiers);
    for (const auto& [outcome, count] : other.dispatched.attempts) {
        dispatched.attempts[outcome] += count;
    }
    dispatched.parked += other.dispatched.parked;
    dispatched.spilled += other.dispatched.spilled;
    dispatched.followed += other.dispatched.followed;
    dispatched.unknown += other.dispatched.unknown;
    dispatched.unread += other.dispatched.unread;
    events += other.events;
    for (const auto& [owner, used] : other.usage) usage[owner] += used;
    waiting += other.waiting;
    under_way += other.under_way;
    tier_states.insert(tier_states.end(), other.tier_states.begin(), other.tier_states.end());
    fanned_out.insert(fanned_out.end(), other.fanned_out.begin(), other.fanned_out.end());
    taking_over += other.taking_over;
    return *this;
}

DeliveryShard::DeliveryShard(Options options, Context context, Events events)
    : options_(std::move(options)),
      context_(std::move(context)),
      events_(std::move(events)),
      publisher_(context_.log.open_publisher(context_.executor)),
      directory_(SecretBox{context_.keys}, WebhookDirectory::Filters::compiled),
      progress_(options_.partitions, context_.executor,
                {.catch_up = events_.catch_up_events, .has_all = [this] { read_on_soon(); }}),
      turns_(context_.executor),
      event_reader_(context_.log, context_.executor, context_.cache),
      lifetime_(context_.executor) {
    auto schedule = options_.schedule;
    schedule.tiers = static_cast<std::size_t>(options_.table.tiers().back()) + 1;
    dispatcher_ =
        std::make_unique<Dispatcher>(Dispatcher::Options{.table = options_.table,
                                                         .schedule = schedule,
                                                         .age_max = options_.age_max,
                                                         .failing_max = options_.failing_max,
                                                         .stop_at = options_.stop_at},
                                     Dispatcher::Context{.executor = context_.executor,
                                                         .clock = context_.clock,
                                                         .webhooks = directory_,
                                                         .events = event_reader_,
                                                         .outcomes = *this,
                                                         .send = context_.send,
                                                         .change_state = events_.change_state,
                                                         .catch_up = events_.catch_up,
                                                         .attempted = events_.attempted,
                                                         .journal = context_.journal});
}

DeliveryShard::~DeliveryShard() {
    lifetime_.end();
    leaving_.clear();
    homes_.clear();
    dispatcher_.reset();
}

void DeliveryShard::apply(core::Partition partition, const core::RecordView& record) {
    directory_.apply(record);
    progress_.has_read(partition, record.offset + 1);
}

void DeliveryShard::clear_webhooks() {
    directory_.clear();
    progress_.clear();
}

void DeliveryShard::set_up_to_date(bool is) {
    up_to_date_ = is;
    turns_.set_paused(!is);
    if (is) read_on_soon();
}

/// Not from within a call of a home.
void DeliveryShard::read_on_soon() {
    context_.executor.post(lifetime_.guard([this] {
        for (auto& [partition, home] : homes_) home->read_on();
    }));
}

void DeliveryShard::webhooks_known() {
    known_ = true;
    for (auto& [partition, home] : homes_) home->start();
}

void DeliveryShard::open(core::Partition partition) {
    if (homes_.contains(partition)) return;
    auto home = std::make_unique<PartitionHome>(
        PartitionHome::Options{.partition = partition,
                               .table = options_.table,
                               .node = options_.node,
                               .partitions = options_.partitions,
                               .window_max = options_.schedule.queued_max},
        PartitionHome::Context{
            .log = context_.log,
            .publisher = *publisher_,
            .executor = context_.executor,
            .clock = context_.clock,
            .webhooks = directory_,
            .turns = turns_,
            .cache = context_.cache,
            .journal = context_.journal,
            .highest_epoch = [this, partition] { return events_.highest_epoch(partition); }},
        PartitionHome::Events{
            .due = [this](Due one) { due(std::move(one)); },
            .serving =
                [this, partition](bool serving) {
                    if (!serving) forget(partition);
                    const auto found = homes_.find(partition);
                    events_.serving(partition, serving,
                                    found == homes_.end() ? "" : found->second->fault());
                },
            .failed = [this, partition](
                          const std::string& why) { events_.serving(partition, false, why); },
            .may_read = [this] { return up_to_date_; },
            .has_read = [this](const WebhooksChanged& changed) { return progress_.has(changed); }});
    auto& opened = *home;
    homes_[partition] = std::move(home);
    // Without the directory a delivery's webhook is not known.
    if (known_) opened.start();
}

void DeliveryShard::close(core::Partition partition) {
    const auto found = homes_.find(partition);
    if (found == homes_.end()) return;
    // The new home takes the lease when it has read this; writing the finished records first spares
    // it the repetition.
    forget(partition);
    add_tiers(left_, found->second->counts());
    left_events_ += found->second->event_counts();
    const auto number = ++left_homes_;
    auto& home = *(leaving_[number] = std::move(found->second));
    homes_.erase(found);
    home.stop([this, number] {
        context_.executor.post(lifetime_.guard([this, number] { leaving_.erase(number); }));
    });
}

PartitionTiers* DeliveryShard::tiers_of(const Ticket& ticket) {
    const auto found = homes_.find(ticket.partition);
    return found == homes_.end() ? nullptr : found->second->tiers(ticket.epoch);
}

void DeliveryShard::finish(const Ticket& ticket) {
    if (auto* tiers = tiers_of(ticket)) tiers->finish(ticket);
}

void DeliveryShard::promote(const Ticket& ticket, Delivery delivery, int tier) {
    if (auto* tiers = tiers_of(ticket)) tiers->promote(ticket, std::move(delivery), tier);
}

void DeliveryShard::dead_letter(const Ticket& ticket, Delivery delivery) {
    if (auto* tiers = tiers_of(ticket)) tiers->dead_letter(ticket, std::move(delivery));
}

/// A delivery's id shows whether it belongs to a webhook or a bridge.
void DeliveryShard::due(Due due) {
    if (events_.bridged && bridge::is_bridged(due.delivery.id)) {
        return events_.bridged(std::move(due));
    }
    dispatcher_->due(std::move(due));
}

void DeliveryShard::forget(core::Partition partition) {
    dispatcher_->forget(partition);
    if (events_.forget_bridged) events_.forget_bridged(partition);
}

void DeliveryShard::stop(std::function<void()> stopped) {
    const auto left = std::make_shared<std::size_t>(homes_.size() + 1);
    const auto one = [left, stopped = std::move(stopped)] {
        if (--*left == 0) stopped();
    };
    for (auto& [partition, home] : homes_) home->stop(one);
    context_.executor.post(one);
}

DeliveryShard::Counts DeliveryShard::counts() const {
    Counts sum{.tiers = left_,
               .dispatched = dispatcher_->counts(),
               .events = left_events_,
               .usage = dispatcher_->usage(),
               .waiting = dispatcher_->waiting(),
               .under_way = dispatcher_->under_way(),
               .tier_states = {},
               .fanned_out = {},
               .taking_over = {}};
    for (auto& [owner, used] : sum.usage) used = dispatcher_->usage_of(owner);
    for (const auto& [partition, home] : homes_) {
        add_tiers(sum.tiers, home->counts());
        sum.events += home->event_counts();
        sum.taking_over += home->taking_over();
        const auto states = home->tier_states();
        sum.tier_states.insert(sum.tier_states.end(), states.begin(), states.end());
        if (const auto next = home->events_next()) {
            sum.fanned_out.push_back({{log::Topic::kEvents, partition}, *next});
        }
    }
    return sum;
}

}  // namespace beckon::retry
