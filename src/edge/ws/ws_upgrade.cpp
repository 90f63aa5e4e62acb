#include "edge/ws/ws_server_impl.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <prometheus/counter.h>

namespace beckon::edge {

namespace {

/// No real value is longer; a longer one counts as absent.
constexpr std::size_t kValueMax = 512;

struct Line {
    lws_token_indexes token;
    std::string_view name;
};
/// The headers on which an answer depends.
constexpr Line kLines[]{
    {WSI_TOKEN_HOST, "Host"},
    {WSI_TOKEN_UPGRADE, "Upgrade"},
    {WSI_TOKEN_CONNECTION, "Connection"},
    {WSI_TOKEN_KEY, "Sec-WebSocket-Key"},
    {WSI_TOKEN_VERSION, "Sec-WebSocket-Version"},
    {WSI_TOKEN_PROTOCOL, "Sec-WebSocket-Protocol"},
    {WSI_TOKEN_EXTENSIONS, "Sec-WebSocket-Extensions"},
    {WSI_TOKEN_ORIGIN, "Origin"},
    {WSI_TOKEN_X_FORWARDED_FOR, "X-Forwarded-For"},
    {WSI_TOKEN_HTTP_TRANSFER_ENCODING, "Transfer-Encoding"},
    {WSI_TOKEN_HTTP_CONTENT_LENGTH, "Content-Length"},
};

void append_line(std::string& head, std::string_view name, std::string value, int size) {
    if (size < 0) return;
    value.resize(static_cast<std::size_t>(size));
    head.append(name).append(": ").append(value).append("\r\n");
}

/// The head of a request that lws has read, as far as lws has kept it.
std::string head_of(lws* wsi) {
    constexpr std::string_view kMethods[]{"GET",   "POST",   "OPTIONS", "PUT",
                                          "PATCH", "DELETE", "CONNECT", "HEAD"};
    char* target = nullptr;
    int size = 0;
    const int method = lws_http_get_uri_and_method(wsi, &target, &size);
    if (method < 0 || static_cast<std::size_t>(method) >= std::size(kMethods)) return {};
    std::string head{kMethods[method]};
    head.append(" ").append(target, static_cast<std::size_t>(size)).append(" HTTP/1.1\r\n");
    std::string value(kValueMax, '\0');
    const auto most = static_cast<int>(value.size());
    for (const auto& [token, name] : kLines) {
        for (int i = 0; lws_hdr_fragment_length(wsi, token, i) > 0; ++i) {
            append_line(head, name, value,
                        lws_hdr_copy_fragment(wsi, value.data(), most, token, i));
        }
    }
    constexpr std::string_view kForwarded = "forwarded:";
    append_line(head, "Forwarded", value,
                lws_hdr_custom_copy(wsi, value.data(), most, kForwarded.data(),
                                    static_cast<int>(kForwarded.size())));
    return head + "\r\n";
}

}  // namespace

/// Nothing: it is a handshake, and the connection has it.
std::optional<HttpAnswer> WsServer::Impl::judge(Connection& c, std::string_view head) {
    auto judged = judge_head(
        head,
        {.path = options.path, .allowed_origins = options.allowed_origins, .monitor = monitor});
    if (judged) {
        c.handshake = std::make_unique<Handshake>(std::move(*judged));
        return std::nullopt;
    }
    if (judged.error().reply.status == 403) metrics.refused_origin->Increment();
    return judged.error();
}

/// The head came in several TLS records: lws has read it, and found no upgrade.
int WsServer::Impl::http(Connection& c) {
    return reply(c.wsi, judge(c, head_of(c.wsi)).value_or(HttpAnswer{plain_reply(400)}));
}

int WsServer::Impl::confirm_upgrade(Connection& c) {
    if (!c.handshake) {  // the same
        if (const auto answer = judge(c, head_of(c.wsi))) return reply(c.wsi, *answer);
    }
    const auto& name = c.handshake->subprotocol;
    std::memcpy(protocol_name.data(), name.data(), name.size());
    protocol_name[name.size()] = '\0';
    if (admit(c)) return 0;
    metrics.refused_full->Increment();
    return reply(c.wsi, {full_reply()});
}

/// Writes the answer and lets lws close the connection.
int WsServer::Impl::reply(lws* wsi, const HttpAnswer& answer) {
    const std::string wire = to_wire(answer);
    scratch.resize(std::max(scratch.size(), LWS_PRE + wire.size()));
    std::memcpy(scratch.data() + LWS_PRE, wire.data(), wire.size());
    lws_write(wsi, scratch.data() + LWS_PRE, wire.size(), LWS_WRITE_HTTP_FINAL);
    return -1;
}

/// Counts the client. From here on a connection of a trusted proxy counts as that of the address
/// which the proxy names.
bool WsServer::Impl::admit(Connection& c) {
    if (c.peer.exempt) {
        const auto client = options.proxies->client_of(c.peer.address, c.handshake->forwarded,
                                                       c.handshake->x_forwarded_for);
        admission.socket_gone(c.peer);
        c.peer = {.address = client, .exempt = options.proxies->contains(client)};
        c.socket_counted = admission.admit_socket(c.peer);
        if (!c.socket_counted) return false;
    }
    c.client_counted = admission.admit_client(c.peer);
    return c.client_counted;
}

}  // namespace beckon::edge
