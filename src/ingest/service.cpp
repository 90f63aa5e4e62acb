#include "ingest/service.hpp"

#include "core/base64url.hpp"
#include "core/codec.hpp"
#include "core/logger.hpp"
#include "ingest/monitoring.hpp"
#include "ingest/registration/registration.hpp"
#include "ingest/service_call.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

namespace beckon::ingest {

namespace {

double seconds_between(core::MonoTime from, core::MonoTime to) {
    return std::chrono::duration<double>(to - from).count();
}

/// Has an Access-Control-Request-Method that is one (a token, RFC 9110 §9.1); any other OPTIONS is
/// an ordinary request.
bool is_preflight(const HttpRequest& request) {
    if (request.method != Method::options) return false;
    const auto wanted = request.headers.get(HeaderName::request_method);
    return wanted && !wanted->empty() &&
           std::all_of(wanted->begin(), wanted->end(), [](unsigned char c) {
               return std::isalnum(c) != 0 || std::string_view{"!#$%&'*+-.^_`|~"}.find(
                                                  static_cast<char>(c)) != std::string_view::npos;
           });
}

/// Stands for a client in logs: nobody can send with it, yet lines of one client can be told.
std::string hashed(const core::Uaid& uaid) {
    const auto digest =
        core::sha256({reinterpret_cast<const char*>(uaid.bytes.data()), uaid.bytes.size()});
    return core::hex({reinterpret_cast<const char*>(digest.data()), 8});
}

}  // namespace

Service::Service(ServiceShared& shared, log::EventLog& log, core::Executor& executor)
    : shared_(shared),
      executor_(executor),
      publisher_(log.open_publisher(executor)),
      tokens_(shared.keys),
      vapid_(shared.config.audiences, shared.config.vapid_cache_entries),
      registration_(std::make_unique<Registration>(*this)) {}

Service::~Service() = default;

void Service::handle(ExchangePtr exchange) {
    const auto call = std::make_shared<Call>();
    call->exchange = std::move(exchange);
    call->began = shared_.clock.mono();
    const auto& request = call->request();
    const auto& headers = request.headers;
    call->peer = shared_.proxies.client_of(request.peer, headers.get(HeaderName::forwarded),
                                           headers.get(HeaderName::x_forwarded_for));
    if (is_preflight(request)) {
        call->route.name = RouteName::preflight;
    } else {
        call->route = find_route(request.method, request.target);
    }
    shared_.requests_open.fetch_add(1, std::memory_order_relaxed);
    if (const auto wait = shared_.requests.try_spend(call->peer, call->began)) {
        refuse_with(call, {Problem::too_many_requests, {}, static_cast<int>(wait->count())});
        return;
    }
    dispatch(call);
}

void Service::dispatch(const CallPtr& call) {
    const auto& route = call->route;
    if (!route.method_allowed) {
        shared_.metrics.refused(Problem::method_not_allowed);
        auto reply = error_reply({Problem::method_not_allowed, {}, 0});
        reply.add("Allow", std::string{route.allow});
        finish(call, std::move(reply));
        return;
    }
    switch (route.name) {
        case RouteName::send: return send(call);
        case RouteName::message: return delete_message(call);
        case RouteName::registrations:
        case RouteName::registration:
        case RouteName::subscriptions:
        case RouteName::subscription: return registration_->handle(call);
        case RouteName::status:
        case RouteName::health:
        case RouteName::heartbeat:
        case RouteName::lb_heartbeat:
        case RouteName::version:
        case RouteName::errors: return finish(call, monitor(route.name));
        case RouteName::deliberate_error:
            core::log_error("ingest", "deliberate_error", {{"why", "asked for by a request"}});
            return refuse_with(call, {Problem::deliberate, {}, 0});
        case RouteName::preflight: return preflight(call);
        case RouteName::unknown: return refuse_with(call, {Problem::unknown_route, {}, 0});
    }
}

void Service::finish(const CallPtr& call, HttpReply reply) {
    add_cors(call->request(), reply);
    const auto seconds = seconds_between(call->began, shared_.clock.mono());
    shared_.requests_open.fetch_sub(1, std::memory_order_relaxed);
    shared_.metrics.answered(call->route.name, reply.status, seconds);
    log_request(*call, reply.status, seconds);
    call->exchange->reply(std::move(reply));
}

void Service::refuse_with(const CallPtr& call, const Failure& failure) {
    shared_.metrics.refused(failure.problem);
    finish(call, error_reply(failure));
}

void Service::deny(const CallPtr& call, Problem problem) {
    refuse_with(call, {shared_.view.can_deny() ? problem : Problem::not_ready, {}, 0});
}

/// Never the target or a header: whoever holds an endpoint URL or a token can send.
void Service::log_request(const Call& call, int status, double seconds) const {
    const auto level = shared_.config.log_requests ? core::LogLevel::info : core::LogLevel::debug;
    if (!core::log_enabled(level)) return;
    const auto client = call.addressed ? hashed(call.addressed->uaid) : std::string{"-"};
    core::log_line(level, "ingest", "request",
                   {{"method", to_string(call.request().method)},
                    {"route", to_string(call.route.name)},
                    {"status", status},
                    {"us", static_cast<std::int64_t>(seconds * 1e6)},
                    {"body_bytes", call.request().body.size()},
                    {"peer", to_string(call.peer)},
                    {"client", client}});
}

// --- sending

Checked<void> Service::may_verify(const net::PeerAddress& peer) const {
    const auto wait = shared_.failed_vapid.wait(peer, shared_.clock.mono());
    if (!wait) return {};
    return tl::unexpected<Failure>(
        Failure{Problem::too_many_requests,
                "Too many requests with an invalid VAPID token from this address.",
                static_cast<int>(wait->count())});
}

void Service::send(const CallPtr& call) {
    const bool authorized = call->request().headers.get(HeaderName::authorization).has_value();
    bool asked_vapid = false;
    const auto addressed =
        check_address(call->route, call->request(), tokens_, vapid_, shared_.clock.wall(), [&] {
            asked_vapid = true;
            return may_verify(call->peer);
        });
    if (authorized) {
        const bool verified_or_hit = addressed.has_value();
        if (asked_vapid || verified_or_hit) shared_.metrics.vapid(vapid_.last_outcome());
        if (asked_vapid && vapid_.last_outcome() == VapidOutcome::refused) {
            shared_.failed_vapid.spend(call->peer, shared_.clock.mono());
        }
        if (vapid_.cached() != vapid_cached_) {
            shared_.metrics.vapid_cached.Increment(static_cast<double>(vapid_.cached()) -
                                                   static_cast<double>(vapid_cached_));
            vapid_cached_ = vapid_.cached();
        }
    }
    if (!addressed) return refuse_with(call, addressed.error());
    call->addressed = *addressed;

    const auto known = destination_of(shared_.view.find(addressed->uaid, addressed->channel));
    if (known) return accept(call, *known);
    shared_.view.confirm(addressed->uaid, executor_, [this, call](const auto& confirmed) {
        if (!confirmed) return refuse_with(call, {Problem::not_ready, {}, 0});
        const auto& to = *call->addressed;
        const auto now_known = destination_of(shared_.view.find(to.uaid, to.channel));
        if (!now_known) return deny(call, Problem::no_such_subscription);
        accept(call, *now_known);
    });
}

void Service::accept(const CallPtr& call, Destination destination) {
    const auto parts = check_message(call->request(), shared_.config.message);
    if (!parts) return refuse_with(call, parts.error());
    publish(call, *parts, destination);
}

bool Service::reserve_bytes(std::size_t bytes) {
    const auto before = shared_.publish_bytes.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= shared_.config.publish_bytes_max) {
        shared_.metrics.publish_waiting.Increment();
        shared_.metrics.publish_waiting_bytes.Increment(static_cast<double>(bytes));
        return true;
    }
    shared_.publish_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
}

void Service::release_bytes(std::size_t bytes) {
    shared_.publish_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    shared_.metrics.publish_waiting.Decrement();
    shared_.metrics.publish_waiting_bytes.Decrement(static_cast<double>(bytes));
}

void Service::publish(const CallPtr& call, const MessageParts& parts, Destination destination) {
    const auto& request = call->request();
    const auto& to = *call->addressed;
    core::NotificationAccepted event;
    event.uaid = to.uaid;
    event.key = core::new_message_key(shared_.clock.wall());
    auto message_id = tokens_.seal_message({event.uaid, event.key});
    event.message_id = message_id;
    event.channel = to.channel;
    event.ttl_s = parts.ttl_s;
    event.topic = parts.topic;
    event.urgency = parts.urgency;
    if (parts.encryption) {
        event.encoding = parts.encryption->encoding;
        event.encryption = parts.encryption->encryption;
        event.crypto_key = parts.encryption->crypto_key;
    }
    event.traceparent = parts.traceparent;
    event.source = shared_.config.node.text;
    event.body = request.body;
    std::string reliability_id;
    const auto& tracked = shared_.config.tracked;
    if (to.sender &&
        std::find(tracked.begin(), tracked.end(), to.sender->key_sha256) != tracked.end()) {
        reliability_id = request.headers.get(HeaderName::message_id).value_or("");
        if (reliability_id.empty()) reliability_id = core::to_hex(core::random_uuid4());
        event.reliability_id = reliability_id;
    }

    const auto bytes = request.body.size();
    if (!reserve_bytes(bytes)) {
        return refuse_with(call,
                           {Problem::not_saved, "Too many bytes are waiting; try again later.", 0});
    }
    auto record = core::encode(event);
    log::TopicPartition where{log::Topic::kNotifications,
                              core::partition_of(event.uaid, shared_.config.partitions)};
    if (destination == Destination::bridge) {
        // A tier's key is the delivery subscription, so that one client's messages stay in order.
        where.topic = log::Topic::retry(0);
        record.key = core::to_hex(event.uaid);
    }
    const auto sent = shared_.clock.mono();
    publisher_->publish(
        where, std::move(record),
        [this, call, bytes, sent, ttl_s = parts.ttl_s,
         message_id = std::move(message_id)](const core::Result<log::Appended>& appended) {
            release_bytes(bytes);
            shared_.metrics.publish_seconds.Observe(seconds_between(sent, shared_.clock.mono()));
            if (!appended) return refuse_with(call, publish_failure(appended.error()));
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
            finish(call, std::move(reply));
        });
}

// --- the rest

void Service::delete_message(const CallPtr& call) {
    const auto message = tokens_.open_message(call->route.arguments[0]);
    if (!message) return refuse_with(call, {Problem::bad_message_id, {}, 0});
    if (!reserve_bytes(0)) return refuse_with(call, {Problem::busy, {}, 0});
    const core::NotificationFinished event{message->uaid, message->key, core::FinishReason::deleted,
                                           shared_.config.node.text};
    publisher_->publish(
        {log::Topic::kNotifications, core::partition_of(message->uaid, shared_.config.partitions)},
        core::encode(event), [this, call](const core::Result<log::Appended>& appended) {
            release_bytes(0);
            if (!appended) return refuse_with(call, log_failure(appended.error()));
            HttpReply reply;
            reply.status = 204;
            finish(call, std::move(reply));
        });
}

HttpReply Service::monitor(RouteName route) const {
    const auto& config = shared_.config;
    switch (route) {
        case RouteName::status: return status_reply(config.version);
        case RouteName::version: return version_reply(config.version, config.commit, config.source);
        case RouteName::lb_heartbeat: return {};
        case RouteName::errors: return error_page();
        case RouteName::health:
        case RouteName::heartbeat:
            return health_reply({.version = config.version,
                                 .report = shared_.health.report(),
                                 .view_ready = shared_.view.ready(),
                                 .apns = !config.apns_channels.empty(),
                                 .fcm = !config.fcm_app_ids.empty(),
                                 .requests = shared_.requests_open.load()});
        case RouteName::send:
        case RouteName::message:
        case RouteName::registrations:
        case RouteName::registration:
        case RouteName::subscriptions:
        case RouteName::subscription:
        case RouteName::deliberate_error:
        case RouteName::preflight:
        case RouteName::unknown: break;
    }
    return error_reply({Problem::internal, {}, 0});
}

void Service::add_cors(const HttpRequest& request, HttpReply& reply) const {
    if (const auto origin = request.headers.get(HeaderName::origin)) {
        reply.add("Access-Control-Allow-Origin", std::string{*origin});
    }
    reply.add("Vary", std::string{kVary});
}

/// docs/protocol/http-api.md#browsers: any origin, four methods, any header.
void Service::preflight(const CallPtr& call) {
    const auto& headers = call->request().headers;
    const auto wanted = parse_method(*headers.get(HeaderName::request_method));
    HttpReply reply;
    if (wanted != Method::del && wanted != Method::get && wanted != Method::post &&
        wanted != Method::put) {
        reply.status = 400;
        reply.add("Content-Type", "text/plain; charset=utf-8");
        reply.body = "The requested method is not allowed; DELETE, GET, POST and PUT are.";
        finish(call, std::move(reply));
        return;
    }
    reply.add("Access-Control-Allow-Methods", "DELETE, GET, POST, PUT");
    if (const auto names = headers.get(HeaderName::request_headers)) {
        reply.add("Access-Control-Allow-Headers", std::string{*names});
    }
    reply.add("Access-Control-Max-Age", "3600");
    finish(call, std::move(reply));
}

}  // namespace beckon::ingest
