#include "ops/ops_handler.hpp"

#include "core/contain.hpp"
#include "core/json_text.hpp"
#include "net/http/http_message.hpp"
#include "ops/metric_names.hpp"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::ops {

namespace {

using net::HttpReply;
using net::Method;

HttpReply text_reply(int status, std::string body) {
    return net::reply_of(status, "text/plain; charset=utf-8", std::move(body));
}

HttpReply json_reply(int status, const nlohmann::ordered_json& body) {
    return net::json_reply(status, core::json_text(body));
}

HttpReply report_reply(bool good, const Health::Report& report, const std::string& version) {
    nlohmann::ordered_json body;
    body["status"] = report.ready ? "OK" : "ERROR";
    body["version"] = version;
    if (!report.faults.empty()) body["faults"] = report.faults;
    if (!report.warnings.empty()) body["warnings"] = report.warnings;
    return json_reply(good ? 200 : 503, body);
}

/// Nothing where the caller may ask.
std::optional<HttpReply> refusal_of(net::Caller caller) {
    switch (caller) {
        case net::Caller::good: return std::nullopt;
        case net::Caller::foreign_host:
            return text_reply(421,
                              "this port listens on this host alone (ops.host) and answers only "
                              "to localhost and loopback addresses\n");
        case net::Caller::foreign_site:
            return text_reply(403, "the page of another site may not ask this\n");
    }
    return std::nullopt;
}

HttpReply not_found_reply() { return text_reply(404, "there is nothing at this path\n"); }

HttpReply page_reply(Page page) {
    return net::reply_of(page.status, std::move(page.type), std::move(page.body));
}

}  // namespace

OpsHandler::OpsHandler(const OpsConfig& config, const Metrics& metrics, const Health& health,
                       Mounts& mounts, core::Executor& loop)
    : version_(config.version),
      hosts_(net::names_this_host(config.host) ? net::Hosts::this_host : net::Hosts::any),
      metrics_(metrics),
      health_(health),
      mounts_(mounts),
      lifetime_(loop) {}

void OpsHandler::handle(net::ExchangePtr exchange) {
    const auto& request = exchange->request();
    if (auto refused = refusal_of(net::judge_caller(request, hosts_))) {
        return exchange->reply(std::move(*refused));
    }
    const bool reads = request.method == Method::get && !request.body_too_large;
    if (!reads || !mounts_.is_late(request.target)) return exchange->reply(answer(request));
    if (late_.size() >= kLateMax) return exchange->reply(text_reply(503, "too many at once\n"));
    const auto id = ++last_late_;
    late_.emplace(id, std::move(exchange));
    if (core::contain("ops", [&] { mounts_.answer_late(request, promise(id)); })) return;
    const auto waiting = late_.extract(id);
    if (waiting) waiting.mapped()->reply(rejection(net::Rejection::failed));
}

HttpReply OpsHandler::rejection(net::Rejection why) {
    const auto [status, text] = net::rejection_text(why);
    return text_reply(status, std::string{text} + "\n");
}

/// The exchange stays here, since it belongs to this thread, until its page comes.
PageDone OpsHandler::promise(std::uint64_t id) {
    return [this, id, to_loop = lifetime_.remote()](Page page) {
        to_loop.post([this, id, page = std::move(page)]() mutable {
            const auto waiting = late_.extract(id);
            if (waiting) waiting.mapped()->reply(page_reply(std::move(page)));
        });
    };
}

HttpReply OpsHandler::answer(const net::HttpRequest& request) const {
    if (request.method != Method::get) {
        auto reply = text_reply(405, "only GET and HEAD\n");
        reply.add("Allow", "GET");
        return reply;
    }
    if (request.body_too_large) return text_reply(413, "no body is read here\n");
    return route(request.target);
}

HttpReply OpsHandler::route(std::string_view target) const {
    const auto path = net::split_target(target).path;
    if (path == "/metrics") return metrics_reply();
    if (path == "/__version__") return json_reply(200, {{"version", version_}});
    const auto report = health_.report();
    if (path == "/ready" || path == "/__heartbeat__") {
        return report_reply(report.ready, report, version_);
    }
    if (path == "/live" || path == "/__lbheartbeat__") {
        return report_reply(report.live, report, version_);
    }
    auto page = mounts_.answer(target);
    return page ? page_reply(std::move(*page)) : not_found_reply();
}

HttpReply OpsHandler::metrics_reply() const {
    const auto of_parts = mounts_.metrics();
    WrittenSeries written;
    written.begin(metric::kReady,
                  "1 while this part of the process is ready, 0 while it is not; /ready says why.");
    for (const auto& [part, why] : health_.report().parts) {
        written.add({{"part", part}}, why.empty() ? 1 : 0);
    }
    written.begin(
        metric::kFailedRequests,
        "Requests and tasks that their own code ended with an exception, by loop or port.",
        prometheus::MetricType::Counter);
    for (const auto& [place, count] : core::thrown_by_place()) {
        written.add({{"place", place}}, static_cast<double>(count));
    }
    return net::reply_of(200, "text/plain; version=0.0.4; charset=utf-8",
                         metrics_.text() + written.text() + of_parts);
}

}  // namespace beckon::ops
