#include "retry/event/spreader.hpp"

#include "core/codec.hpp"
#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "retry/event/event.hpp"
#include "retry/event/step_quota.hpp"
#include "retry/tiers/delivery.hpp"
#include "retry/tiers/done_tracker.hpp"
#include "retry/tiers/recent_deliveries.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using core::Offset;

struct Spreader::Impl : std::enable_shared_from_this<Impl> {
    Impl(Options o, log::EventLog& l, log::Publisher& p, core::Executor& x,
         const WebhookDirectory& w, Events e)
        : options(o),
          log(l),
          publisher(p),
          executor(x),
          webhooks(w),
          events(std::move(e)),
          tracker({.low = o.from, .above = {}}),
          quota(static_cast<std::size_t>(o.partitions)) {}

    /// An event as it was read.
    struct Source {
        Offset offset = 0;
        core::Timestamp time;  ///< when it was appended
        Event event;
    };
    using SourcePtr = std::shared_ptr<const Source>;
    /// One of its deliveries.
    struct Target {
        std::string webhook;
        bool dead = false;  ///< nobody knows whether the webhook wants it
    };
    /// The event that is being matched, owner by owner.
    struct FanOut {
        SourcePtr source;
        nlohmann::json json;
        std::vector<std::string> owners;  ///< whose webhooks it may reach
        std::size_t next_owner = 0;
        std::vector<Target> targets{};  ///< of the last owner
        std::size_t next_target = 0;
    };

    const Options options;
    log::EventLog& log;
    log::Publisher& publisher;
    core::Executor& executor;
    const WebhookDirectory& webhooks;
    const Events events;

    std::unique_ptr<log::PartitionReader> reader;
    DoneTracker tracker;
    RecentDeliveries recent;
    StepQuota quota;
    std::optional<FanOut> fan_out;
    bool turn_posted = false;
    /// Deliveries of an event that the log has not yet, and one more while it is being matched.
    std::map<Offset, std::size_t> unreported;
    std::size_t in_flight = 0;
    std::size_t in_flight_bytes = 0;               ///< of the events in them
    std::set<std::string, std::less<>> reporting;  ///< webhooks whose CostlyFilter is being written
    Offset told = 0;
    Counts counts;

    bool has_room() const { return in_flight < kDeliveriesMax && in_flight_bytes < kBytesMax; }
    void read_on();
    void read(const core::RecordView& record);
    void begin(const core::RecordView& record, Event event);
    void set_aside(const core::RecordView& record, const core::Error& why);
    void write_dead(Offset offset, const core::Record& letter);
    void go_on(std::size_t& steps);
    void next_turn();
    std::size_t match_owner(const std::string& owner);
    void report_costly(const Source& source, const std::string& webhook);
    void publish(const SourcePtr& source, const Target& target);
    void write(const SourcePtr& source, const Target& target);
    core::Record record_of(const Source& source, const Target& target) const;
    void reported(const Source& source);
    void done_one(Offset offset);
    void tell();
};

void Spreader::Impl::read_on() {
    std::size_t steps = 0;
    while (reader && has_room() && !turn_posted && events.may_read()) {
        if (steps >= kStepsPerTurn) {
            next_turn();
            break;
        }
        if (fan_out) {
            go_on(steps);
            continue;
        }
        const auto taken = reader->take(1, [this](const auto& record) { read(record); });
        if (!taken) {
            if (taken.error().fault == Fault::unavailable) return;  // `ready` comes
            reader.reset();
            return events.failed(taken.error());
        }
        if (taken->records == 0) {
            tracker.read_up_to(reader->position());
            break;
        }
        // Parsing a byte takes as long as a step.
        if (fan_out) steps += fan_out->source->event.json.size();
    }
    tell();
}

/// The thread has others first.
void Spreader::Impl::next_turn() {
    turn_posted = true;
    executor.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->turn_posted = false;
        self->read_on();
    });
}

void Spreader::Impl::read(const core::RecordView& record) {
    if (core::is_control_key(record.key)) return;
    auto event = decode_event(record);
    if (!event) return set_aside(record, event.error());
    const Delivery name{
        .id = delivery_id(scope_of(*event), event->id, ""), .webhook = "", .event = ""};
    const bool copy = !recent.insert(name);
    if (record.offset < options.from) return;
    if (copy) {
        ++counts.copies;
        tracker.read_up_to(record.offset + 1);
        return;
    }
    begin(record, std::move(*event));
}

void Spreader::Impl::begin(const core::RecordView& record, Event event) {
    auto owners = event.owner.empty() ? webhooks.owners() : std::vector{event.owner};
    auto json = core::parse_json(event.json);
    if (json.is_discarded()) return set_aside(record, {Fault::corrupt, "no JSON"});
    ++counts.events;
    tracker.open(record.offset);
    unreported[record.offset] = 1;
    fan_out = FanOut{.source = std::make_shared<const Source>(Source{
                         .offset = record.offset, .time = record.time, .event = std::move(event)}),
                     .json = std::move(json),
                     .owners = std::move(owners)};
}

/// What cannot be read is kept as a dead letter, with the reason; the events behind it go on.
void Spreader::Impl::set_aside(const core::RecordView& record, const core::Error& why) {
    if (record.offset < options.from) return;  // that was done before
    ++counts.broken;
    core::log_error("retry", "broken_event",
                    {{"partition", options.partition},
                     {"offset", record.offset},
                     {"why", why.message},
                     {"effect", "it is kept in retry.dead"}});
    tracker.open(record.offset);
    unreported[record.offset] = 1;
    ++in_flight;
    write_dead(record.offset,
               encode_dead(unreadable(log::Topic::kEvents.name(), options.partition, record, why)));
}

/// Until the log has it.
void Spreader::Impl::write_dead(Offset offset, const core::Record& letter) {
    publisher.publish({log::Topic::kRetryDead, options.partition}, letter,
                      [weak = weak_from_this(), offset, letter](const auto& where) {
                          const auto self = weak.lock();
                          if (!self) return;
                          if (where) {
                              --self->in_flight;
                              self->done_one(offset);
                              return self->read_on();
                          }
                          self->executor.post_after(kPublishAgain, [weak, offset, letter] {
                              if (const auto s = weak.lock()) s->write_dead(offset, letter);
                          });
                      });
}

/// Does one thing: a delivery, the webhooks of an owner, or the end.
void Spreader::Impl::go_on(std::size_t& steps) {
    auto& now = *fan_out;
    if (now.next_target < now.targets.size()) {
        publish(now.source, now.targets[now.next_target++]);
    } else if (now.next_owner < now.owners.size()) {
        steps += match_owner(now.owners[now.next_owner++]);
    } else {
        const auto offset = now.source->offset;
        fan_out.reset();
        done_one(offset);
    }
}

/// How many steps that took.
std::size_t Spreader::Impl::match_owner(const std::string& owner) {
    const auto& source = *fan_out->source;
    auto steps = quota.of(owner, source.time);
    const auto before = steps.left();
    const auto match = webhooks.match(fan_out->json, owner, source.time, steps);
    const auto taken = before - steps.left();
    quota.spend(owner, source.time, taken);
    counts.filter_steps += taken;
    counts.too_costly += match.too_costly.size();
    fan_out->targets.clear();
    fan_out->next_target = 0;
    for (const auto& id : match.ids) fan_out->targets.push_back({.webhook = id});
    for (const auto& id : match.too_costly) {
        fan_out->targets.push_back({.webhook = id, .dead = true});
        report_costly(source, id);
    }
    return 1 + taken;
}

void Spreader::Impl::report_costly(const Source& source, const std::string& webhook) {
    const auto* entry = webhooks.find(webhook);
    if (!entry || reporting.contains(webhook)) return;
    if (entry->costly && source.time - entry->costly->at < kReportCostlyEvery) return;
    core::log_warn("retry", "filter_too_costly",
                   {{"webhook", webhook}, {"owner", entry->webhook.owner}});
    reporting.insert(webhook);
    const auto partition = core::partition_of(webhook, options.partitions);
    publisher.publish({log::Topic::kWebhooks, partition},
                      encode(webhook, CostlyFilter{.filter = filter_digest(entry->webhook.filter),
                                                   .at = source.time,
                                                   .source = source.event.source,
                                                   .event = source.event.id}),
                      [weak = weak_from_this(), webhook](const auto&) {
                          if (const auto self = weak.lock()) self->reporting.erase(webhook);
                      });
}

/// Where nobody knows whether the webhook wants the event its owner may decide.
core::Record Spreader::Impl::record_of(const Source& source, const Target& target) const {
    const auto& event = source.event;
    Delivery delivery{.id = delivery_id(scope_of(event), event.id, target.webhook),
                      .webhook = target.webhook,
                      .event = event.json};
    if (!target.dead) return encode(delivery);
    delivery.hop = 1;
    delivery.accepted = source.time;
    delivery.last = Outcome::filter_too_costly;
    return encode_dead(delivery);
}

void Spreader::Impl::publish(const SourcePtr& source, const Target& target) {
    ++unreported[source->offset];
    ++in_flight;
    in_flight_bytes += source->event.json.size();
    write(source, target);
}

void Spreader::Impl::write(const SourcePtr& source, const Target& target) {
    const auto topic = target.dead ? log::Topic::kRetryDead : log::Topic::retry(0);
    const auto partition = core::partition_of(target.webhook, options.partitions);
    publisher.publish({topic, partition}, record_of(*source, target),
                      [weak = weak_from_this(), source, target](const auto& where) {
                          const auto self = weak.lock();
                          if (!self) return;
                          if (where) return self->reported(*source);
                          // Perhaps it is in the log: then whoever reads it drops the copy.
                          self->executor.post_after(kPublishAgain, [weak, source, target] {
                              if (const auto s = weak.lock()) s->write(source, target);
                          });
                      });
}

void Spreader::Impl::reported(const Source& source) {
    --in_flight;
    in_flight_bytes -= source.event.json.size();
    ++counts.deliveries;
    done_one(source.offset);
    read_on();
}

/// A delivery is in the log, or all owners have been matched.
void Spreader::Impl::done_one(Offset offset) {
    const auto found = unreported.find(offset);
    if (--found->second > 0) return;
    unreported.erase(found);
    tracker.finish(offset);
}

void Spreader::Impl::tell() {
    const auto next = tracker.low();
    if (next != std::exchange(told, next)) events.spread_up_to(next);
}

Spreader::Spreader(Options options, log::EventLog& log, log::Publisher& publisher,
                   core::Executor& executor, const WebhookDirectory& webhooks, Events events)
    : impl_(
          std::make_shared<Impl>(options, log, publisher, executor, webhooks, std::move(events))) {}

Spreader::~Spreader() { impl_->reader.reset(); }

void Spreader::start() {
    const auto from = std::max<Offset>(0, impl_->options.from - kLookBack);
    impl_->reader = impl_->log.open_reader({log::Topic::kEvents, impl_->options.partition}, from,
                                           impl_->executor, [weak = std::weak_ptr{impl_}] {
                                               if (const auto self = weak.lock()) self->read_on();
                                           });
}

void Spreader::read_on() { impl_->read_on(); }
const Spreader::Counts& Spreader::counts() const { return impl_->counts; }

}  // namespace beckon::retry
