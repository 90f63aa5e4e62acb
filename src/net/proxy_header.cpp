#include "net/proxy_header.hpp"

#include "core/decimal.hpp"
#include "core/list_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace beckon::net {

namespace {

using Parsed = tl::expected<std::optional<ProxyHeader>, ProxyFault>;

constexpr std::string_view kV1Start = "PROXY ";
constexpr std::size_t kV1Max = 107;  ///< with its CR LF (section 2.1)
constexpr std::string_view kV2Start{"\r\n\r\n\0\r\nQUIT\n", 12};
constexpr std::size_t kV2Head = 16;
constexpr std::size_t kV2Ipv4 = 12;  ///< two addresses and two ports
constexpr std::size_t kV2Ipv6 = 36;

Parsed refuse(ProxyFault fault) { return tl::unexpected<ProxyFault>(fault); }

bool could_be(std::string_view bytes, std::string_view start) {
    const auto common = std::min(bytes.size(), start.size());
    return bytes.substr(0, common) == start.substr(0, common);
}

bool is_port(std::string_view text) {
    const bool padded = text.size() > 1 && text.front() == '0';
    return !padded && core::parse_decimal<std::uint16_t>(text);
}

/// An address of the family that the line names, without a port or brackets.
std::optional<PeerAddress> address_in(std::string_view word, bool v4) {
    if (word.find_first_not_of("0123456789abcdefABCDEF.:") != std::string_view::npos) {
        return std::nullopt;
    }
    const auto colons = std::count(word.begin(), word.end(), ':');
    return (v4 ? colons == 0 : colons > 1) ? parse_address(word) : std::nullopt;
}

/// `line` without its CR LF and its first word.
Parsed parse_v1(std::string_view line, std::size_t bytes) {
    const auto family = core::take_part(line, ' ');
    if (family == "UNKNOWN") return ProxyHeader{bytes, std::nullopt};
    if (family != "TCP4" && family != "TCP6") return refuse(ProxyFault::malformed);
    const bool v4 = family == "TCP4";
    const bool four_words = std::count(line.begin(), line.end(), ' ') == 3;
    const auto client = address_in(core::take_part(line, ' '), v4);
    const auto proxy = address_in(core::take_part(line, ' '), v4);
    const bool ports = is_port(core::take_part(line, ' ')) && is_port(line);
    if (!four_words || !client || !proxy || !ports) return refuse(ProxyFault::malformed);
    return ProxyHeader{bytes, client};
}

Parsed read_v1(std::string_view bytes) {
    const auto end = bytes.substr(0, kV1Max).find('\n');
    if (end == std::string_view::npos) {
        if (bytes.size() >= kV1Max) return refuse(ProxyFault::malformed);
        return std::optional<ProxyHeader>{};
    }
    if (bytes[end - 1] != '\r') return refuse(ProxyFault::malformed);
    return parse_v1(bytes.substr(kV1Start.size(), end - 1 - kV1Start.size()), end + 1);
}

std::size_t byte_at(std::string_view bytes, std::size_t at) {
    return static_cast<unsigned char>(bytes[at]);
}

PeerAddress v4_at(const char* bytes) {
    sockaddr_storage storage{};
    storage.ss_family = AF_INET;
    std::memcpy(reinterpret_cast<char*>(&storage) + 4, bytes, 4);  // behind family and port
    return address_of(storage);
}

PeerAddress v6_at(const char* bytes) {
    PeerAddress address;
    std::memcpy(address.bytes.data(), bytes, address.bytes.size());
    return address;
}

/// Section 2.2: command and family, then how much follows.
Parsed read_v2(std::string_view bytes) {
    if (bytes.size() < kV2Head) return std::optional<ProxyHeader>{};
    const auto version = byte_at(bytes, 12) >> 4;
    const auto command = byte_at(bytes, 12) & 0xf;
    const auto family = byte_at(bytes, 13) >> 4;
    const auto length = byte_at(bytes, 14) << 8 | byte_at(bytes, 15);
    const auto transport = byte_at(bytes, 13) & 0xf;
    if (version != 2 || command > 1 || family > 3 || transport > 2)
        return refuse(ProxyFault::malformed);
    const auto whole = kV2Head + length;
    if (whole > kProxyHeaderMax) return refuse(ProxyFault::too_long);
    const bool local = command == 0;
    const auto needed = family == 1 ? kV2Ipv4 : family == 2 ? kV2Ipv6 : 0;
    if (!local && length < needed) return refuse(ProxyFault::malformed);
    if (bytes.size() < whole) return std::optional<ProxyHeader>{};
    if (local || needed == 0) return ProxyHeader{whole, std::nullopt};
    const char* addresses = bytes.data() + kV2Head;
    return ProxyHeader{whole, family == 1 ? v4_at(addresses) : v6_at(addresses)};
}

}  // namespace

std::string_view to_string(ProxyFault fault) {
    switch (fault) {
        case ProxyFault::missing: return "proxy_header_missing";
        case ProxyFault::malformed: return "proxy_header_malformed";
        case ProxyFault::too_long: return "proxy_header_too_long";
        case ProxyFault::late: return "proxy_header_late";
        case ProxyFault::ended: return "proxy_header_ended";
    }
    return "proxy_header_malformed";
}

Parsed parse_proxy_header(std::string_view bytes) {
    if (bytes.empty()) return std::optional<ProxyHeader>{};
    if (could_be(bytes, kV2Start)) return read_v2(bytes);
    if (!could_be(bytes, kV1Start)) return refuse(ProxyFault::missing);
    return read_v1(bytes);
}

/// Bytes are peeked at first and taken afterwards: an incomplete header has all of them, and of a
/// complete one the length is known.
Parsed ProxyHeaderReader::read(int socket) {
    std::array<char, kProxyHeaderMax> seen;
    const auto capacity = kProxyHeaderMax - bytes_.size();
    const auto n = ::recv(socket, seen.data(), capacity, MSG_PEEK);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::optional<ProxyHeader>{};
    if (n <= 0) return refuse(ProxyFault::ended);
    const auto before = bytes_.size();
    bytes_.append(seen.data(), static_cast<std::size_t>(n));
    const auto parsed = parse_proxy_header(bytes_);
    if (!parsed) return parsed;
    const auto ours = (*parsed ? (*parsed)->bytes : bytes_.size()) - before;
    if (::recv(socket, seen.data(), ours, 0) < 0) return refuse(ProxyFault::ended);
    return parsed;
}

}  // namespace beckon::net
