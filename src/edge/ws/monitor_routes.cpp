#include "edge/ws/monitor_routes.hpp"

#include "core/http_date.hpp"
#include "edge/protocol/frames.hpp"

namespace beckon::edge {

namespace {

constexpr std::string_view kJson = "application/json";
constexpr int kRetryAfterSeconds = 30;

std::string_view reason_of(int status) {
    switch (status) {
        case 200: return "OK";
        case 400: return "Bad Request";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 418: return "I'm a teapot";
        case 426: return "Upgrade Required";
        case 503: return "Service Unavailable";
        default: return "Error";
    }
}

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
        return {.content_type = kJson, .body = body + "}"};
    }
    if (path == "/status") {
        std::string body = opened(status);
        if (!status.why.empty()) {
            body += R"(,"error":)";
            append_json_string(body, status.why);
        }
        return {.content_type = kJson, .body = body + "}"};
    }
    if (path == "/health" || path == "/__heartbeat__") {
        return {.content_type = kJson,
                .body = opened(status) + R"(,"connections":)" + std::to_string(status.connections) +
                        "}"};
    }
    if (path == "/__error__" || path == "/v1/err/crit") {
        return {.status = 418,
                .content_type = kJson,
                .body = R"({"code":418,"errno":999,"error":"LogCheck"})"};
    }
    if (path == "/") {
        return {.status = 426,
                .content_type = "text/plain",
                .headers = "Upgrade: websocket\r\n",
                .body = "This is a WebSocket port for push clients.\n"};
    }
    return plain_reply(404);
}

HttpReply full_reply() {
    return {.status = 503,
            .headers = "Retry-After: " + std::to_string(kRetryAfterSeconds) + "\r\n"};
}

HttpReply plain_reply(int status) { return {.status = status}; }

std::string to_wire(const HttpReply& reply) {
    std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " ";
    out += reason_of(reply.status);
    out.append("\r\nDate: ").append(core::http_date_now());  // RFC 9110 §6.6.1
    out += "\r\nConnection: close\r\nContent-Length: " + std::to_string(reply.body.size()) + "\r\n";
    if (!reply.content_type.empty()) {
        out += "Content-Type: ";
        out += reply.content_type;
        out += "\r\n";
    }
    return out + reply.headers + "\r\n" + reply.body;
}

}  // namespace beckon::edge
