#include "edge/ws/handshake.hpp"

#include "core/ascii.hpp"
#include "core/list_text.hpp"
#include "net/http/request_parser.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge {

namespace {

using net::HeaderName;
using net::HttpRequest;
using Refusal = tl::unexpected<HttpAnswer>;

constexpr std::string_view kVersion = "13";
/// Lengths above which lws ends a connection without an answer.
constexpr std::size_t kSubprotocolListMax = 126;
constexpr std::size_t kConnectionMax = 126;
constexpr std::size_t kExtensionsMax = 254;

Refusal refuse(HttpReply reply) { return Refusal{{.reply = std::move(reply)}}; }
Refusal refuse(int status, std::string_view why) {
    return refuse(net::reply_of(status, "text/plain", std::string{why} + "\n"));
}
Refusal too_large() { return refuse(header_too_large_reply()); }

/// The values of a header that is a list, on however many lines (RFC 9110 §5.3).
std::string list(const HttpRequest& request, std::string_view name) {
    std::string all;
    for (const auto& line : request.extra) {
        if (!core::equals_ignoring_case(line.name, name)) continue;
        if (!all.empty()) all += ", ";
        all += line.value;
    }
    return all;
}

bool names(std::string_view list, std::string_view wanted) {
    while (!list.empty()) {
        const auto one = core::trimmed(core::take_part(list, ','));
        if (core::equals_ignoring_case(one, wanted)) return true;
    }
    return false;
}

/// Of 16 bytes in base64 (RFC 6455 §4.1).
bool is_key(std::string_view key) {
    return key.size() == 24 && key.ends_with("==") &&
           core::is_alphanumeric(key.substr(0, 22), "+/");
}

/// The path of a target in origin or absolute form (RFC 9112 §3.2.2), also of "ws://…", of whose
/// slashes lws makes one where several stand together. Empty: it has another form.
std::string_view path_of(std::string_view target) {
    target = target.substr(0, target.find_first_of("?#"));
    const auto scheme = target.find(":/");
    if (target.starts_with('/')) return target;
    if (scheme == std::string_view::npos) return {};
    const auto authority = target.find_first_not_of('/', scheme + 1);
    const auto path = authority == std::string_view::npos ? authority : target.find('/', authority);
    return path == std::string_view::npos ? "/" : target.substr(path);
}

/// Every offer is accepted: ours if it is there, else the first. Empty: lws could not hold it.
std::string choose_subprotocol(std::string_view offered) {
    std::string_view chosen;
    bool fits = offered.size() <= kSubprotocolListMax;
    while (!offered.empty()) {
        const auto name = core::trimmed(core::take_part(offered, ','));
        fits &= name.size() <= kSubprotocolNameMax;
        if (chosen.empty() || name == kSubprotocol) chosen = name;
    }
    return std::string{fits ? chosen : ""};
}

/// Browsers name the page that opens a WebSocket. Other clients may leave it out or lie, so this
/// keeps away pages alone.
bool is_allowed_origin(const HttpRequest& request, const std::vector<std::string>& allowed) {
    if (allowed.empty() || request.headers.unreadable(HeaderName::origin)) return allowed.empty();
    const auto origin = request.headers.get(HeaderName::origin);
    return !origin || origin->empty() ||
           std::find(allowed.begin(), allowed.end(), *origin) != allowed.end();
}

std::optional<std::string> text_of(const HttpRequest& request, HeaderName name) {
    const auto value = request.headers.get(name);
    return value ? std::optional{std::string{*value}} : std::nullopt;
}

tl::expected<Handshake, HttpAnswer> judge_upgrade(const HttpRequest& request,
                                                  const HandshakeRules& rules) {
    if (path_of(request.target) != rules.path) return refuse(plain_reply(404));
    if (!is_allowed_origin(request, rules.allowed_origins)) return refuse(plain_reply(403));
    if (list(request, "sec-websocket-version") != kVersion) {
        auto reply = upgrade_required_reply();
        reply.add("Sec-WebSocket-Version", std::string{kVersion});
        return refuse(std::move(reply));
    }
    const auto connection = list(request, "connection");
    const auto offered = list(request, "sec-websocket-protocol");
    if (connection.size() > kConnectionMax ||
        list(request, "sec-websocket-extensions").size() > kExtensionsMax) {
        return too_large();
    }
    if (!names(connection, "upgrade")) {
        return refuse(400, "A WebSocket needs \"Connection: Upgrade\": does a proxy remove it?");
    }
    if (request.authority.empty()) return refuse(400, "A WebSocket needs a Host.");
    if (!is_key(list(request, "sec-websocket-key"))) {
        return refuse(400, "A WebSocket needs a Sec-WebSocket-Key of 16 bytes.");
    }
    Handshake handshake{.subprotocol = choose_subprotocol(offered),
                        .forwarded = text_of(request, HeaderName::forwarded),
                        .x_forwarded_for = text_of(request, HeaderName::x_forwarded_for)};
    if (offered.empty()) handshake.subprotocol = kSubprotocol;
    if (handshake.subprotocol.empty()) return refuse(400, "The list of subprotocols is too long.");
    return handshake;
}

tl::expected<Handshake, HttpAnswer> judge_request(const HttpRequest& request,
                                                  const HandshakeRules& rules) {
    if (request.method != net::Method::get) {
        auto reply = plain_reply(request.method == net::Method::options ? 204 : 405);
        reply.add("Allow", "GET");
        return refuse(std::move(reply));
    }
    const auto path = path_of(request.target);
    if (path.empty()) return refuse(plain_reply(400));
    // Another protocol is never chosen, and in HTTP/1.0 none is asked for (RFC 9110 §7.8).
    const bool upgrades = !request.http_1_0 && !request.head &&
                          core::equals_ignoring_case(list(request, "upgrade"), "websocket");
    return upgrades ? judge_upgrade(request, rules) : refuse(monitor_reply(path, rules.monitor()));
}

}  // namespace

std::optional<std::size_t> size_of_head(std::string_view bytes) {
    const auto begin = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
    for (auto end = bytes.find('\n', begin); end != std::string_view::npos;
         end = bytes.find('\n', end + 1)) {
        const auto next = bytes.substr(end + 1, 2);
        if (next.starts_with('\n')) return end + 2;
        if (next == "\r\n") return end + 3;
    }
    return std::nullopt;
}

tl::expected<Handshake, HttpAnswer> judge_head(std::string_view head, const HandshakeRules& rules) {
    using Status = net::RequestParser::Status;
    net::RequestParser parser{
        {.header_bytes_max = kHttpHeadMax, .body_bytes_max = 0, .extra_prefix = ""}};
    std::size_t used = 0;
    const auto status = parser.put(head, used);
    if (status == Status::header_too_large) return too_large();
    // Nothing that this port serves has a body, not even one of no chunks: a head with one may end
    // elsewhere for a proxy in front of us (RFC 9112 §6.1).
    if (status != Status::complete || used != head.size()) return refuse(plain_reply(400));
    auto judged = judge_request(parser.request(), rules);
    if (!judged) judged.error().head = parser.request().head;
    return judged;
}

}  // namespace beckon::edge
