#pragma once

#include "core/result.hpp"
#include "net/peer_address.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The PROXY protocol, versions 1 (text) and 2 (binary): the header that a proxy which passes
/// connections on unread writes before the client's first byte, so that we know the client's
/// address (https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt).
namespace beckon::net {

struct ProxyHeader {
    std::size_t bytes = 0;  ///< of the header itself; the client's bytes follow
    /// nullopt: the proxy speaks for itself (a health check), or does not know.
    std::optional<PeerAddress> client;
    bool operator==(const ProxyHeader&) const = default;
};

/// Why a connection that must begin with such a header is closed.
enum class ProxyFault : std::uint8_t {
    missing,    ///< it begins with something else
    malformed,  ///< it begins like one and is none
    too_long,   ///< more than kProxyHeaderMax
    late,       ///< it was not complete in time
    ended,      ///< the connection ended, or broke, before it was complete
};
/// For log lines and metric labels.
std::string_view to_string(ProxyFault fault);

/// Version 1 has at most 107 bytes; version 2 may carry extensions, which we pass over.
inline constexpr std::size_t kProxyHeaderMax = 4'096;

/// The header that `bytes` begin with; nullopt: it is incomplete, and all of `bytes` belongs to it.
/// Pure.
tl::expected<std::optional<ProxyHeader>, ProxyFault> parse_proxy_header(std::string_view bytes);

/// Reads the header of one socket, and not one byte more. No loop, no waiting: call read() whenever
/// the socket is readable.
class ProxyHeaderReader {
public:
    /// `socket` is non-blocking and is not owned. nullopt: more must come.
    tl::expected<std::optional<ProxyHeader>, ProxyFault> read(int socket);

private:
    std::string bytes_;  ///< at most kProxyHeaderMax
};

}  // namespace beckon::net
