#pragma once

#include "core/result.hpp"
#include "edge/ws/monitor_routes.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Judges every request of the WebSocket port by its head. libwebsockets ends a connection whose
/// request it does not like without an answer, so it gets those alone that it will upgrade; the
/// edge itself answers all others. Pure.
namespace beckon::edge {

/// The largest head of a request: libwebsockets ends a connection with a larger one.
inline constexpr std::size_t kHttpHeadMax = 16'384;
/// The subprotocol that Firefox offers.
inline constexpr std::string_view kSubprotocol = "push-notification";
inline constexpr std::size_t kSubprotocolNameMax = 63;  ///< lws: EOF without an answer above it

/// An opening handshake (RFC 6455 §4.2.1) that libwebsockets upgrades.
struct Handshake {
    std::string subprotocol;                 ///< the chosen one
    std::optional<std::string> forwarded{};  ///< the header
    std::optional<std::string> x_forwarded_for{};
};

struct HandshakeRules {
    std::string_view path;                            ///< where a WebSocket is opened
    const std::vector<std::string>& allowed_origins;  ///< empty: all
    const std::function<MonitorStatus()>& monitor;
};

/// The bytes to the end of the head, however its lines end; nullopt: the end has not come.
std::optional<std::size_t> size_of_head(std::string_view bytes);

/// `head` is whole. Otherwise: the answer.
tl::expected<Handshake, HttpAnswer> judge_head(std::string_view head, const HandshakeRules& rules);

}  // namespace beckon::edge
