#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

namespace beckon::net {

/// An IP address as 16 bytes; IPv4 in its v4-mapped form.
struct PeerAddress {
    std::array<std::uint8_t, 16> bytes{};

    auto operator<=>(const PeerAddress&) const = default;

    bool is_v4() const;
    /// The unit of limits: an IPv4 address itself, the /64 of an IPv6 one, since a single host has
    /// a whole /64 to choose from.
    PeerAddress limit_key() const;
};

/// "192.0.2.1", "2001:db8::1", "[2001:db8::1]", each also with ":port" where that is unambiguous.
std::optional<PeerAddress> parse_address(std::string_view text);
std::string to_string(const PeerAddress& address);
/// The peer of an accepted socket; all zero for another kind of socket than IP.
PeerAddress address_of(const sockaddr_storage& socket_address);

/// Whom a connection counts against.
struct Peer {
    PeerAddress address;
    bool exempt = false;  ///< a trusted proxy: limits per address do not count it
};

/// Addresses from which `Forwarded` and `X-Forwarded-For` count.
class TrustedProxies {
public:
    TrustedProxies() = default;
    /// "192.0.2.1", "10.0.0.0/8", "2001:db8::/32". Throws std::runtime_error naming a bad entry.
    explicit TrustedProxies(const std::vector<std::string>& blocks);

    bool contains(const PeerAddress& address) const;
    bool empty() const { return blocks_.empty(); }

    /// The address that a request really comes from: the socket's, unless that is a trusted
    /// proxy; then the last one in the proxies' list that is not itself a trusted proxy. Where both
    /// headers are there and disagree, the proxy has written one and passed the client's other on,
    /// and it is unknown which: the socket's again.
    PeerAddress client_of(const PeerAddress& socket, std::optional<std::string_view> forwarded,
                          std::optional<std::string_view> x_forwarded_for) const;

    /// Behind a proxy that the configuration does not name: the last address of the peer's
    /// forwarding header, as that proxy wrote it (or as the peer has made it up). nullopt: the peer
    /// is a trusted proxy, or there is no such header. Good for distinguishing clients, never for
    /// trusting one.
    std::optional<PeerAddress> claimed_client(
        const PeerAddress& socket, std::optional<std::string_view> forwarded,
        std::optional<std::string_view> x_forwarded_for) const;

private:
    struct Block {
        PeerAddress address;
        int bits = 128;
    };
    enum class List : std::uint8_t { forwarded, x_forwarded_for };

    PeerAddress last_untrusted(List form, std::string_view list, PeerAddress nearest) const;

    std::vector<Block> blocks_;
};

}  // namespace beckon::net

template <>
struct std::hash<beckon::net::PeerAddress> {
    std::size_t operator()(const beckon::net::PeerAddress& address) const noexcept {
        std::uint64_t a;
        std::uint64_t b;
        __builtin_memcpy(&a, address.bytes.data(), 8);
        __builtin_memcpy(&b, address.bytes.data() + 8, 8);
        // The low half of a v4-mapped address carries everything; mix both halves well.
        a = (a ^ (b >> 32) ^ (b << 29)) * 0x9e3779b97f4a7c15ULL;
        return static_cast<std::size_t>(a ^ (a >> 29));
    }
};
