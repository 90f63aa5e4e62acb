#include "ingest/service.hpp"

#include "bridge/message.hpp"
#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "core/milestone.hpp"
#include "ingest/api/http.hpp"
#include "ingest/receipts/receipt_replies.hpp"
#include "ingest/send/matrix_gateway.hpp"
#include "log/checked_publisher.hpp"
#include "net/http/http_message.hpp"
#include "ops/health.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::ingest {

namespace {

HttpReply json_reply(const nlohmann::json& body) {
    return net::json_reply(200, core::json_text(body));
}

nlohmann::json table(bool good, std::string_view cause) {
    if (good) return {{"status", "OK"}};
    return {{"status", "NOT OK"}, {"cause", cause}};
}

/// In the reference's words.
std::string tracking_text(const std::vector<std::string>& keys) {
    if (keys.empty()) return "NO_TRACKING_KEYS";
    std::string text = "OK: " + keys.front();
    for (std::size_t i = 1; i < keys.size(); ++i) text += "," + keys[i];
    return text;
}

/// 200 also when unhealthy: the body has the state. Probes ask the ops port.
HttpReply health_reply(const ServiceShared& shared) {
    const auto& config = shared.config;
    const auto report = shared.health.report();
    const bool healthy = report.ready && report.live;
    std::string causes;
    for (const auto& [part, why] : report.faults) {
        if (!causes.empty()) causes += "; ";
        causes.append(part).append(": ").append(why);
    }
    const bool view = shared.view.ready();
    const bool apns = !config.apns_channels.empty();
    const bool fcm = !config.fcm_app_ids.empty();
    nlohmann::json body{
        {"status", healthy && view ? "OK" : "ERROR"},
        {"version", config.version},
        {"router_table", table(view, "the subscriptions are still being read")},
        {"message_table", table(healthy, causes)},
        {"routers", {{"apns", apns && config.bridges.apns}, {"fcm", fcm && config.bridges.fcm}}},
        {"reliability", {{"Ok", tracking_text(config.tracked_names)}}},
        {"request_count", shared.requests_open.load()},
    };
    if (apns || fcm) {
        body["bridged_delivery"] =
            table((!apns || config.bridges.apns) && (!fcm || config.bridges.fcm),
                  "messages of bridged clients get 503: no retry role delivers them");
    }
    return json_reply(body);
}

/// Calls `visit(name, count)` for each milestone of the original diagram, which tools of others
/// know: an end that is not in it counts as its `errored`.
template <class Visit>
void for_original_counts(const core::MilestoneCounts& counts, Visit visit) {
    using core::Milestone;
    for (const auto milestone : core::kAllMilestones) {
        if (milestone == Milestone::replaced || milestone == Milestone::deleted) continue;
        auto count = counts[milestone];
        if (milestone == Milestone::errored) {
            count += counts[Milestone::replaced] + counts[Milestone::deleted];
        }
        visit(core::to_string(milestone), count);
    }
}

/// `{"received":3,…}`, every milestone of the original diagram, with those that ended `replaced` or
/// `deleted` among `errored`; without counts `{"error":"No data"}`.
HttpReply milestone_counts_reply(const std::optional<core::MilestoneCounts>& counts) {
    if (!counts) return json_reply({{"error", "No data"}});
    nlohmann::json body = nlohmann::json::object();
    for_original_counts(*counts, [&](std::string_view name, std::uint64_t count) {
        body[std::string{name}] = count;
    });
    return json_reply(body);
}

/// The same counts as OpenMetrics, under the reference's name; without counts `# EOF` alone.
HttpReply milestone_metrics_reply(const std::optional<core::MilestoneCounts>& counts) {
    std::string text;
    if (counts) {
        text =
            "# HELP autopush_reliability Count of messages at given states.\n"
            "# TYPE autopush_reliability gauge\n";
        for_original_counts(*counts, [&](std::string_view name, std::uint64_t count) {
            text.append("autopush_reliability{state=\"").append(name);
            text.append("\"} ").append(std::to_string(count)).append("\n");
        });
    }
    return net::reply_of(200, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                         text + "# EOF\n");
}

HttpReply version_reply(const ServiceConfig& config) {
    return json_reply({{"version", config.version},
                       {"commit", config.commit},
                       {"source", config.source},
                       {"build", ""}});
}

Failure failure_of(net::Rejection why) {
    switch (why) {
        case net::Rejection::bad_request: return {Problem::bad_request, {}, 0};
        case net::Rejection::bad_host:
            return {Problem::bad_request, "A request must have exactly one Host header.", 0};
        case net::Rejection::header_too_large: return {Problem::header_too_large, {}, 0};
        case net::Rejection::too_slow: return {Problem::request_too_slow, {}, 0};
        case net::Rejection::too_many_connections:
            return {Problem::busy, "Too many connections; try again later.", 0};
        case net::Rejection::stopping: return {Problem::busy, {}, 0};
        case net::Rejection::failed: return {Problem::internal, {}, 0};
    }
    return {Problem::busy, {}, 0};
}

/// Checks records that have input of others in them.
core::Result<void> check_record(const log::TopicPartition& where, const core::RecordView& record) {
    if (where.topic != log::Topic::retry(0)) return log::check_core_record(where, record);
    const auto id = record.header(core::header::kId).value_or("");
    const auto message = bridge::parse_bridged(id, record.key, record.value.value_or(""));
    if (message) return {};
    return core::fail(core::Fault::invalid,
                      "its record could not be read again: " + message.error().message);
}

}  // namespace

Service::Service(ServiceShared& shared, log::EventLog& log, core::Executor& executor)
    : shared_(shared),
      responder_(shared),
      publisher_(std::make_unique<log::CheckedPublisher>(log.open_publisher(executor), executor,
                                                         &check_record)),
      tokens_(shared.keys),
      executor_(executor),
      sending_({shared, responder_, tokens_, *publisher_, executor}),
      registration_({shared, responder_, tokens_, *publisher_, executor}) {}

void Service::handle(ExchangePtr exchange) {
    const auto call = responder_.begin(std::move(exchange));
    if (const auto wait = shared_.requests.try_spend(call->peer, call->began)) {
        return responder_.refuse(call,
                                 {Problem::too_many_requests, {}, static_cast<int>(wait->count())});
    }
    dispatch(call);
}

HttpReply Service::rejection(net::Rejection why) {
    const auto failure = failure_of(why);
    shared_.metrics.refused(failure.problem);
    auto reply = error_reply(failure);
    reply.add("Vary", std::string{kVary});
    return reply;
}

void Service::dispatch(const CallPtr& call) {
    const auto& route = call->route;
    if (!route.method_allowed) {
        return responder_.refuse(call, {Problem::method_not_allowed, {}, 0});
    }
    switch (route.name) {
        case RouteName::send: return sending_.send(call);
        case RouteName::message: return sending_.delete_message(call);
        case RouteName::receipt: return poll_receipt(call);
        case RouteName::matrix: return notify_matrix(call);
        case RouteName::registrations:
        case RouteName::registration:
        case RouteName::subscriptions:
        case RouteName::subscription: return registration_.handle(call);
        case RouteName::status:
            return responder_.finish(
                call, json_reply({{"status", "OK"}, {"version", shared_.config.version}}));
        case RouteName::health:
        case RouteName::heartbeat: return responder_.finish(call, health_reply(shared_));
        case RouteName::lb_heartbeat: return responder_.finish(call, {});
        case RouteName::version: return responder_.finish(call, version_reply(shared_.config));
        case RouteName::errors: return responder_.finish(call, error_page());
        case RouteName::openapi:
            return responder_.finish(call, net::api_document_reply(net::endpoint_api_document()));
        case RouteName::milestones: return responder_.finish(call, milestones_reply(*call));
        case RouteName::milestone_metrics:
            return responder_.finish(call, milestone_metrics_reply(milestone_counts()));
        case RouteName::deliberate_error:
            core::log_error("ingest", "deliberate_error", {{"why", "asked for by a request"}});
            return responder_.refuse(call, {Problem::deliberate, {}, 0});
        case RouteName::preflight: return preflight(call);
        case RouteName::unknown: return responder_.refuse(call, {Problem::unknown_route, {}, 0});
    }
}

/// RFC 8030 §6.3, with long polling in place of server push.
void Service::poll_receipt(const CallPtr& call) {
    const auto& request = call->request();
    const std::string token{call->route.arguments[0]};
    const auto receipt = tokens_.open_receipt(token);
    if (!receipt) return responder_.refuse(call, {Problem::no_such_receipt, {}, 0});
    const auto after = parse_after(request.target);
    if (!after) return responder_.refuse(call, after.error());
    if (!shared_.receipts) return responder_.refuse(call, {Problem::not_ready, {}, 0});
    const core::Duration longest = shared_.config.receipt_wait;
    const auto wanted = preferences(request).wait;
    shared_.receipts->ask({.subscription = receipt->id,
                           .after = *after,
                           .wait = wanted ? std::min<core::Duration>(*wanted, longest) : longest,
                           .peer = call->peer.limit_key()},
                          executor_, [this, call, token, after = *after](const auto& page) {
                              if (!page) return responder_.refuse(call, page.error());
                              responder_.finish(
                                  call, outcomes_reply(shared_.config.origin, token, *page, after));
                          });
}

/// Each device's message takes the way of a POST to its endpoint URL, so all rules hold for it.
void Service::notify_matrix(const CallPtr& call) {
    if (!shared_.config.matrix_gateway) {
        return responder_.refuse(call, {Problem::unknown_route, {}, 0});
    }
    const auto& request = call->request();
    if (request.method != Method::post) return responder_.finish(call, matrix_discovery());
    // Nobody could deliver it, and a homeserver repeats a request that is refused for a day.
    if (request.body_too_large) {
        shared_.metrics.refused(Problem::body_too_large);
        return responder_.finish(call, MatrixReplies{}.reply());
    }
    auto pushes = parse_matrix(request.body, shared_.config.endpoint_origins);
    if (!pushes) return responder_.refuse(call, {Problem::bad_json, pushes.error().message, 0});
    struct Pending {
        MatrixReplies replies;
        std::size_t open = 0;
    };
    const auto pending = std::make_shared<Pending>();
    pending->open = pushes->size();
    for (auto& push : *pushes) {
        const auto done = [this, call, pending, pushkey = push.pushkey](int status) {
            pending->replies.add(pushkey, status);
            if (--pending->open == 0) responder_.finish(call, pending->replies.reply());
        };
        if (push.target.empty()) {
            shared_.metrics.refused(Problem::bad_endpoint);
            done(404);
            continue;
        }
        const auto message =
            responder_.begin(std::make_shared<MatrixExchange>(std::move(push), call->peer, done));
        if (message->route.name != RouteName::send) {
            responder_.refuse(message, {Problem::bad_endpoint, {}, 0});
            continue;
        }
        // A message of one that was let in is sent: the homeserver repeats all if one is refused.
        if (&push != &pushes->front()) shared_.requests.spend(call->peer, call->began);
        sending_.send(message);
    }
}

std::optional<core::MilestoneCounts> Service::milestone_counts() const {
    const auto* const source = shared_.config.milestone_counts;
    return source ? source->counts() : std::nullopt;
}

HttpReply Service::milestones_reply(const Call& call) const {
    const auto accept = call.request().headers.get(HeaderName::accept).value_or("");
    const bool metrics = accept.find("application/openmetrics-text") != std::string_view::npos;
    const auto counts = milestone_counts();
    return metrics ? milestone_metrics_reply(counts) : milestone_counts_reply(counts);
}

/// Any origin, four methods, any header (docs/protocol/http-api.md#browsers).
void Service::preflight(const CallPtr& call) {
    const auto& headers = call->request().headers;
    const auto wanted = parse_method(*headers.get(HeaderName::request_method));
    if (wanted != Method::del && wanted != Method::get && wanted != Method::post &&
        wanted != Method::put) {
        responder_.finish(
            call,
            net::reply_of(400, "text/plain; charset=utf-8",
                          "The requested method is not allowed; DELETE, GET, POST and PUT are."));
        return;
    }
    HttpReply reply;
    reply.add("Access-Control-Allow-Methods", "DELETE, GET, POST, PUT");
    if (const auto names = headers.get(HeaderName::request_headers)) {
        reply.add("Access-Control-Allow-Headers", std::string{*names});
    }
    reply.add("Access-Control-Max-Age", "3600");
    responder_.finish(call, std::move(reply));
}

}  // namespace beckon::ingest
