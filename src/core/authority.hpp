#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::core {

/// A host and perhaps a port, as a URL has them (RFC 3986 section 3.2, without user information).
struct Authority {
    std::string_view host;                 ///< as written: an IPv6 address has its brackets
    std::optional<std::string_view> port;  ///< as written, behind the colon; nullopt: there is none
};

/// Of `host`, `host:port`, `[IPv6]` and `[IPv6]:port`; nullopt: it is none of these. An IPv6
/// address without brackets is a host without a port. The views are of `text`. Any thread.
std::optional<Authority> split_authority(std::string_view text);

/// 1 to 65535; nullopt: it is anything else.
std::optional<std::uint16_t> parse_port(std::string_view text);

std::string_view without_brackets(std::string_view host);
/// Brackets around an IPv6 address that has none.
std::string with_brackets(std::string_view host);

/// An address that a process listens on, and that nothing can connect to: 0.0.0.0 or [::].
bool is_any_address(std::string_view host);
/// Where a process that listens on `host` and `port` is reached from its own machine:
/// "127.0.0.1:8080", "[::1]:8080", or "localhost:8080" for every address.
std::string local_authority(std::string_view host, std::uint16_t port);

}  // namespace beckon::core
