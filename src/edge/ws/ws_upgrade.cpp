#include "core/ascii.hpp"
#include "edge/ws/ws_server_impl.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <prometheus/counter.h>

namespace beckon::edge {

namespace {

/// As lws has the names of headers that it does not know: it keeps those, too.
constexpr std::string_view kForwarded = "forwarded:";
constexpr std::string_view kXForwardedFor = "x-forwarded-for:";
/// No real list of proxies is longer; then the proxy's own address counts.
constexpr std::size_t kForwardedMax = 512;
/// Scheme and authority of a target in absolute form: no name is longer (RFC 1035 §2.3.4).
constexpr std::size_t kAuthorityMax = 512;

std::optional<std::string> header(lws* wsi, std::string_view name) {
    std::string value(kForwardedMax, '\0');
    const int size = name == kXForwardedFor
                         ? lws_hdr_copy(wsi, value.data(), static_cast<int>(value.size()),
                                        WSI_TOKEN_X_FORWARDED_FOR)
                         : lws_hdr_custom_copy(wsi, value.data(), static_cast<int>(value.size()),
                                               name.data(), static_cast<int>(name.size()));
    if (size <= 0) return std::nullopt;
    value.resize(static_cast<std::size_t>(size));
    return value;
}

/// RFC 6455 §4.2.1: compared without regard to case.
bool names_websocket(std::string_view protocol) {
    constexpr std::string_view kName = "websocket";
    return std::equal(protocol.begin(), protocol.end(), kName.begin(), kName.end(),
                      [](char given, char wanted) { return (given | 0x20) == wanted; });
}

/// A head that a proxy in front of us may end elsewhere than we do. Nothing that this port serves
/// has a body, and a request names one host (RFC 9112 §3.2, §6.1).
bool reads_in_two_ways(lws* wsi) {
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0) return true;
    if (lws_hdr_fragment_length(wsi, WSI_TOKEN_HOST, 1) > 0) return true;
    const int size = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH);
    std::array<char, 2> length{};
    return size > 1 ||
           (size == 1 && (lws_hdr_copy(wsi, length.data(), static_cast<int>(length.size()),
                                       WSI_TOKEN_HTTP_CONTENT_LENGTH) != 1 ||
                          length[0] != '0'));
}

/// The path of a target in origin or absolute form (RFC 9112 §3.2.2), of whose slashes lws makes
/// one where several stand together.
std::string_view path_of(std::string_view target) {
    const auto scheme = target.find(":/");
    if (target.starts_with('/') || scheme == std::string_view::npos) return target;
    const auto authority = target.find_first_not_of('/', scheme + 1);
    const auto path = authority == std::string_view::npos ? authority : target.find('/', authority);
    return path == std::string_view::npos ? "/" : target.substr(path);
}

constexpr std::size_t kSubprotocolListMax = 127;  // lws: EOF without an answer above it

}  // namespace

int WsServer::Impl::http(lws* wsi, std::string_view path) {
    if (reads_in_two_ways(wsi)) return reply(wsi, plain_reply(400));
    return reply(wsi, monitor_reply(path, monitor()));
}

/// Writes the answer and lets lws close the connection.
int WsServer::Impl::reply(lws* wsi, const HttpReply& what) {
    const std::string wire = to_wire(what);
    scratch.resize(std::max(scratch.size(), LWS_PRE + wire.size()));
    std::memcpy(scratch.data() + LWS_PRE, wire.data(), wire.size());
    lws_write(wsi, scratch.data() + LWS_PRE, wire.size(), LWS_WRITE_HTTP_FINAL);
    return -1;
}

int WsServer::Impl::confirm_upgrade(Connection& c, std::string_view protocol) {
    if (!names_websocket(protocol)) return -1;  // h2c
    if (reads_in_two_ways(c.wsi)) return reply(c.wsi, plain_reply(400));
    std::array<char, kAuthorityMax + WsServerOptions::kPathMax + 1> target{};
    const int size = lws_hdr_copy(c.wsi, target.data(), target.size(), WSI_TOKEN_GET_URI);
    if (size < 0 || options.path != path_of(target.data())) return reply(c.wsi, plain_reply(404));
    if (!is_allowed_origin(c.wsi)) {
        metrics.refused_origin->Increment();
        return reply(c.wsi, plain_reply(403));
    }
    if (const auto refusal = choose_subprotocol(c.wsi)) return reply(c.wsi, *refusal);
    if (admit(c)) return 0;
    metrics.refused_full->Increment();
    return reply(c.wsi, full_reply());
}

/// Browsers name the page that opens a WebSocket. Other clients may leave it out or lie, so this
/// keeps away pages alone.
bool WsServer::Impl::is_allowed_origin(lws* wsi) const {
    if (options.allowed_origins.empty()) return true;
    const int size = lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN);
    if (size <= 0) return true;
    std::string origin(static_cast<std::size_t>(size) + 1, '\0');
    if (lws_hdr_copy(wsi, origin.data(), static_cast<int>(origin.size()), WSI_TOKEN_ORIGIN) < 0) {
        return false;
    }
    origin.resize(static_cast<std::size_t>(size));
    const auto& allowed = options.allowed_origins;
    return std::find(allowed.begin(), allowed.end(), origin) != allowed.end();
}

/// Counts the client. From here on a connection of a trusted proxy counts as that of the address
/// which the proxy names.
bool WsServer::Impl::admit(Connection& c) {
    if (c.peer.exempt) {
        const auto client = options.proxies->client_of(c.peer.address, header(c.wsi, kForwarded),
                                                       header(c.wsi, kXForwardedFor));
        admission.socket_gone(c.peer);
        c.peer = {.address = client, .exempt = options.proxies->contains(client)};
        c.socket_counted = admission.admit_socket(c.peer);
        if (!c.socket_counted) return false;
    }
    c.client_counted = admission.admit_client(c.peer);
    return c.client_counted;
}

/// Accepts every offered subprotocol: protocols[0] takes its name.
std::optional<HttpReply> WsServer::Impl::choose_subprotocol(lws* wsi) {
    std::string_view chosen = kSubprotocol;
    std::array<char, kSubprotocolListMax + 1> list{};
    const int total = lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL);
    if (total > 0) {
        const int size = lws_hdr_copy(wsi, list.data(), list.size(), WSI_TOKEN_PROTOCOL);
        if (size < 0) return plain_reply(400);
        std::string_view rest{list.data(), static_cast<std::size_t>(size)};
        std::string_view first;
        bool ours = false;
        while (!rest.empty()) {
            const auto comma = rest.find(',');
            const auto name = core::trimmed(rest.substr(0, comma));
            if (name.size() > kSubprotocolNameMax) return plain_reply(400);
            if (first.empty()) first = name;
            ours |= name == kSubprotocol;
            rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
        }
        if (first.empty()) return plain_reply(400);
        if (!ours) chosen = first;
    }
    std::memcpy(protocol_name.data(), chosen.data(), chosen.size());
    protocol_name[chosen.size()] = '\0';
    return std::nullopt;
}

}  // namespace beckon::edge
