#include "edge/ws/monitor_routes.hpp"

#include "edge/protocol/frames.hpp"

namespace beckon::edge {

namespace {

constexpr int kRetryAfterSeconds = 30;

/// `{"status":…,"version":…` with the brace left open.
std::string opened(const MonitorStatus& status) {
    std::string body = R"({"status":)";
    body += status.why.empty() ? R"("OK")" : R"("ERROR")";
    body += R"(,"version":)";
    append_json_string(body, status.version);
    return body;
}

}  // namespace

HttpReply monitor_reply(std::string_view path, const MonitorStatus& status) {
    if (path == "/__lbheartbeat__") return {};
    if (path == "/__version__") {
        std::string body = R"({"build":"","commit":)";
        append_json_string(body, status.commit);
        body += R"(,"source":"","version":)";
        append_json_string(body, status.version);
        return net::json_reply(200, body + "}");
    }
    if (path == "/status") {
        std::string body = opened(status);
        if (!status.why.empty()) {
            body += R"(,"error":)";
            append_json_string(body, status.why);
        }
        return net::json_reply(200, body + "}");
    }
    if (path == "/health" || path == "/__heartbeat__") {
        return net::json_reply(
            200, opened(status) + R"(,"connections":)" + std::to_string(status.connections) + "}");
    }
    if (path == "/__error__" || path == "/v1/err/crit") {
        return net::json_reply(418, R"({"code":418,"errno":999,"error":"LogCheck"})");
    }
    if (path == "/") return upgrade_required_reply();
    return plain_reply(404);
}

HttpReply full_reply() {
    auto reply = plain_reply(503);
    reply.add("Retry-After", std::to_string(kRetryAfterSeconds));
    return reply;
}

HttpReply upgrade_required_reply() {
    auto reply = net::reply_of(426, "text/plain", "This is a WebSocket port for push clients.\n");
    reply.add("Upgrade", "websocket");
    return reply;
}

HttpReply header_too_large_reply() {
    return net::reply_of(431, "text/plain", "The header is too large.\n");
}

HttpReply plain_reply(int status) { return {.status = status, .headers = {}, .body = {}}; }

std::string to_wire(const HttpAnswer& answer) {
    std::string out;
    net::append_reply(out, answer.reply, {.close = true, .head = answer.head});
    return out;
}

}  // namespace beckon::edge
