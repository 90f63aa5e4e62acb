#include "net/peer_address.hpp"

#include "core/ascii.hpp"
#include "core/authority.hpp"
#include "core/decimal.hpp"
#include "core/list_text.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace beckon::net {

namespace {

constexpr std::array<std::uint8_t, 12> kV4Prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::optional<PeerAddress> parse_bare(std::string_view text) {
    const std::string zero_ended{text};
    PeerAddress address;
    if (inet_pton(AF_INET6, zero_ended.c_str(), address.bytes.data()) == 1) return address;
    if (inet_pton(AF_INET, zero_ended.c_str(), address.bytes.data() + 12) != 1) return std::nullopt;
    std::copy(kV4Prefix.begin(), kV4Prefix.end(), address.bytes.begin());
    return address;
}

/// The `for=` value of one element of a Forwarded header (RFC 7239).
std::optional<std::string_view> forwarded_for(std::string_view element) {
    while (!element.empty()) {
        const auto pair = core::trimmed(core::take_part(element, ';'));
        if (core::equals_ignoring_case(pair.substr(0, 4), "for=")) {
            return core::unquoted(pair.substr(4));
        }
    }
    return std::nullopt;
}

}  // namespace

bool PeerAddress::is_v4() const {
    return std::equal(kV4Prefix.begin(), kV4Prefix.end(), bytes.begin());
}

PeerAddress PeerAddress::limit_key() const {
    if (is_v4()) return *this;
    PeerAddress key = *this;
    std::fill(key.bytes.begin() + 8, key.bytes.end(), std::uint8_t{0});
    return key;
}

std::optional<PeerAddress> parse_address(std::string_view text) {
    const auto parts = core::split_authority(text);
    return parts ? parse_bare(core::without_brackets(parts->host)) : std::nullopt;
}

std::string to_string(const PeerAddress& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const bool v4 = address.is_v4();
    inet_ntop(v4 ? AF_INET : AF_INET6, address.bytes.data() + (v4 ? kV4Prefix.size() : 0),
              text.data(), text.size());
    return text.data();
}

PeerAddress address_of(const sockaddr_storage& socket_address) {
    PeerAddress address;
    if (socket_address.ss_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &socket_address, sizeof v4);
        std::copy(kV4Prefix.begin(), kV4Prefix.end(), address.bytes.begin());
        std::memcpy(address.bytes.data() + kV4Prefix.size(), &v4.sin_addr, 4);
    } else if (socket_address.ss_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &socket_address, sizeof v6);
        std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
    }
    return address;
}

TrustedProxies::TrustedProxies(const std::vector<std::string>& blocks) {
    for (const auto& text : blocks) {
        const auto slash = text.find('/');
        const auto address = parse_address(std::string_view{text}.substr(0, slash));
        bool good = address.has_value();
        int bits = 128;
        if (good && slash != std::string::npos) {
            bits = core::parse_decimal<int>(std::string_view{text}.substr(slash + 1)).value_or(-1);
            good = bits >= 0 && bits <= (address->is_v4() ? 32 : 128);
            if (address->is_v4()) bits += 96;
        }
        if (!good) {
            throw std::runtime_error("trusted proxy '" + text +
                                     "' is neither an address nor a block such as 10.0.0.0/8");
        }
        blocks_.push_back({*address, bits});
    }
}

bool TrustedProxies::contains(const PeerAddress& address) const {
    return std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
        const auto whole = static_cast<std::size_t>(block.bits / 8);
        if (!std::equal(block.address.bytes.begin(),
                        block.address.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                        address.bytes.begin())) {
            return false;
        }
        const int rest = block.bits % 8;
        if (rest == 0) return true;
        const auto mask = static_cast<std::uint8_t>(0xff00 >> rest);
        return (block.address.bytes[whole] & mask) == (address.bytes[whole] & mask);
    });
}

PeerAddress TrustedProxies::client_of(const PeerAddress& socket,
                                      std::optional<std::string_view> forwarded,
                                      std::optional<std::string_view> x_forwarded_for) const {
    if (blocks_.empty() || !contains(socket)) return socket;
    const auto standard = last_untrusted(List::forwarded, forwarded.value_or(""), socket);
    const auto usual = last_untrusted(List::x_forwarded_for, x_forwarded_for.value_or(""), socket);
    if (!forwarded) return usual;
    return !x_forwarded_for || standard == usual ? standard : socket;
}

std::optional<PeerAddress> TrustedProxies::claimed_client(
    const PeerAddress& socket, std::optional<std::string_view> forwarded,
    std::optional<std::string_view> x_forwarded_for) const {
    if ((!forwarded && !x_forwarded_for) || contains(socket)) return std::nullopt;
    const auto list = forwarded.value_or(x_forwarded_for.value_or(""));
    const auto element = core::trimmed(list.substr(list.rfind(',') + 1));  // npos + 1: all of it
    const auto text = forwarded ? forwarded_for(element) : std::optional{element};
    return text ? parse_address(*text) : std::nullopt;
}

PeerAddress TrustedProxies::last_untrusted(List form, std::string_view list,
                                           PeerAddress nearest) const {
    while (!list.empty()) {  // from the right: each proxy appends the address that it saw
        const auto comma = list.rfind(',');
        const auto element = core::trimmed(list.substr(comma + 1));  // npos + 1: all of it
        list = list.substr(0, comma == std::string_view::npos ? 0 : comma);
        const auto text = form == List::forwarded ? forwarded_for(element) : std::optional{element};
        const auto address = text ? parse_address(*text) : std::nullopt;
        if (!address) return nearest;  // "unknown" or junk: the rest does not count
        nearest = *address;
        if (!contains(nearest)) return nearest;
    }
    return nearest;
}

}  // namespace beckon::net
