#include "inspect/trace/trace_words.hpp"

#include "core/client_code.hpp"
#include "core/json_text.hpp"
#include "core/log_names.hpp"
#include "core/time_text.hpp"

#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace beckon::inspect {

namespace {

using Json = nlohmann::ordered_json;
using core::FinishReason;
using core::Milestone;
using core::Timestamp;

std::string quoted_list(const core::NotificationAccepted& message) {
    std::string text =
        std::to_string(message.body.size()) + " bytes, TTL " + std::to_string(message.ttl_s) + " s";
    if (message.urgency) text += ", urgency " + std::string{to_string(*message.urgency)};
    if (message.topic) text += ", Topic " + std::string{*message.topic};
    return text;
}

std::string client_words(const core::ClientRecorded& client) {
    return "The client was recorded: " + std::string{to_string(client.router_type)} + ", made at " +
           core::time_text(client.created) + ", last seen at " + core::time_text(client.last_seen) +
           ".";
}

std::string channel_words(const core::ChannelRecorded& channel) {
    return "The client registered the channel " + core::to_dashed(channel.channel) + ".";
}

std::string channel_gone_words(const core::ChannelRemoved& channel) {
    return "The channel " + core::to_dashed(channel.channel) +
           " was unregistered; senders get 410 for it.";
}

/// From when on the times of steps count: the time in the message's key, unless the clock of the
/// endpoint's host was wrong when it was made.
Timestamp begin_of(const MessageTrace& trace) {
    constexpr std::chrono::minutes kClockOffMax{10};
    const auto made = made_at(trace.message.key);
    for (const auto& step : trace.steps) {
        if (step.what != "accepted") continue;
        const auto off = step.at - made;
        return off > kClockOffMax || -off > kClockOffMax ? step.at : made;
    }
    return made;
}

/// "+ 1.234 s", from the beginning.
std::string since_text(Timestamp at, Timestamp first) {
    const auto ms = (at - first).count();
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%+10.3f s", static_cast<double>(ms) / 1000);
    return text.data();
}

Json json_of(const TraceStep& step) {
    Json out{{"at", step.at.time_since_epoch().count()},
             {"time", core::time_text(step.at)},
             {"topic", step.topic},
             {"partition", step.partition}};
    out["offset"] = step.offset ? Json(*step.offset) : Json(nullptr);
    out["what"] = step.what;
    out["why"] = step.why;
    if (!step.message.empty()) out["message"] = step.message;
    if (!step.reason.empty()) out["reason"] = step.reason;
    if (!step.sent.empty()) out["sent"] = step.sent;
    return out;
}

Json json_of(const std::vector<TraceStep>& steps) {
    auto out = Json::array();
    for (const auto& step : steps) out.push_back(json_of(step));
    return out;
}

}  // namespace

std::string accepted_words(const core::NotificationAccepted& message, Timestamp expires) {
    auto text = "The endpoint " + std::string{message.source} +
                " put the message into the log and answered 201: " + quoted_list(message) + ". ";
    if (message.ttl_s == 0) {
        return text + "It is delivered if the client is connected now, and not kept.";
    }
    return text + "It waits for the client until " + core::time_text(expires) + " at most.";
}

namespace {

/// A message with TTL 0 is sent once, to a client that is connected, and ends so in any case.
std::string_view expired_words(std::optional<std::string_view> sent) {
    if (sent == core::kSentAcked) {
        return "It was sent to the client once (TTL 0), and the client acknowledged it.";
    }
    if (sent) {
        return "It was sent to the client, which had not acknowledged it when its TTL ended (with "
               "TTL 0 it is sent once).";
    }
    return "Its TTL ended before its home had sent it: the client was not connected there, or had "
           "not answered earlier messages.";
}

std::string_view finished_words_of(FinishReason reason, const core::RecordView& tombstone) {
    switch (reason) {
        case FinishReason::acked: return "The client acknowledged it.";
        case FinishReason::expired: return expired_words(tombstone.header(core::kSentHeader));
        case FinishReason::replaced: return "A newer message of the same Topic took its place.";
        case FinishReason::dropped:
            return "It was finished before its home had read it, so it was not delivered.";
        case FinishReason::deleted: return "Its sender deleted it (DELETE of its Location).";
        case FinishReason::unregistered:
            return "The client unregistered the channel while the message waited.";
    }
    return "It was finished.";
}

}  // namespace

std::string finished_words(FinishReason reason, const core::RecordView& tombstone) {
    std::string text{finished_words_of(reason, tombstone)};
    const auto code = tombstone.header(core::kClientCodeHeader);
    if (!code) return text;
    if (code == "101") return text + " It could not decrypt it (code 101).";
    if (code == "102") return text + " It could not deliver it (code 102).";
    return text + " It gave the code " + std::string{*code} + ".";
}

TraceStep step_of(log::TopicPartition where, const core::RecordView& record, std::string what,
                  std::string why) {
    return {.at = record.time,
            .topic = where.topic.name(),
            .partition = where.partition,
            .offset = record.offset,
            .what = std::move(what),
            .why = std::move(why)};
}

std::optional<TraceStep> notification_step(log::TopicPartition where,
                                           const core::RecordView& record,
                                           const core::NotificationsEvent& event) {
    if (const auto* put = std::get_if<core::NotificationAccepted>(&event)) {
        const auto expires = record.time + std::chrono::seconds{put->ttl_s};
        return step_of(where, record, "accepted", accepted_words(*put, expires));
    }
    if (const auto* end = std::get_if<core::NotificationFinished>(&event)) {
        auto step = step_of(where, record, "finished", finished_words(end->reason, record));
        step.reason = to_string(end->reason);
        step.sent = record.header(core::kSentHeader).value_or("");
        return step;
    }
    if (const auto* lease = std::get_if<core::Lease>(&event); lease && !lease->removed) {
        return step_of(where, record, "home", home_words(lease->node, lease->epoch));
    }
    return std::nullopt;
}

std::string home_words(std::string_view node, core::Epoch epoch) {
    return "The edge " + std::string{node} + " became the home of the client's partition (epoch " +
           std::to_string(epoch) + ") and delivers its waiting messages.";
}

std::string newer_words(const core::NotificationAccepted& newer) {
    return "The sender sent a newer message of the same Topic: " + core::log_name(newer.key) + ".";
}

std::string subscription_words(const core::SubscriptionsEvent& event) {
    return std::visit(
        core::Overloaded{
            [](const core::ClientRecorded& client) { return client_words(client); },
            [](const core::ClientRemoved&) {
                return std::string{"The client was removed, with its channels."};
            },
            [](const core::ChannelRecorded& channel) { return channel_words(channel); },
            [](const core::ChannelRemoved& channel) { return channel_gone_words(channel); },
            [](const core::BarrierRecord&) { return std::string{}; },
            [](const core::Lease&) { return std::string{}; },
            [](const core::Unknown& unknown) {
                return "A record that this Beckon does not know: " + std::string{unknown.why} + ".";
            }},
        event);
}

std::string_view milestone_words(Milestone milestone) {
    switch (milestone) {
        case Milestone::received: return "The endpoint checked the request.";
        case Milestone::stored: return "The home keeps it, since the client is away or busy.";
        case Milestone::retrieved: return "The home read it from its store to deliver it.";
        case Milestone::int_transmitted: return "It reached the log on its way to the home.";
        case Milestone::int_accepted: return "The home has it and delivers it at once.";
        case Milestone::bridge_transmitted: return "The bridge (FCM or APNs) took it.";
        case Milestone::transmitted: return "The home handed it to the client's connection.";
        case Milestone::accepted: return "The connection has written it to the network.";
        case Milestone::delivered: return "The client acknowledged it.";
        case Milestone::decryption_error:
            return "The client could not decrypt it (code 101): the sender's keys are wrong.";
        case Milestone::not_delivered: return "The client could not hand it to its app (code 102).";
        case Milestone::expired: return "Its TTL ended.";
        case Milestone::errored: return "It failed for good.";
        case Milestone::replaced: return "A newer message of the same Topic took its place.";
        case Milestone::deleted: return "Its sender deleted it.";
    }
    return "";
}

std::string verdict_words(TraceOutcome outcome, Timestamp expires) {
    switch (outcome) {
        case TraceOutcome::unknown:
        case TraceOutcome::finished: break;
        case TraceOutcome::waiting:
            return "It waits: the log has no acknowledgement of it. Its TTL ends at " +
                   core::time_text(expires) + ".";
        case TraceOutcome::overdue:
            return "Its TTL ended at " + core::time_text(expires) +
                   " and its home has not finished it yet: it is not delivered any more, and the "
                   "home finishes it when it next drains the client's messages.";
    }
    return "";
}

std::string unknown_words(Timestamp made, Timestamp now) {
    const auto age = std::chrono::duration_cast<std::chrono::hours>(now - made).count();
    return "The log has nothing of it. By the clock of its endpoint's host it was made at " +
           core::time_text(made) +
           (made > now ? ", which is later than now" : " (" + std::to_string(age) + " h ago)") +
           ": either its sender was not answered 201, or it is finished and the log's "
           "compaction has removed it since (history_window).";
}

std::string not_sought_words(Timestamp made, core::Duration window) {
    return "Whether the log has it is not known: it was not found within " +
           std::to_string(std::chrono::floor<std::chrono::minutes>(window).count()) +
           " minutes of " + core::time_text(made) +
           ", when it was made by the clock of its endpoint's host, and there was no time to read "
           "the rest of the partition.";
}

std::string steps_text(const MessageTrace& trace) {
    std::string out;
    const auto begin = begin_of(trace);
    for (const auto& step : trace.steps) {
        out += "\n" + core::time_text(step.at) + since_text(step.at, begin) + "  " + step.topic +
               "/" + std::to_string(step.partition) +
               (step.offset ? "@" + std::to_string(*step.offset) : "") + "  " + step.what +
               "\n    " + step.why;
    }
    return out + (trace.steps.empty() ? "" : "\n");
}

Json trace_json(const MessageTrace& trace) {
    Json out{{"message", core::log_name(trace.message.key)},
             {"client", core::log_name(trace.message.uaid)},
             {"partition", trace.partition}};
    out["reliability_id"] = trace.reliability_id ? Json(*trace.reliability_id) : Json(nullptr);
    out["outcome"] = to_string(trace.outcome);
    out["verdict"] = trace.verdict;
    out["steps"] = json_of(trace.steps);
    return out;
}

Json trace_json(const ClientTrace& trace) {
    Json out{{"client", core::log_name(trace.client)}, {"partition", trace.partition}};
    out["cut"] = trace.cut;
    out["steps"] = json_of(trace.steps);
    return out;
}

}  // namespace beckon::inspect
