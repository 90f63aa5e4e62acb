#include "retry/home/delivery_shard.hpp"

#include "bridge/message.hpp"

#include <utility>

namespace beckon::retry {

DeliveryShard::Counts& DeliveryShard::Counts::operator+=(const Counts& other) {
    tally += other.tally;
    for (const auto& [owner, used] : other.usage) usage[owner] += used;
    waiting += other.waiting;
    under_way += other.under_way;
    bridged_waiting += other.bridged_waiting;
    bridged_under_way += other.bridged_under_way;
    bridge_faults.insert(other.bridge_faults.begin(), other.bridge_faults.end());
    tier_states.insert(tier_states.end(), other.tier_states.begin(), other.tier_states.end());
    fanned_out.insert(fanned_out.end(), other.fanned_out.begin(), other.fanned_out.end());
    taking_over += other.taking_over;
    return *this;
}

DeliveryShard::DeliveryShard(DeliveryOptions options, Context context, Thread thread, Events events)
    : options_(std::move(options)),
      events_(std::move(events)),
      publisher_(context.log.open_publisher(thread.executor)),
      home_{.log = context.log,
            .publisher = *publisher_,
            .executor = thread.executor,
            .clock = context.clock,
            .tally = tally_,
            .journal = thread.journal},
      directory_(SecretBox{context.keys}, WebhookDirectory::Filters::compiled),
      progress_(options_.partitions, thread.executor,
                {.catch_up = events_.catch_up, .has_all = [this] { read_on_soon(); }}),
      turns_(thread.executor),
      cache_(context.cache),
      event_reader_(context.log, thread.executor, context.cache),
      queue_(options_, home_,
             [this](Job job) {
                 job.bridged ? bridges_.begin(std::move(job)) : dispatcher_.begin(std::move(job));
             }),
      dispatcher_(options_, {.home = home_,
                             .queue = queue_,
                             .webhooks = directory_,
                             .events = event_reader_,
                             .outcomes = *this,
                             .send = std::move(thread.send),
                             .change_state = events_.change_state,
                             .catch_up = events_.catch_up,
                             .attempted = events_.attempted}),
      bridges_(options_,
               {.home = home_,
                .queue = queue_,
                .outcomes = *this,
                .proven = context.proven,
                .observer = context.observer,
                .milestones = context.milestones},
               thread.bridge_apps()),
      home_events_{.due = [this](Due one) { due(std::move(one)); },
                   .serving = events_.serving,
                   .ended = [this](core::Partition partition) { forget(partition); },
                   .fanned_out_up_to = events_.fanned_out_up_to,
                   .highest_epoch = events_.highest_epoch},
      lifetime_(thread.executor) {}

DeliveryShard::~DeliveryShard() {
    lifetime_.end();
    leaving_.clear();
    homes_.clear();
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
    progress_.set_up_to_date(is);
    turns_.set_paused(!is);
    if (is) read_on_soon();
}

/// Not from within a call of a home.
void DeliveryShard::read_on_soon() {
    home_.executor.post(lifetime_.guard([this] {
        for (auto& [partition, home] : homes_) home->read_on();
    }));
}

void DeliveryShard::webhooks_known() {
    known_ = true;
    for (auto& [partition, home] : homes_) home->start();
}

void DeliveryShard::open(core::Partition partition) {
    if (homes_.contains(partition)) return;
    auto& home = homes_[partition];
    home = std::make_unique<PartitionHome>(
        partition, PartitionHome::Context{.fan_out = {.home = home_,
                                                      .webhooks = directory_,
                                                      .progress = progress_,
                                                      .turns = turns_,
                                                      .cache = cache_},
                                          .options = options_,
                                          .events = home_events_});
    // Without the directory a delivery's webhook is not known.
    if (known_) home->start();
}

void DeliveryShard::close(core::Partition partition) {
    const auto found = homes_.find(partition);
    if (found == homes_.end()) return;
    // The new home takes the lease when it has read this; writing the finished records first spares
    // it the repetition.
    forget(partition);
    const auto number = ++left_homes_;
    auto& home = *(leaving_[number] = std::move(found->second));
    homes_.erase(found);
    home.stop([this, number] {
        home_.executor.post(lifetime_.guard([this, number] { leaving_.erase(number); }));
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
    bridge::is_bridged(due.delivery.id) ? bridges_.due(std::move(due))
                                        : dispatcher_.due(std::move(due));
}

void DeliveryShard::forget(core::Partition partition) {
    dispatcher_.forget(partition);
    queue_.forget(partition);
}

void DeliveryShard::stop(std::function<void()> stopped) {
    const auto left = std::make_shared<std::size_t>(homes_.size() + 1);
    const auto one = [left, stopped = std::move(stopped)] {
        if (--*left == 0) stopped();
    };
    for (auto& [partition, home] : homes_) home->stop(one);
    home_.executor.post(one);
}

DeliveryShard::Counts DeliveryShard::counts() const {
    Counts sum;
    sum.tally = tally_;
    sum.usage = dispatcher_.usage();
    sum.bridged_waiting = bridges_.waiting();
    sum.bridged_under_way = bridges_.under_way();
    sum.waiting = queue_.scheduler().waiting() - sum.bridged_waiting;
    sum.under_way = queue_.scheduler().in_flight() - sum.bridged_under_way;
    sum.bridge_faults = bridges_.faults();
    for (const auto& [partition, home] : homes_) {
        sum.taking_over += home->taking_over();
        const auto* tiers = home->tiers();
        if (!tiers) continue;
        const auto states = tiers->states();
        sum.tier_states.insert(sum.tier_states.end(), states.begin(), states.end());
        sum.fanned_out.push_back({{log::Topic::kEvents, partition}, tiers->events_next()});
    }
    return sum;
}

}  // namespace beckon::retry
