#include "retry/home/fan_out/event_fan_out.hpp"

#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "log/until.hpp"
#include "records/delivery.hpp"
#include "records/events.hpp"
#include "retry/event/event.hpp"
#include "retry/event/filter/json_tree.hpp"
#include "retry/home/fan_out/step_quota.hpp"
#include "retry/home/tiers/done_tracker.hpp"
#include "retry/home/tiers/recent_deliveries.hpp"
#include "retry/later_turn.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace beckon::retry {

using core::Fault;
using core::Offset;

namespace {

constexpr std::size_t kParsedBytesPerStep = 4;
constexpr std::size_t kStepsOfWrite = 144;  ///< of a delivery, with its bytes
constexpr std::size_t kRecordCosts = 256;   ///< to be read, as if it had so many bytes more

/// By which its copies are recognised.
Delivery named_delivery(const Event& event) {
    return {.id = event_name(scope_of(event), event.id), .webhook = "", .event = ""};
}

/// The exception of `work` as the error with which an event ends; nullopt: it threw none.
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

struct EventFanOut::Impl {
    Impl(Options o, Context c, Events e)
        : options(o),
          home(c.home),
          webhooks(c.webhooks),
          progress(c.progress),
          turns(c.turns),
          cache(c.cache),
          events(std::move(e)),
          tracker({.low = options.from, .above = {}}),
          quota(static_cast<std::size_t>(options.partitions)) {}

    /// An event as it was read.
    struct Source {
        Offset offset = 0;
        core::Timestamp time;  ///< when it was appended
        Event event;
        std::optional<EventPlace> place{};  ///< of a large event
        std::optional<JsonTree> parsed{};
        bool failed = false;  ///< its dead letter is written
        bool cached = false;
    };
    using SourcePtr = std::shared_ptr<Source>;
    /// One of its deliveries.
    struct Target {
        std::string webhook;
        bool dead = false;  ///< whether the webhook wants it is unknown
    };
    /// The work of an event for one owner.
    struct Matching {
        SourcePtr source;
        std::string owner;
        std::size_t steps_left = Steps::kMax;
        bool begun = false;
        std::vector<std::string> rest{};  ///< webhooks that are not evaluated yet
        std::vector<Target> targets{};    ///< deliveries that are not on their way yet
        std::size_t next_target = 0;

        bool needs_parsed() const { return !begun || !rest.empty(); }
    };
    using MatchingPtr = std::shared_ptr<Matching>;

    const Options options;
    const HomeContext home;
    const WebhookDirectory& webhooks;
    WebhookProgress& progress;
    FanOutTurns& turns;
    EventCache& cache;
    const Events events;

    std::unique_ptr<log::PartitionReader> reader;
    DoneTracker tracker;
    RecentDeliveries recent;
    StepQuota quota;
    LaterTurn next_turn{home.executor, [this] { read_on(); }};
    std::size_t ahead_bytes = 0;   ///< of events that are not fanned out
    std::size_t matchings = 0;     ///< of them, for one owner each
    std::size_t parsed_bytes = 0;  ///< the text of events that are parsed
    /// Each event that is not fanned out yet: its matchings, deliveries and dead letters on their
    /// way.
    struct Open {
        std::size_t matchings = 0;
        std::size_t writes = 0;
        std::size_t bytes = 0;  ///< of the event and its dead letter, until all are written
    };
    std::map<Offset, Open> open;
    std::set<std::string, std::less<>> reporting;  ///< webhooks whose CostlyFilter is being written
    Offset announced = 0;

    std::optional<WebhooksChanged> changed;  ///< what the directory is to have first
    core::Lifetime lifetime{home.executor};  ///< the log may answer when the executor is gone

    log::Until again() const { return {lifetime, home.executor}; }
    WorkJournal::Piece piece_of(Offset offset, core::Timestamp at) const {
        return WorkJournal::Piece::of_event(options.partition, offset, at);
    }

    bool may_read_ahead() const {
        return matchings < kMatchesMax && ahead_bytes < kAheadBytesMax &&
               reader->position() < tracker.low() + kReadAheadMax;
    }

    void read_on() {
        std::size_t bytes = 0;
        while (reader && !next_turn.is_asked() && progress.is_up_to_date() &&
               !waits_for_webhooks()) {
            // A gap of offsets, as after a restored backup, is nothing that was read ahead.
            tracker.read_up_to(reader->position());
            if (!may_read_ahead()) break;
            if (bytes >= kReadBytesPerTurn) {
                next_turn.ask();
                break;
            }
            const auto taken = reader->take(1, [&](const auto& record) {
                bytes += kRecordCosts + (record.value ? record.value->size() : 0);
                read(record);
            });
            if (!taken) {
                if (taken.error().fault == Fault::unavailable) return;  // `ready` comes
                reader.reset();
                return events.failed(taken.error());
            }
            if (taken->records == 0) {
                tracker.read_up_to(reader->position());
                break;
            }
        }
        report_progress();
    }

    bool waits_for_webhooks() {
        if (changed && progress.has(*changed)) changed.reset();
        return changed.has_value();
    }

    void read(const core::RecordView& record) {
        if (core::is_control_key(record.key) && !is_event(record)) return read_control(record);
        const bool earlier = record.offset < options.from;
        const auto piece = piece_of(record.offset, record.time);
        if (home.has_ended_processes(piece)) {
            if (earlier) return;
            return set_aside(record,
                             {Fault::corrupt, "two processes ended while it was fanned out"});
        }
        const WorkJournal::Slot::Work work{home.journal, piece};
        earlier ? remember(record) : take(record);
    }

    void read_control(const core::RecordView& record) {
        auto one = decode_webhooks_changed(record);
        if (one) {
            changed = std::move(*one);
        } else if (one.error().fault == Fault::corrupt) {
            core::log_sparsely(core::LogLevel::error, "retry", "broken_event",
                               {{"partition", options.partition},
                                {"offset", record.offset},
                                {"why", one.error().message}});
        }
    }

    /// To recognise its copies.
    void remember(const core::RecordView& record) {
        if (const auto event = decode_event_name(record)) recent.insert(named_delivery(*event));
    }

    void take(const core::RecordView& record) {
        const auto thrown = thrown_by([&] {
            auto event = decode_event(record);
            if (!event) return set_aside(record, event.error());
            if (recent.insert(named_delivery(*event))) return begin(record, std::move(*event));
            ++home.tally.events[EventEnd::copy];
            tracker.read_up_to(record.offset + 1);
        });
        if (thrown) set_aside(record, *thrown);
    }

    /// Queues the event's matching for each owner that it may reach. After an exception only the
    /// matchings queued so far remain, and the event ends with them.
    void begin(const core::RecordView& record, Event event) {
        auto owners = event.owner.empty() ? webhooks.filters().owners() : std::vector{event.owner};
        if (!event.owner.empty() && webhooks.count_of(event.owner) == 0) owners.clear();
        auto place = place_of(record, event);
        const auto source = std::make_shared<Source>(Source{.offset = record.offset,
                                                            .time = record.time,
                                                            .event = std::move(event),
                                                            .place = std::move(place)});
        ++home.tally.events[EventEnd::fanned_out];
        auto& one = open[record.offset];
        tracker.open(record.offset);
        if (owners.empty()) return finish_if_done(record.offset);
        for (auto& owner : owners) {
            const auto matching =
                std::make_shared<Matching>(Matching{.source = source, .owner = owner});
            turns.add(owner, [this, term = lifetime.term(), matching] {
                return term.over() ? FanOutTurns::Done{} : next_part(matching);
            });
            ++matchings;
            if (++one.matchings > 1) continue;
            one.bytes += source->event.json.size();
            ahead_bytes += source->event.json.size();
        }
    }

    /// nullopt: its deliveries carry it.
    std::optional<EventPlace> place_of(const core::RecordView& record, const Event& event) const {
        if (event.json.size() <= kEventInDeliveryMax) return std::nullopt;
        return EventPlace{.partition = options.partition,
                          .offset = record.offset,
                          .name = event_name(scope_of(event), event.id),
                          .bytes = event.json.size(),
                          .type = event.type.substr(0, kEventTypeShown)};
    }

    /// Keeps an unreadable event as a dead letter, with the reason; the events behind it go on.
    void set_aside(const core::RecordView& record, const core::Error& why) {
        if (!open.contains(record.offset)) tracker.open(record.offset);
        keep_dead(record, why);
    }

    void keep_dead(const core::RecordView& record, const core::Error& why) {
        ++home.tally.events[EventEnd::broken];
        core::log_sparsely(core::LogLevel::error, "retry", "broken_event",
                           {{"partition", options.partition},
                            {"offset", record.offset},
                            {"why", why.message},
                            {"effect", "it is kept in retry.dead"}});
        const auto letter = std::make_shared<const Delivery>(
            unreadable(log::Topic::kEvents.name(), options.partition, record, why));
        auto& one = open[record.offset];
        ++one.writes;
        one.bytes += letter->event.size();
        ahead_bytes += letter->event.size();
        write_dead(record.offset, letter);
    }

    /// Tried again after an exception too.
    void write_dead(Offset offset, const std::shared_ptr<const Delivery>& letter) {
        const auto thrown = thrown_by([&] {
            log::until_written(
                again(), home.publisher, {log::Topic::kRetryDead, options.partition},
                [letter] { return encode_dead(*letter); },
                [this, offset](const auto&) { written(offset); });
        });
        if (!thrown) return;
        home.executor.post_after(
            kPublishAgain, lifetime.guard([this, offset, letter] { write_dead(offset, letter); }));
    }

    /// Matches a part of the owner's webhooks, and publishes the deliveries of the matching ones.
    /// An exception ends the event for this owner; deliveries that are written stay.
    FanOutTurns::Done next_part(const MatchingPtr& matching) {
        FanOutTurns::Done done;
        auto& one = *matching;
        auto& source = *one.source;
        const WorkJournal::Slot::Work work{home.journal, piece_of(source.offset, source.time)};
        const auto thrown = thrown_by([&] {
            if (one.needs_parsed() && one.targets.empty()) {
                done.steps += parse(source);
                done.steps += match(one);
            }
            done.over = write_targets(one, done.steps) && !one.needs_parsed();
        });
        if (thrown) {
            fail(source, *thrown);
            done.over = true;
        }
        const bool last = done.over && open.at(source.offset).matchings == 1;
        // While it waits for the log, perhaps for long, others have the space.
        forget_parsed(source, last || !turns.has_capacity(one.owner));
        if (done.over) matched(source);
        return done;
    }

    /// False: the owner has its share on the way, or has used this turn.
    bool write_targets(Matching& matching, std::size_t& steps) {
        while (matching.next_target < matching.targets.size()) {
            if (steps >= FanOutTurns::kPart || !turns.has_capacity(matching.owner)) return false;
            publish(matching.source, matching.owner, matching.targets[matching.next_target++]);
            steps += kStepsOfWrite;
        }
        matching.targets.clear();
        matching.next_target = 0;
        return true;
    }

    /// How many steps that took, of which those of the filters count for the owner's quota.
    std::size_t match(Matching& matching) {
        auto& source = *matching.source;
        const auto most =
            std::min(matching.steps_left, quota.of(matching.owner, source.time).left());
        Steps steps{most};
        const bool first = !std::exchange(matching.begun, true);
        auto match =
            first ? webhooks.filters().match(*source.parsed, matching.owner, source.time, steps,
                                             FanOutTurns::kPart)
                  : webhooks.filters().go_on(std::exchange(matching.rest, {}), *source.parsed,
                                             source.time, steps, FanOutTurns::kPart);
        const auto taken = most - steps.left();
        spend(matching, taken);
        matching.rest = std::move(match.rest);
        take_matched(matching, std::move(match.ids), match.too_costly);
        return taken;
    }

    void spend(Matching& matching, std::size_t steps) {
        matching.steps_left -= std::min(steps, matching.steps_left);
        quota.spend(matching.owner, matching.source->time, steps);
        home.tally.filter_steps += steps;
    }

    void take_matched(Matching& matching, std::vector<std::string> ids,
                      const std::vector<std::string>& too_costly) {
        home.tally.deliveries[DeliveryEnd::filter_too_costly] += too_costly.size();
        for (auto& id : ids) matching.targets.push_back({.webhook = std::move(id)});
        for (const auto& id : too_costly) {
            report_costly(*matching.source, id);
            matching.targets.push_back({.webhook = id, .dead = true});
        }
    }

    /// How many steps that took.
    std::size_t parse(Source& source) {
        if (source.parsed) return 0;
        source.parsed.emplace(source.event.json);
        parsed_bytes += source.event.json.size();
        return source.event.json.size() / kParsedBytesPerStep;
    }

    /// An event stays parsed between two parts of its matching unless the space is needed.
    void forget_parsed(Source& source, bool surely) {
        if (!source.parsed || (!surely && parsed_bytes <= kParsedBytesMax)) return;
        source.parsed.reset();
        parsed_bytes -= source.event.json.size();
    }

    /// Makes one dead letter, for however many owners.
    void fail(Source& source, const core::Error& why) {
        if (source.failed) return;
        core::RecordView record;
        record.offset = source.offset;
        record.time = source.time;
        record.key = source.event.id;
        record.value = source.event.json;
        keep_dead(record, why);
        source.failed = true;
    }

    void report_costly(const Source& source, const std::string& webhook) {
        const auto* entry = webhooks.find(webhook);
        if (!entry || reporting.contains(webhook)) return;
        if (entry->costly && source.time - entry->costly->at < kReportCostlyEvery) return;
        core::log_warn("retry", "filter_too_costly",
                       {{"webhook", webhook}, {"owner", entry->webhook.owner}});
        reporting.insert(webhook);
        const auto partition = core::partition_of(webhook, options.partitions);
        home.publisher.publish(
            {log::Topic::kWebhooks, partition},
            encode(webhook, CostlyFilter{.filter = entry->filter_digest,
                                         .at = source.time,
                                         .source = source.event.source,
                                         .event = source.event.id}),
            lifetime.guard([this, webhook](const auto&) { reporting.erase(webhook); }));
    }

    /// If the filter had no result, the delivery becomes a dead letter: the owner may redrive it.
    core::Record record_of(const Source& source, const Target& target) const {
        const auto& event = source.event;
        Delivery delivery{.id = delivery_id(scope_of(event), event.id, target.webhook),
                          .webhook = target.webhook,
                          .event = source.place ? "" : event.json,
                          .place = source.place};
        if (!target.dead) return encode(delivery);
        delivery.hop = 1;
        delivery.accepted = source.time;
        delivery.last = Outcome::filter_too_costly;
        return encode_dead(delivery);
    }

    void publish(const SourcePtr& source, const std::string& owner, const Target& target) {
        if (source->place && !std::exchange(source->cached, true)) {
            cache.put(*source->place, source->event.owner, {source, &source->event.json});
        }
        auto share = turns.hold(owner);  // until the log has it, or the fan-out has ended
        const auto topic = target.dead ? log::Topic::kRetryDead : log::Topic::retry(0);
        // After a failure it may be in the log: its reader then drops the copy.
        log::until_written(
            again(), home.publisher,
            {topic, core::partition_of(target.webhook, options.partitions)},
            [this, source, target] { return record_of(*source, target); },
            [this, source, share = std::move(share)](const auto&) mutable {
                share.reset();
                ++home.tally.fan_outs;
                written(source->offset);
            });
        ++open.at(source->offset).writes;
    }

    /// Everything of it is on its way for one owner.
    void matched(const Source& source) {
        auto& one = open.at(source.offset);
        --matchings;
        if (--one.matchings > 0) return;
        finish_if_done(source.offset);
        next_turn.ask();
    }

    /// A delivery or a dead letter is in the log.
    void written(Offset offset) {
        --open.at(offset).writes;
        finish_if_done(offset);
        read_on();
    }

    void finish_if_done(Offset offset) {
        const auto found = open.find(offset);
        if (found->second.matchings > 0 || found->second.writes > 0) return;
        ahead_bytes -= found->second.bytes;
        open.erase(found);
        tracker.finish(offset);
    }

    void report_progress() {
        const auto next = tracker.low();
        if (next != std::exchange(announced, next)) events.fanned_out_up_to(next);
    }
};

EventFanOut::EventFanOut(Options options, Context context, Events events)
    : impl_(std::make_unique<Impl>(options, context, std::move(events))) {}

EventFanOut::~EventFanOut() = default;

void EventFanOut::start() {
    const auto from = std::max<Offset>(0, impl_->options.from - kReadBack);
    impl_->reader = impl_->home.log.open_reader(
        {log::Topic::kEvents, impl_->options.partition}, from, impl_->home.executor,
        impl_->lifetime.guard([this] { impl_->read_on(); }));
}

void EventFanOut::read_on() { impl_->read_on(); }

}  // namespace beckon::retry
