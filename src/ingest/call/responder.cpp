#include "ingest/call/responder.hpp"

#include "core/ascii.hpp"
#include "core/contain.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"

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
    return wanted && core::is_http_token(*wanted);
}

Route route_of(const HttpRequest& request) {
    if (!is_preflight(request)) return find_route(request.method, request.target);
    Route route;
    route.name = RouteName::preflight;
    return route;
}

void add_cors(const HttpRequest& request, HttpReply& reply) {
    if (const auto origin = request.headers.get(HeaderName::origin)) {
        reply.add("Access-Control-Allow-Origin", std::string{*origin});
        reply.add("Access-Control-Expose-Headers", "Location, Link, TTL");
    }
    reply.add("Vary", std::string{kVary});
}

}  // namespace

CallPtr Responder::begin(ExchangePtr exchange) {
    const CallPtr call{new Call, [this, term = lifetime_.term()](Call* ended) {
                           std::unique_ptr<Call> owner{ended};
                           if (!ended->answered && ended->exchange && !term.over()) {
                               abandoned(std::move(owner));
                           }
                       }};
    call->exchange = std::move(exchange);
    call->began = shared_.clock.mono();
    const auto& request = call->request();
    const auto& headers = request.headers;
    shared_.requests_open.fetch_add(1, std::memory_order_relaxed);
    call->peer = shared_.proxies.client_of(request.peer, headers.get(HeaderName::forwarded),
                                           headers.get(HeaderName::x_forwarded_for));
    call->claimed = shared_.proxies.claimed_client(request.peer, headers.get(HeaderName::forwarded),
                                                   headers.get(HeaderName::x_forwarded_for));
    if (call->claimed) warn_of_unnamed_proxy(*call);
    call->route = route_of(request);
    return call;
}

/// Once: a client without a proxy can cause it with a header.
void Responder::warn_of_unnamed_proxy(const Call& call) {
    if (shared_.proxy_warned.exchange(true, std::memory_order_relaxed)) return;
    core::log_warn("ingest", "proxy_not_named",
                   {{"peer", to_string(call.peer)},
                    {"effect", "limits per address count all clients behind it as one"},
                    {"remedy", "name it in endpoint.trusted_proxies"}});
}

void Responder::published(const core::Result<log::Appended>& appended) {
    if (!shared_.log_watch) return;
    shared_.log_watch->published(appended ? std::nullopt : std::optional{appended.error()});
}

void Responder::finish(const CallPtr& call, HttpReply reply) {
    add_cors(call->request(), reply);
    const auto seconds = seconds_between(call->began, shared_.clock.mono());
    log_request(*call, reply.status, seconds);
    call->answered = true;
    shared_.requests_open.fetch_sub(1, std::memory_order_relaxed);
    shared_.metrics.answered(call->route.name, reply.status, seconds);
    call->exchange->reply(std::move(reply));
}

void Responder::abandoned(const CallPtr& call) {
    core::contain("endpoint", [&] { refuse(call, {Problem::internal, {}, 0}); });
    call->answered = true;
}

void Responder::refuse(const CallPtr& call, const Failure& failure) {
    shared_.metrics.refused(failure.problem);
    auto reply = error_reply(failure);
    if (failure.problem == Problem::method_not_allowed) {
        reply.add("Allow", std::string{call->route.allow});
    }
    call->problem = failure.problem;
    if (call->route.name == RouteName::send && call->request().method == Method::post) {
        shared_.refused->add(call->peer,
                             {.endpoint = cluster::refused_name(call->route.arguments[0]),
                              .at = shared_.clock.wall(),
                              .status = reply.status,
                              .problem = std::string{to_string(failure.problem)},
                              .message = std::string{text_of(failure)}});
    }
    finish(call, std::move(reply));
}

/// Never the target or a header: a reader with an endpoint URL or a token can send.
void Responder::log_request(const Call& call, int status, double seconds) const {
    if (!core::log_enabled(core::LogLevel::debug)) return;
    core::log_debug("ingest", "request",
                    {{"method", call.request().head ? "HEAD" : to_string(call.request().method)},
                     {"route", to_string(call.route.name)},
                     {"status", status},
                     {"us", static_cast<std::int64_t>(seconds * 1e6)},
                     {"body_bytes", call.request().body.size()},
                     {"peer", to_string(call.peer)},
                     {"client", call.client ? core::log_name(*call.client) : std::string{"-"}},
                     {"problem", call.problem ? to_string(*call.problem) : "-"}});
}

}  // namespace beckon::ingest
