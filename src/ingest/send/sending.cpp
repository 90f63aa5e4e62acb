#include "ingest/send/sending.hpp"

#include "bridge/message.hpp"
#include "bridge/payload.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "core/record.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/receipts/receipt_replies.hpp"
#include "records/events.hpp"
#include "records/subscription_gone.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <utility>

namespace beckon::ingest {

namespace {

constexpr std::string_view kNoFcm =
    "Messages of this client are not delivered: no bridge to FCM is configured.";
constexpr std::string_view kNoApns =
    "Messages of this client are not delivered: no bridge to APNs is configured.";
constexpr std::string_view kTooLarge = "The message is larger than the client's bridge allows.";

Checked<void> check_bridge(core::RouterType type, const ServiceConfig& config) {
    switch (type) {
        case core::RouterType::fcm:
            if (!config.bridges.fcm) return fail(Problem::not_bridged, kNoFcm);
            return {};
        case core::RouterType::apns:
            if (!config.bridges.apns) return fail(Problem::not_bridged, kNoApns);
            return {};
        case core::RouterType::webpush:
        case core::RouterType::webhook: break;
    }
    return fail(Problem::not_bridged);
}

/// Step 14 for a bridged client: the delivery for the role retry, if a retry role delivers for its
/// bridge. Failures in this order: not_bridged, no_such_subscription (no token), unknown_app_id or
/// unknown_channel, body_too_large. Pure.
Checked<core::Record> bridged_record(const core::NotificationAccepted& event, core::RouterType type,
                                     std::string_view router_data, const ServiceConfig& config) {
    if (const auto served = check_bridge(type, config); !served) return fail(served.error());
    auto to = bridge::recipient_of(type, router_data);
    if (!to) return fail(Problem::no_such_subscription);
    if (!config.knows_app(to->type, to->app)) {
        return fail(to->type == core::RouterType::fcm ? Problem::unknown_app_id
                                                      : Problem::unknown_channel);
    }
    const auto message = bridge::bridged_message(event, std::move(*to));
    if (!bridge::fits(message)) return fail(Problem::body_too_large, kTooLarge);
    return bridge::encode(message);
}

constexpr std::size_t kPublishedGone = 1'024;

/// Otherwise the record may stand in the log all the same, and be delivered.
bool certainly_not_there(const core::Error& error) {
    return error.fault == core::Fault::full || error.fault == core::Fault::too_large ||
           error.fault == core::Fault::not_found;
}

}  // namespace

Sending::Sending(const ServiceParts& parts)
    : shared_(parts.shared),
      responder_(parts.responder),
      tokens_(parts.tokens),
      publisher_(parts.publisher),
      executor_(parts.executor),
      vapid_(shared_.config.audiences, shared_.config.vapid_cache_entries),
      published_gone_(kPublishedGone) {}

// --- sender and receiver

Checked<void> Sending::may_verify(const Call& call) const {
    const auto wait = shared_.failed_vapid.wait({call.peer, call.claimed}, shared_.clock.mono());
    if (!wait) return {};
    return fail({Problem::too_many_requests,
                 "Too many requests with an invalid VAPID token from this address.",
                 static_cast<int>(wait->count())});
}

Checked<Addressed> Sending::check_sender(const CallPtr& call) {
    bool asked_vapid = false;
    auto ask = [&] {
        asked_vapid = true;
        return may_verify(*call);
    };
    const auto now = shared_.clock.wall();
    const auto opened = open_token(call->route, tokens_, now);
    if (!opened) return fail(opened.error());
    call->client = opened->token.uaid;
    // A reference, which a std::function holds without an allocation.
    auto addressed = check_address(*opened, call->request(), vapid_, now, std::ref(ask));
    if (!call->request().headers.get(HeaderName::authorization)) return addressed;
    if (asked_vapid || addressed) shared_.metrics.vapid(vapid_.last_outcome());
    if (asked_vapid && vapid_.last_outcome() == VapidOutcome::forged) {
        shared_.failed_vapid.add({call->peer, call->claimed}, shared_.clock.mono());
    }
    count_vapid();
    return addressed;
}

void Sending::count_vapid() {
    if (vapid_.cached() == vapid_cached_) return;
    shared_.metrics.vapid_cached.Increment(static_cast<double>(vapid_.cached()) -
                                           static_cast<double>(vapid_cached_));
    vapid_cached_ = vapid_.cached();
}

void Sending::send(const CallPtr& call) {
    const auto addressed = check_sender(call);
    if (!addressed) return responder_.refuse(call, addressed.error());
    const auto allowed = check_rules(*addressed);
    if (!allowed) return responder_.refuse(call, allowed.error());

    const auto known = subscription(*addressed);
    if (!known) return responder_.refuse(call, known.error());
    if (*known) return check_and_publish(call, *addressed, **known);
    shared_.view.confirm(addressed->uaid, executor_,
                         [this, call, to = *addressed](const auto& confirmed) {
                             send_if_confirmed(call, to, confirmed);
                         });
}

/// The rules of the operator about senders.
Checked<void> Sending::check_rules(const Addressed& to) const {
    if (!shared_.senders) return {};
    const auto vapid = to.sender ? std::optional{to.sender->key_sha256} : std::nullopt;
    const auto judged = shared_.senders->admit(to.uaid, to.channel, vapid, shared_.clock.mono());
    const bool of_key = judged.kind == core::SenderKind::vapid;
    switch (judged.answer) {
        case SenderGate::Answer::admitted: break;
        case SenderGate::Answer::blocked:
            return fail(Problem::sender_blocked,
                        of_key ? "The operator of this service has blocked this VAPID key."
                               : "The operator of this service has blocked this subscription.");
        case SenderGate::Answer::too_many:
            return fail({Problem::too_many_of_sender,
                         of_key ? "Too many messages of this VAPID key; try again later."
                                : "Too many messages for this subscription; try again later.",
                         static_cast<int>(judged.wait.count())});
    }
    return {};
}

/// The view has seen all that stood in the log when the request came, or could not.
void Sending::send_if_confirmed(const CallPtr& call, const Addressed& to,
                                const core::Result<void>& confirmed) {
    if (!confirmed) return responder_.refuse(call, {Problem::not_ready, {}, 0});
    const auto known = subscription(to);
    if (!known) return responder_.refuse(call, known.error());
    if (!*known) return refuse_gone(call, to);
    check_and_publish(call, to, **known);
}

void Sending::refuse_gone(const CallPtr& call, const Addressed& to) {
    publish_gone(*call, to);
    responder_.refuse(call, {Problem::no_such_subscription, {}, 0});
}

/// To the webhooks of the sender, which was authenticated, if it has any for this event. No reply
/// waits for it.
void Sending::publish_gone(const Call& call, const Addressed& to) {
    if (!to.sender) return;
    core::SenderId sender;
    std::copy_n(to.sender->key_sha256.begin(), sender.bytes.size(), sender.bytes.begin());
    auto owner = core::owner_name(sender);
    if (shared_.gone_wanted && !shared_.gone_wanted(owner)) return;
    auto path = call.request().target;
    path = path.substr(0, path.find_first_of("?#"));
    path.remove_prefix(std::min(path.find("/wpush/"), path.size()));  // absolute form
    const auto event =
        core::event_of(core::SubscriptionGone{.uaid = to.uaid,
                                              .channel = to.channel,
                                              .owner = std::move(owner),
                                              .endpoint = shared_.config.origin + std::string{path},
                                              .reason = core::GoneReason::answered_410});
    auto& reported = published_gone_[std::hash<std::string>{}(event.id) % published_gone_.size()];
    if (std::exchange(reported, event.id) == event.id) return;
    auto record = core::encode(event);
    const auto bytes = log::size_of(record);
    if (!shared_.publish_budget.reserve(bytes)) return;
    shared_.publish_budget.release_if_throws(bytes, [&] {
        publisher_.publish(
            {log::Topic::kEvents, core::partition_of(event, shared_.config.partitions)},
            std::move(record),
            [this, bytes](const auto&) { shared_.publish_budget.release(bytes); });
    });
}

/// nullopt: not known to the view. A view that could not be read proves nothing.
Checked<std::optional<Sending::Subscription>> Sending::subscription(const Addressed& to) const {
    auto found = shared_.view.find(to.uaid, to.channel);
    if (!found) return fail(Problem::not_ready);
    if (!destination_of(*found)) return std::optional<Subscription>{};
    return std::move(*found);
}

// --- the message

/// The sender's own id if it is one, else a random one. Empty: this sender's messages are not
/// tracked.
std::string Sending::reliability_id(const HttpRequest& request, const Addressed& to) const {
    const auto& tracked = shared_.config.tracked;
    if (!to.sender ||
        std::find(tracked.begin(), tracked.end(), to.sender->key_sha256) == tracked.end()) {
        return {};
    }
    const auto given = request.headers.get(HeaderName::message_id).value_or("");
    return core::is_reliability_id(given) ? std::string{given} : core::to_hex(core::random_uuid4());
}

Checked<std::optional<core::ReceiptRef>> Sending::receipt_wish(const HttpRequest& request,
                                                               const Addressed& to) const {
    std::optional<core::Sha256> sender;
    if (to.sender) sender = to.sender->key_sha256;
    return check_receipt(request, tokens_, shared_.config.endpoint_origins, sender);
}

/// A message that would be delivered late is not accepted. One of a bridge is for no edge.
void Sending::check_and_publish(const CallPtr& call, const Addressed& to,
                                const Subscription& client) {
    const bool bridged = destination_of(client) == Destination::bridge;
    const auto partition = core::partition_of(to.uaid, shared_.config.partitions);
    if (!bridged && shared_.edge_lag && shared_.edge_lag->is_behind(partition)) {
        return responder_.refuse(
            call, {Problem::busy, "Delivery is behind at present; try again later.", 0});
    }
    publish_message(call, to, client);
}

void Sending::publish_message(const CallPtr& call, const Addressed& to,
                              const Subscription& client) {
    const auto& request = call->request();
    const auto parts = check_message(request, {.ttl_max_s = shared_.config.ttl_max_s});
    if (!parts) return responder_.refuse(call, parts.error());
    auto receipt = receipt_wish(request, to);
    if (!receipt) return responder_.refuse(call, receipt.error());
    if (to.sender) shared_.busiest->add(to.sender->key_sha256, shared_.clock.mono());
    core::NotificationAccepted event;
    event.uaid = to.uaid;
    event.key = core::new_message_key(shared_.clock.wall());
    auto message_id = tokens_.seal_message({event.uaid, event.key});
    event.message_id = message_id;
    event.channel = to.channel;
    event.ttl_s = parts->ttl_s;
    event.topic = parts->topic;
    event.urgency = parts->urgency;
    if (parts->encryption) {
        event.encoding = parts->encryption->encoding;
        event.encryption = parts->encryption->encryption;
        event.crypto_key = parts->encryption->crypto_key;
    }
    event.traceparent = parts->traceparent;
    event.source = shared_.config.node.text;
    event.body = request.body;
    Tracked tracked{
        .id = reliability_id(request, to),
        .expires = shared_.clock.wall() + log_ahead_ + std::chrono::seconds{parts->ttl_s}};
    if (!tracked.id.empty()) event.reliability_id = tracked.id;

    const bool bridged = destination_of(client) == Destination::bridge;
    auto record =
        bridged ? bridged_record(event, client.router_type, client.router_data, shared_.config)
                : core::encode(event);
    if (!record) return responder_.refuse(call, record.error());
    std::string receipt_token;
    if (*receipt && !bridged) {  // a bridge does not report the client's outcome of a message
        record->headers.push_back({core::kReceiptHeader, core::to_text(**receipt)});
        receipt_token = tokens_.seal_receipt(**receipt);
    }
    const log::TopicPartition where{bridged ? log::Topic::retry(0) : log::Topic::kNotifications,
                                    core::partition_of(event.uaid, shared_.config.partitions)};
    publish(
        call, where, std::move(*record), publish_failure, std::move(tracked),
        [this, call, message_id = std::move(message_id), receipt_token = std::move(receipt_token),
         ttl_s = parts->ttl_s, uaid = event.uaid, key = event.key] {
            if (core::log_enabled(core::LogLevel::debug)) {
                core::log_debug("ingest", "message_accepted",
                                {{"message", core::log_name(key)},
                                 {"client", core::log_name(uaid)},
                                 {"ttl_s", ttl_s}});
            }
            auto reply = created(message_id, ttl_s);
            if (!receipt_token.empty()) {
                promise_receipt(reply, receipt_url(shared_.config.origin, receipt_token));
            }
            responder_.finish(call, std::move(reply));
        });
}

void Sending::publish(const CallPtr& call, log::TopicPartition where, core::Record record,
                      FailureOf failure_of, Tracked tracked, std::function<void()> published) {
    const auto bytes = log::size_of(record);
    if (!shared_.publish_budget.reserve(bytes)) {
        auto failure = failure_of({core::Fault::full, "the publish budget"});
        failure.detail = "Too much is waiting for the log; try again later.";
        return responder_.refuse(call, failure);
    }
    const auto sent = shared_.clock.mono();
    shared_.publish_budget.release_if_throws(bytes, [&] {
        reached(tracked, core::Milestone::received);
        publisher_.publish(
            where, std::move(record),
            [this, call, bytes, sent, failure_of, tracked = std::move(tracked),
             published = std::move(published)](const core::Result<log::Appended>& appended) {
                shared_.publish_budget.release(bytes);
                responder_.published(appended);
                if (!appended && certainly_not_there(appended.error())) {
                    reached(tracked, core::Milestone::errored);
                }
                shared_.metrics.publish_seconds.Observe(
                    std::chrono::duration<double>(shared_.clock.mono() - sent).count());
                if (!appended) return responder_.refuse(call, failure_of(appended.error()));
                log_ahead_ = appended->time - shared_.clock.wall();
                published();
            });
    });
}

void Sending::reached(const Tracked& message, core::Milestone milestone) const {
    if (message.id.empty() || !shared_.config.milestones) return;
    shared_.config.milestones->reached(message.id, message.expires, milestone);
}

HttpReply Sending::created(std::string_view message_id, std::uint32_t ttl_s) const {
    HttpReply reply;
    reply.status = 201;
    reply.headers.reserve(4);
    std::string location;
    location.reserve(shared_.config.origin.size() + 3 + message_id.size());
    location += shared_.config.origin;
    location += "/m/";
    location += message_id;
    reply.add("Location", std::move(location));
    reply.add("TTL", std::to_string(ttl_s));
    return reply;
}

void Sending::delete_message(const CallPtr& call) {
    const auto message = tokens_.open_message(call->route.arguments[0]);
    if (!message) return responder_.refuse(call, {Problem::bad_message_id, {}, 0});
    const core::NotificationFinished event{message->uaid, message->key, core::FinishReason::deleted,
                                           shared_.config.node.text};
    publish(
        call,
        {log::Topic::kNotifications, core::partition_of(message->uaid, shared_.config.partitions)},
        core::encode(event), log_failure, {}, [this, call] {
            HttpReply reply;
            reply.status = 204;
            responder_.finish(call, std::move(reply));
        });
}

}  // namespace beckon::ingest
