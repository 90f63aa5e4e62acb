#include "inspect/trace/client_trace.hpp"

#include "core/log_names.hpp"
#include "inspect/trace/trace_words.hpp"
#include "records/events.hpp"
#include "records/log_key.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

namespace beckon::inspect {

using core::RecordView;
using log::Next;

namespace {

/// The newest steps of many.
class Newest {
public:
    explicit Newest(std::size_t max) : max_(max) {}
    void add(TraceStep step) {
        steps_.push_back(std::move(step));
        if (steps_.size() <= max_) return;
        steps_.pop_front();
        cut_ = true;
    }
    bool cut() const { return cut_; }
    std::vector<TraceStep> take() {
        return {std::make_move_iterator(steps_.begin()), std::make_move_iterator(steps_.end())};
    }

private:
    const std::size_t max_;
    std::deque<TraceStep> steps_;
    bool cut_ = false;
};

/// Messages without an end, and when their TTL ends: the newest of many.
class OpenMessages {
public:
    explicit OpenMessages(std::size_t max) : max_(max) {}
    void apply(const RecordView& record, core::DecodeScratch& scratch) {
        const auto event = core::decode_notification(record, scratch);
        if (const auto* put = std::get_if<core::NotificationAccepted>(&event)) {
            expires_[put->key] = record.time + std::chrono::seconds{put->ttl_s};
            if (expires_.size() > max_) expires_.erase(expires_.begin());  // keys rise with time
        } else if (const auto* end = std::get_if<core::NotificationFinished>(&event)) {
            expires_.erase(end->key);
        }
    }
    const std::map<core::MessageKey, core::Timestamp>& expires() const { return expires_; }

private:
    const std::size_t max_;
    std::map<core::MessageKey, core::Timestamp> expires_;
};

std::string of_message(const core::MessageKey& key, const std::string& words) {
    return "Message " + core::log_name(key) + ": " + words;
}

/// The step that a record of the client's partition of `notifications` means; nullopt: none for
/// people.
std::optional<TraceStep> client_step(log::TopicPartition where, const RecordView& record,
                                     core::DecodeScratch& scratch) {
    const auto event = core::decode_notification(record, scratch);
    auto step = notification_step(where, record, event);
    if (const auto* put = std::get_if<core::NotificationAccepted>(&event)) {
        step->why =
            of_message(put->key, "for channel " + core::to_dashed(put->channel) + ". " + step->why);
        step->message = core::log_name(put->key);
    } else if (const auto* end = std::get_if<core::NotificationFinished>(&event)) {
        step->why = of_message(end->key, step->why);
        step->message = core::log_name(end->key);
    }
    return step;
}

core::Result<void> add_messages(log::EventLog& log, log::TopicPartition where,
                                const core::Uaid& client, const ClientTraceOptions& options,
                                Newest& steps, OpenMessages& open) {
    const auto from = log::offset_at(log, where, options.since, options.trace.limits.timeout);
    if (!from) return core::fail(from.error());
    const auto key = core::to_hex(client);
    core::DecodeScratch scratch;
    const auto sink = [&](const RecordView& record) {
        if (record.key.starts_with(key) || record.key.starts_with(core::kLeasePrefix)) {
            open.apply(record, scratch);
            if (auto step = client_step(where, record, scratch)) steps.add(std::move(*step));
        }
        return Next::go_on;
    };
    return scan(log, where, *from, sink, options.trace.limits);
}

}  // namespace

core::Result<std::vector<TraceStep>> subscription_steps(log::EventLog& log,
                                                        const core::Uaid& client,
                                                        const TraceOptions& options) {
    const log::TopicPartition where{log::Topic::kSubscriptions,
                                    core::partition_of(client, options.partitions)};
    const auto key = core::to_hex(client);
    core::DecodeScratch scratch;
    std::vector<TraceStep> steps;
    const auto sink = [&](const RecordView& record) {
        if (!record.key.starts_with(key)) return Next::go_on;
        auto words = subscription_words(core::decode_subscription(record, scratch));
        if (!words.empty()) steps.push_back(step_of(where, record, "client", std::move(words)));
        return Next::go_on;
    };
    if (const auto read = scan(log, where, 0, sink, options.limits); !read) {
        return core::fail(read.error());
    }
    return steps;
}

core::Result<bool> has_client(log::EventLog& log, const core::Uaid& client,
                              const TraceOptions& options) {
    const log::TopicPartition where{log::Topic::kSubscriptions,
                                    core::partition_of(client, options.partitions)};
    const auto key = core::to_hex(client);
    bool found = false;
    const auto sink = [&](const RecordView& record) {
        found = record.key.starts_with(key);
        return found ? Next::stop : Next::go_on;
    };
    const auto read = scan(log, where, 0, sink, options.limits);
    if (!read) return core::fail(read.error());
    return found;
}

core::Result<ClientTrace> trace_client(log::EventLog& log, const core::Uaid& client,
                                       const ClientTraceOptions& options) {
    ClientTrace trace{.client = client,
                      .partition = core::partition_of(client, options.trace.partitions),
                      .steps = {}};
    auto subscriptions = subscription_steps(log, client, options.trace);
    if (!subscriptions) return core::fail(subscriptions.error());
    Newest messages{options.steps_max};
    OpenMessages open{options.steps_max};
    const log::TopicPartition where{log::Topic::kNotifications, trace.partition};
    if (const auto read = add_messages(log, where, client, options, messages, open); !read) {
        return core::fail(read.error());
    }
    trace.steps = std::move(*subscriptions);
    auto reported = messages.take();
    trace.steps.insert(trace.steps.end(), std::make_move_iterator(reported.begin()),
                       std::make_move_iterator(reported.end()));
    for (const auto& [key, expires] : open.expires()) {
        if (options.trace.now < expires) continue;
        trace.steps.push_back(
            {.at = expires,
             .topic = where.topic.name(),
             .partition = where.partition,
             .offset = std::nullopt,
             .what = "expired",
             .why = of_message(key,
                               "its TTL ended, and it is not delivered any more. The home "
                               "writes its end when it next drains the client's messages."),
             .message = core::log_name(key)});
    }
    std::ranges::stable_sort(trace.steps, {}, &TraceStep::at);
    trace.cut = messages.cut() || trace.steps.size() > options.steps_max;
    if (trace.steps.size() > options.steps_max) {
        trace.steps.erase(trace.steps.begin(),
                          trace.steps.end() - static_cast<std::ptrdiff_t>(options.steps_max));
    }
    return trace;
}

}  // namespace beckon::inspect
