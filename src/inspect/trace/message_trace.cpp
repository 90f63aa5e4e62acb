#include "inspect/trace/message_trace.hpp"

#include "core/milestone.hpp"
#include "inspect/trace/client_trace.hpp"
#include "inspect/trace/trace_words.hpp"
#include "log/read_partition.hpp"
#include "records/events.hpp"
#include "records/log_key.hpp"
#include "reliability/history/milestone_codec.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace beckon::inspect {

using core::RecordView;
using core::Timestamp;
using log::Next;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A key is made by the endpoint's clock, an append time by the log's. They are nearly the same on
/// a host that is well; the second try is for hosts that are not. A message that neither finds may
/// be of a host whose clock was wrong by more: then the whole partition is read.
struct Window {
    milliseconds before;
    milliseconds after;
};
constexpr std::array kWindows{Window{seconds{2}, seconds{15}},
                              Window{std::chrono::minutes{10}, std::chrono::minutes{10}}};

/// The part of a partition in which the put of a message made at `made` is sought.
struct Sought {
    core::Offset from = 0;
    std::optional<Timestamp> until = std::nullopt;  ///< by the log's time; none: to its end
};

core::Result<Sought> sought(log::EventLog& log, log::TopicPartition where, Timestamp made,
                            const Window& window, const TraceOptions& options) {
    const auto from = log::offset_at(log, where, made - window.before, options.limits.timeout);
    if (!from) return core::fail(from.error());
    return Sought{*from, made + window.after};
}
/// Milestones of a message stand in the log a little after its put, or before it.
constexpr milliseconds kMilestonesBefore = seconds{5};

/// Collects the steps in the partition of `notifications`.
class Notifications {
public:
    Notifications(log::EventLog& log, const core::MessageRef& message, const TraceOptions& options,
                  MessageTrace& trace)
        : log_(log),
          options_(options),
          trace_(trace),
          where_{log::Topic::kNotifications, trace.partition},
          key_(core::to_hex(message.uaid) + '/' + core::to_hex(message.key)) {}

    core::Result<void> read() {
        for (const auto& window : kWindows) {
            const auto part = sought(log_, where_, made_at(trace_.message.key), window, options_);
            if (!part) return core::fail(part.error());
            if (auto found = read(*part); !found || is_found()) return found;
        }
        auto whole = read(Sought{});
        if (whole || is_found() || whole.error().fault != core::Fault::timed_out) return whole;
        given_up_ = true;
        return {};
    }

    bool is_found() const { return accepted_ || finished_; }
    /// Of the whole partition only a part was read, and the message is not in it.
    bool given_up() const { return given_up_; }
    std::optional<Timestamp> accepted() const { return accepted_; }
    bool finished() const { return finished_; }
    Timestamp expires() const { return expires_; }
    /// Of a finished message.
    const std::string& end_words() const { return end_words_; }

private:
    /// Reads until that part is over, or, once the put was seen, until the message's end.
    core::Result<void> read(const Sought& part) {
        const auto sink = [&](const RecordView& record) {
            take(record);
            const bool missing = !accepted_ && part.until && record.time > *part.until;
            return finished_ || missing ? Next::stop : Next::go_on;
        };
        return scan(log_, where_, part.from, sink, options_.limits);
    }

    void take(const RecordView& record) {
        const bool newer = topic_ && record.value && record.key != key_ &&
                           record.key.starts_with(key_.substr(0, core::kHexSize));
        if (newer) return note_newer(record);
        if (record.key == key_ || (accepted_ && record.key.starts_with(core::kLeasePrefix))) {
            note(record);
        }
    }
    /// Another message of the same client: it takes the place of this one if their Topics agree.
    void note_newer(const RecordView& record) {
        const auto event = core::decode_notification(record, scratch_);
        const auto* put = std::get_if<core::NotificationAccepted>(&event);
        if (!put || put->channel != channel_ || put->topic != topic_) return;
        trace_.steps.push_back(step_of(where_, record, "newer", newer_words(*put)));
    }
    void note(const RecordView& record) {
        const auto event = core::decode_notification(record, scratch_);
        auto step = notification_step(where_, record, event);
        if (!step) return;
        if (const auto* put = std::get_if<core::NotificationAccepted>(&event)) {
            accepted_ = record.time;
            expires_ = record.time + seconds{put->ttl_s};
            channel_ = put->channel;
            if (put->topic) topic_ = std::string{*put->topic};
            if (put->reliability_id) trace_.reliability_id = std::string{*put->reliability_id};
        } else if (std::holds_alternative<core::NotificationFinished>(event)) {
            finished_ = true;
            end_words_ = step->why;
        }
        trace_.steps.push_back(std::move(*step));
    }

    log::EventLog& log_;
    const TraceOptions& options_;
    MessageTrace& trace_;
    const log::TopicPartition where_;
    const std::string key_;
    core::DecodeScratch scratch_;
    std::optional<Timestamp> accepted_;
    Timestamp expires_{};
    core::ChannelId channel_{};
    std::optional<std::string> topic_;
    bool finished_ = false;
    bool given_up_ = false;
    std::string end_words_;
};

/// The message with that key in a part of a partition.
core::Result<std::optional<core::MessageRef>> find_in(log::EventLog& log, log::TopicPartition where,
                                                      const Sought& part,
                                                      const core::MessageKey& key,
                                                      const ScanLimits& limits) {
    const auto behind = '/' + core::to_hex(key);
    std::optional<core::MessageRef> found;
    const auto sink = [&](const RecordView& record) {
        if (record.key.ends_with(behind)) {
            const auto uaid = core::parse_hex16(record.key.substr(0, core::kHexSize));
            if (uaid) found = core::MessageRef{core::Uaid{*uaid}, key};
        }
        const bool over = part.until && record.time > *part.until;
        return found || over ? Next::stop : Next::go_on;
    };
    const auto read = scan(log, where, part.from, sink, limits);
    if (!read) return core::fail(read.error());
    return found;
}

log::TopicPartition milestones_of(const std::string& id, core::Partition partitions) {
    return {log::Topic::kReliability, core::partition_of(id, partitions)};
}

/// Adds the milestones of a tracked message, by the clocks of the hosts that report them.
core::Result<void> add_milestones(log::EventLog& log, const TraceOptions& options, Timestamp since,
                                  MessageTrace& trace) {
    const auto where = milestones_of(*trace.reliability_id, options.partitions);
    const auto from = log::offset_at(log, where, since - kMilestonesBefore, options.limits.timeout);
    if (!from) return core::fail(from.error());
    bool ended = false;
    const auto sink = [&](const RecordView& record) {
        if (record.key != *trace.reliability_id) return Next::go_on;
        reliability::MilestonesReached event;
        if (!reliability::decode(record, event)) return Next::go_on;
        for (const auto& reached : event.reached) {
            ended |= core::is_terminal(reached.milestone);
            auto step = step_of(where, record, std::string{to_string(reached.milestone)},
                                std::string{milestone_words(reached.milestone)});
            step.at = reached.at;
            trace.steps.push_back(std::move(step));
        }
        return ended ? Next::stop : Next::go_on;
    };
    return scan(log, where, *from, sink, options.limits);
}

}  // namespace

Timestamp made_at(const core::MessageKey& key) {
    std::int64_t ms = 0;
    for (std::size_t i = 0; i < 6; ++i) ms = ms << 8 | key.bytes[i];
    return Timestamp{milliseconds{ms}};
}

core::Result<MessageTrace> trace_message(log::EventLog& log, const core::MessageRef& message,
                                         const TraceOptions& options) {
    MessageTrace trace;
    trace.message = message;
    trace.partition = core::partition_of(message.uaid, options.partitions);
    Notifications notifications{log, message, options, trace};
    if (const auto read = notifications.read(); !read) return core::fail(read.error());
    if (!notifications.is_found()) {
        trace.verdict = notifications.given_up()
                            ? not_sought_words(made_at(message.key), kWindows.back().after)
                            : unknown_words(made_at(message.key), options.now);
        return trace;
    }
    if (trace.reliability_id) {
        const auto read = add_milestones(log, options, *notifications.accepted(), trace);
        if (!read) return core::fail(read.error());
    }
    auto of_client = subscription_steps(log, message.uaid, options);
    if (!of_client) return core::fail(of_client.error());
    trace.steps.insert(trace.steps.end(), std::make_move_iterator(of_client->begin()),
                       std::make_move_iterator(of_client->end()));
    const bool over = notifications.accepted() && options.now >= notifications.expires();
    trace.outcome = notifications.finished() ? TraceOutcome::finished
                    : over                   ? TraceOutcome::overdue
                                             : TraceOutcome::waiting;
    if (trace.outcome == TraceOutcome::overdue) {
        trace.steps.push_back({.at = notifications.expires(),
                               .topic = log::Topic(log::Topic::kNotifications).name(),
                               .partition = trace.partition,
                               .offset = std::nullopt,
                               .what = "expired",
                               .why = "Its TTL ended. It is not delivered any more."});
    }
    trace.verdict = trace.outcome == TraceOutcome::finished
                        ? notifications.end_words()
                        : verdict_words(trace.outcome, notifications.expires());
    trace.homeless = trace.outcome == TraceOutcome::waiting && options.homeless &&
                     options.homeless(trace.partition);
    if (trace.homeless) {
        trace.verdict +=
            " No living edge serves its client's partition: it is delivered once one does.";
    }
    std::ranges::stable_sort(trace.steps, {}, &TraceStep::at);
    return trace;
}

core::Result<std::optional<core::MessageRef>> find_message(log::EventLog& log,
                                                           const core::MessageKey& key,
                                                           const TraceOptions& options) {
    const auto all = log::all_of(log::Topic::kNotifications, options.partitions);
    for (const auto& window : kWindows) {
        for (const auto& where : all) {
            const auto part = sought(log, where, made_at(key), window, options);
            if (!part) return core::fail(part.error());
            auto found = find_in(log, where, *part, key, options.limits);
            if (!found || *found) return found;
        }
    }
    for (const auto& where : all) {
        auto found = find_in(log, where, Sought{}, key, options.limits);
        if (!found || *found) return found;
    }
    return std::optional<core::MessageRef>{};
}

core::Result<std::optional<core::MessageRef>> find_tracked(log::EventLog& log,
                                                           const std::string& reliability_id,
                                                           const TraceOptions& options) {
    std::optional<Timestamp> first;
    const auto milestones = scan(
        log, milestones_of(reliability_id, options.partitions), 0,
        [&](const RecordView& record) {
            if (record.key == reliability_id) first = record.time;
            return first ? Next::stop : Next::go_on;
        },
        options.limits);
    if (!milestones) return core::fail(milestones.error());
    if (!first) return std::optional<core::MessageRef>{};
    core::DecodeScratch scratch;
    std::optional<core::MessageRef> found;
    const auto& window = kWindows.front();
    for (core::Partition p = 0; p < options.partitions && !found; ++p) {
        const log::TopicPartition where{log::Topic::kNotifications, p};
        const auto from = log::offset_at(log, where, *first - window.after, options.limits.timeout);
        if (!from) return core::fail(from.error());
        const auto sink = [&](const RecordView& record) {
            if (record.header(core::header::kReliabilityId) == reliability_id) {
                const auto event = core::decode_notification(record, scratch);
                if (const auto* put = std::get_if<core::NotificationAccepted>(&event)) {
                    found = core::MessageRef{put->uaid, put->key};
                }
            }
            return found || record.time > *first + window.after ? Next::stop : Next::go_on;
        };
        const auto read = scan(log, where, *from, sink, options.limits);
        if (!read) return core::fail(read.error());
    }
    return found;
}

}  // namespace beckon::inspect
