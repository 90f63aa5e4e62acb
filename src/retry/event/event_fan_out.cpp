#include "retry/event/event_fan_out.hpp"

#include "core/codec.hpp"
#include "core/json_text.hpp"
#include "core/lasting_executor.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "retry/event/event.hpp"
#include "retry/event/owned_record.hpp"
#include "retry/event/step_quota.hpp"
#include "retry/tiers/delivery.hpp"
#include "retry/tiers/done_tracker.hpp"
#include "retry/tiers/recent_deliveries.hpp"

#include <algorithm>
#include <exception>
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

namespace {

/// By which its copies are recognised.
Delivery event_name(const Event& event) {
    return {.id = delivery_id(scope_of(event), event.id, ""), .webhook = "", .event = ""};
}

/// What `work` throws, as the reason why the event ends.
template <class Work>
std::optional<core::Error> thrown_by(Work work) {
    const auto error = [](const char* what) {
        return core::Error{Fault::corrupt, std::string{"it could not be fanned out: "} + what};
    };
    try {
        work();
    } catch (const std::exception& thrown) {
        return error(thrown.what());
    } catch (...) {
        return error("no std::exception");
    }
    return std::nullopt;
}

}  // namespace

struct EventFanOut::Impl : std::enable_shared_from_this<Impl> {
    Impl(Options o, log::EventLog& l, log::Publisher& p, core::Executor& x,
         const WebhookDirectory& w, Events e)
        : options(std::move(o)),
          log(l),
          publisher(p),
          executor(x),
          webhooks(w),
          events(std::move(e)),
          tracker({.low = options.from, .above = {}}),
          quota(static_cast<std::size_t>(options.partitions)),
          careful(options.careful),
          state{.open = true, .trial = {}, .set_aside = options.before.set_aside},
          tried_up_to(options.from) {}

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
    Offset announced = 0;
    Counts counts;

    bool careful;                        ///< events are taken on trial
    FanOutState state;                   ///< what the log is to know
    std::optional<OwnedRecord> held;     ///< the first of a trial, until the log knows of it
    bool trials_end = false;             ///< the log is to know that none is under way
    Offset tried_up_to;                  ///< what is below is, or was, on trial
    std::optional<Offset> suspects_end;  ///< nobody can have begun what came later
    core::Lifetime lifetime{executor};   ///< the log may answer when the executor is gone

    bool has_capacity() const { return in_flight < kDeliveriesMax && in_flight_bytes < kBytesMax; }
    bool waits_for_log() const { return held || trials_end; }
    void read_on();
    void read(const core::RecordView& record);
    void remember(const core::RecordView& record);
    void take(const core::RecordView& record);
    void try_it(const core::RecordView& record);
    bool has_ended_processes(Offset offset) const;
    FanOutState::Trial trial_of(Offset offset) const;
    void ask_suspects_end();
    bool trials_passed() const;
    void end_trials();
    void recorded();
    void begin(const core::RecordView& record, Event event);
    void set_aside(const core::RecordView& record, const core::Error& why);
    void keep_dead(const core::RecordView& record, const core::Error& why);
    void write_dead(Offset offset, const core::Record& letter);
    void go_on(std::size_t& steps);
    void next_turn();
    std::size_t next_step();
    void end_event(const core::Error& why);
    std::size_t match_owner(const std::string& owner);
    void report_costly(const Source& source, const std::string& webhook);
    void publish(const SourcePtr& source, const Target& target);
    void write_again(const SourcePtr& source, const Target& target);
    void write(const SourcePtr& source, const Target& target);
    core::Record record_of(const Source& source, const Target& target) const;
    void reported(const Source& source);
    void done_one(Offset offset);
    void report_progress();
};

void EventFanOut::Impl::read_on() {
    std::size_t steps = 0;
    while (reader && has_capacity() && !turn_posted && !waits_for_log() && events.may_read()) {
        if (steps >= kStepsPerTurn) {
            next_turn();
            break;
        }
        if (fan_out) {
            go_on(steps);
            continue;
        }
        if (trials_passed()) {
            end_trials();
            break;
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
    report_progress();
}

/// The thread has others first.
void EventFanOut::Impl::next_turn() {
    turn_posted = true;
    executor.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->turn_posted = false;
        self->read_on();
    });
}

void EventFanOut::Impl::read(const core::RecordView& record) {
    if (core::is_control_key(record.key)) return;
    if (record.offset < options.from) return remember(record);
    if (careful && record.offset >= tried_up_to) return try_it(record);
    take(record);
}

/// To recognise its copies.
void EventFanOut::Impl::remember(const core::RecordView& record) {
    const auto& ended = state.set_aside;
    if (std::find(ended.begin(), ended.end(), record.offset) != ended.end()) return;
    if (const auto event = decode_event(record)) recent.insert(event_name(*event));
}

void EventFanOut::Impl::take(const core::RecordView& record) {
    const auto thrown = thrown_by([&] {
        auto event = decode_event(record);
        if (!event) return set_aside(record, event.error());
        if (recent.insert(event_name(*event))) return begin(record, std::move(*event));
        ++counts.copies;
        tracker.read_up_to(record.offset + 1);
    });
    if (!thrown) return;
    fan_out.reset();
    set_aside(record, *thrown);
}

void EventFanOut::Impl::try_it(const core::RecordView& record) {
    if (record.offset >= options.from + kTrialsMax) {
        held.emplace(record);
        return end_trials();
    }
    if (has_ended_processes(record.offset)) {
        tried_up_to = record.offset + 1;
        std::erase_if(state.set_aside, [&](Offset at) { return at + kReadBack < record.offset; });
        state.set_aside.push_back(record.offset);
        return set_aside(record, {Fault::corrupt, "two processes ended while it was fanned out"});
    }
    held.emplace(record);
    state.trial = trial_of(record.offset);
    tried_up_to = state.trial->to;
    events.record(state);
}

bool EventFanOut::Impl::has_ended_processes(Offset offset) const {
    const auto& last = options.before.trial;
    return last && last->from == offset && last->times >= 2;
}

/// Of a trial in which a process ended each event is tried alone.
FanOutState::Trial EventFanOut::Impl::trial_of(Offset offset) const {
    const auto& last = options.before.trial;
    const bool suspect = last && offset >= last->from && offset < last->to;
    if (suspect && last->times > 0) return {offset, offset + 1, last->times + 1};
    if (suspect || offset < options.from + kTriedAlone) return {offset, offset + 1, 1};
    const auto to = offset + kTrialEvents;
    return {offset, last && offset < last->from ? std::min(to, last->from) : to, 0};
}

void EventFanOut::Impl::ask_suspects_end() {
    core::ask_while(
        lifetime,
        [this](core::Executor& lasting, auto done) {
            log.ends({log::Topic::kEvents, options.partition}, lasting, std::move(done));
        },
        [weak = weak_from_this()](const core::Result<log::Ends>& ends) {
            const auto self = weak.lock();
            if (!self) return;
            if (ends) {
                self->suspects_end = ends->end;
                return self->read_on();
            }
            self->executor.post_after(kPublishAgain, [weak] {
                if (const auto s = weak.lock()) s->ask_suspects_end();
            });
        });
}

bool EventFanOut::Impl::trials_passed() const {
    return careful && suspects_end && reader->position() >= *suspects_end;
}

void EventFanOut::Impl::end_trials() {
    careful = false;
    trials_end = true;
    state.trial.reset();
    events.record(state);
}

void EventFanOut::Impl::recorded() {
    if (std::exchange(trials_end, false)) events.trials_over();
    if (held) {
        const auto first = *std::exchange(held, std::nullopt);
        first.visit([this](const auto& record) { take(record); });
    }
    read_on();
}

void EventFanOut::Impl::begin(const core::RecordView& record, Event event) {
    auto owners = event.owner.empty() ? webhooks.owners() : std::vector{event.owner};
    auto json = core::parse_json(event.json);
    if (json.is_discarded()) return set_aside(record, {Fault::corrupt, "no JSON"});
    ++counts.events;
    fan_out = FanOut{.source = std::make_shared<const Source>(Source{
                         .offset = record.offset, .time = record.time, .event = std::move(event)}),
                     .json = std::move(json),
                     .owners = std::move(owners)};
    tracker.open(record.offset);
    unreported[record.offset] = 1;
}

/// What cannot be read is kept as a dead letter, with the reason; the events behind it go on.
void EventFanOut::Impl::set_aside(const core::RecordView& record, const core::Error& why) {
    tracker.open(record.offset);
    unreported[record.offset] = 1;
    keep_dead(record, why);
}

void EventFanOut::Impl::keep_dead(const core::RecordView& record, const core::Error& why) {
    ++counts.broken;
    core::log_error("retry", "broken_event",
                    {{"partition", options.partition},
                     {"offset", record.offset},
                     {"why", why.message},
                     {"effect", "it is kept in retry.dead"}});
    ++in_flight;
    write_dead(record.offset,
               encode_dead(unreadable(log::Topic::kEvents.name(), options.partition, record, why)));
}

/// Until the log has it.
void EventFanOut::Impl::write_dead(Offset offset, const core::Record& letter) {
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

void EventFanOut::Impl::go_on(std::size_t& steps) {
    const auto thrown = thrown_by([&] { steps += next_step(); });
    if (thrown) end_event(*thrown);
}

/// Does one thing: a delivery, the webhooks of an owner, or the end. How many steps that took.
std::size_t EventFanOut::Impl::next_step() {
    auto& now = *fan_out;
    if (now.next_target < now.targets.size()) {
        publish(now.source, now.targets[now.next_target++]);
        return 0;
    }
    if (now.next_owner < now.owners.size()) return match_owner(now.owners[now.next_owner++]);
    const auto offset = now.source->offset;
    fan_out.reset();
    done_one(offset);
    return 0;
}

/// What fails while it is fanned out ends it; those of its deliveries that are written stay.
void EventFanOut::Impl::end_event(const core::Error& why) {
    if (!fan_out) return;
    const auto source = fan_out->source;
    fan_out.reset();
    core::RecordView record;
    record.offset = source->offset;
    record.time = source->time;
    record.key = source->event.id;
    record.value = source->event.json;
    keep_dead(record, why);
}

/// How many steps that took.
std::size_t EventFanOut::Impl::match_owner(const std::string& owner) {
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

void EventFanOut::Impl::report_costly(const Source& source, const std::string& webhook) {
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
core::Record EventFanOut::Impl::record_of(const Source& source, const Target& target) const {
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

void EventFanOut::Impl::publish(const SourcePtr& source, const Target& target) {
    write(source, target);
    ++unreported[source->offset];
    ++in_flight;
    in_flight_bytes += source->event.json.size();
}

void EventFanOut::Impl::write(const SourcePtr& source, const Target& target) {
    const auto topic = target.dead ? log::Topic::kRetryDead : log::Topic::retry(0);
    const auto partition = core::partition_of(target.webhook, options.partitions);
    publisher.publish({topic, partition}, record_of(*source, target),
                      [weak = weak_from_this(), source, target](const auto& where) {
                          const auto self = weak.lock();
                          if (!self) return;
                          if (where) return self->reported(*source);
                          // Perhaps it is in the log: then whoever reads it drops the copy.
                          self->write_again(source, target);
                      });
}

void EventFanOut::Impl::write_again(const SourcePtr& source, const Target& target) {
    executor.post_after(kPublishAgain, [weak = weak_from_this(), source, target] {
        const auto self = weak.lock();
        if (!self) return;
        if (thrown_by([&] { self->write(source, target); })) self->write_again(source, target);
    });
}

void EventFanOut::Impl::reported(const Source& source) {
    --in_flight;
    in_flight_bytes -= source.event.json.size();
    ++counts.deliveries;
    done_one(source.offset);
    read_on();
}

/// A delivery is in the log, or all owners have been matched.
void EventFanOut::Impl::done_one(Offset offset) {
    const auto found = unreported.find(offset);
    if (--found->second > 0) return;
    unreported.erase(found);
    tracker.finish(offset);
}

void EventFanOut::Impl::report_progress() {
    const auto next = tracker.low();
    if (next != std::exchange(announced, next)) events.fanned_out_up_to(next);
}

EventFanOut::EventFanOut(Options options, log::EventLog& log, log::Publisher& publisher,
                         core::Executor& executor, const WebhookDirectory& webhooks, Events events)
    : impl_(
          std::make_shared<Impl>(options, log, publisher, executor, webhooks, std::move(events))) {}

EventFanOut::~EventFanOut() { impl_->reader.reset(); }

void EventFanOut::start() {
    const auto from = std::max<Offset>(0, impl_->options.from - kReadBack);
    if (impl_->careful) impl_->ask_suspects_end();
    // This process goes on: nothing of the trial before is suspect.
    if (!impl_->careful && impl_->options.before.trial) impl_->events.record(impl_->state);
    impl_->reader = impl_->log.open_reader({log::Topic::kEvents, impl_->options.partition}, from,
                                           impl_->executor, [weak = std::weak_ptr{impl_}] {
                                               if (const auto self = weak.lock()) self->read_on();
                                           });
}

void EventFanOut::read_on() { impl_->read_on(); }

void EventFanOut::recorded() { impl_->recorded(); }

const EventFanOut::Counts& EventFanOut::counts() const { return impl_->counts; }

}  // namespace beckon::retry
