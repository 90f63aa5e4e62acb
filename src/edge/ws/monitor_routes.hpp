#pragma once

#include "net/http/http_message.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// Plain HTTP on the WebSocket port (docs/protocol/client-protocol.md#plain-http-on-the-port):
/// monitoring routes, and a clear answer to requests without an upgrade. Pure.
namespace beckon::edge {

struct MonitorStatus {
    std::string version;
    std::string commit{};  ///< of the build; empty: not known
    std::string why{};     ///< the parts that are not ready; empty: all are
    std::size_t connections = 0;
};

using net::HttpReply;

/// The answer to a GET without an upgrade.
HttpReply monitor_reply(std::string_view path, const MonitorStatus& status);
/// The answer to an upgrade above the limits: come back later.
HttpReply full_reply();
/// 426: the port speaks WebSocket.
HttpReply upgrade_required_reply();
HttpReply header_too_large_reply();
HttpReply plain_reply(int status);

struct HttpAnswer {
    HttpReply reply;
    bool head = false;  ///< to HEAD
};

/// Status line, headers and body; HTTP/1.1, the connection is closed afterwards.
std::string to_wire(const HttpAnswer& answer);

}  // namespace beckon::edge
