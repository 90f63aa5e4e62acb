#include "retry/attempt/address_guard.hpp"

#include "core/decimal.hpp"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace beckon::retry {

using core::Fault;

namespace {

struct Special {
    const char* base;
    int bits;
    std::string_view why;
};

/// The networks outside the public internet (the IANA special-purpose registries, RFC 6890 and
/// later).
constexpr std::array kSpecial{
    Special{"0.0.0.0", 8, "unspecified"},
    Special{"10.0.0.0", 8, "private"},
    Special{"100.64.0.0", 10, "shared"},
    Special{"127.0.0.0", 8, "loopback"},
    Special{"169.254.0.0", 16, "link-local"},  // the clouds' metadata service too
    Special{"172.16.0.0", 12, "private"},
    Special{"192.0.0.0", 24, "reserved"},
    Special{"192.0.2.0", 24, "reserved"},
    Special{"192.88.99.0", 24, "reserved"},
    Special{"192.168.0.0", 16, "private"},
    Special{"198.18.0.0", 15, "reserved"},
    Special{"198.51.100.0", 24, "reserved"},
    Special{"203.0.113.0", 24, "reserved"},
    Special{"224.0.0.0", 4, "multicast"},
    Special{"240.0.0.0", 4, "reserved"},
    Special{"0.0.0.0", 0, ""},  // all other IPv4 addresses
    Special{"::", 128, "unspecified"},
    Special{"::1", 128, "loopback"},
    Special{"::", 96, "reserved"},             // IPv4-compatible, long given up
    Special{"64:ff9b:1::", 48, "translated"},  // NAT64, local use
    Special{"100::", 64, "reserved"},
    Special{"2001::", 23, "reserved"},  // Teredo, ORCHID
    Special{"2001:db8::", 32, "reserved"},
    Special{"3fff::", 20, "reserved"},
    Special{"5f00::", 16, "reserved"},
    Special{"fc00::", 7, "private"},
    Special{"fe80::", 10, "link-local"},
    Special{"fec0::", 10, "private"},
    Special{"ff00::", 8, "multicast"},
    Special{"2000::", 3, ""},  // what is given out
};
/// Forms of IPv6 that carry an IPv4 address, and where it stands in them.
struct Embedding {
    const char* base;
    int bits;
    std::size_t at;
};
constexpr std::array kEmbeddings = {
    Embedding{"64:ff9b::", 96, 12},     // NAT64
    Embedding{"2002::", 16, 2},         // 6to4
    Embedding{"::ffff:0:0:0", 96, 12},  // IPv4-translated
};

Address mapped(const void* ipv4) {
    Address address{};
    address[10] = address[11] = 0xff;
    std::memcpy(address.data() + 12, ipv4, 4);
    return address;
}

bool is_mapped(const Address& address) {
    constexpr std::array<std::uint8_t, 12> kPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(kPrefix.begin(), kPrefix.end(), address.begin());
}

/// Of an IPv4 range `bits` counts those of the 32.
bool is_in(const Address& address, const Address& base, int bits) {
    if (is_mapped(base)) bits += 96;
    const auto whole = static_cast<std::size_t>(bits / 8);
    if (std::memcmp(address.data(), base.data(), whole) != 0) return false;
    const int rest = bits % 8;
    if (rest == 0) return true;
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
    return ((address[whole] ^ base[whole]) & mask) == 0;
}

std::string_view why_special(const Address& address) {
    for (const auto& [base, bits, at] : kEmbeddings) {
        if (!is_in(address, *parse_address(base), bits)) continue;
        return why_special(mapped(address.data() + at)).empty() ? "" : "translated";
    }
    for (const auto& [base, bits, why] : kSpecial) {
        if (is_in(address, *parse_address(base), bits)) return why;
    }
    return "reserved";
}

}  // namespace

std::optional<Address> parse_address(const std::string& text) {
    in_addr v4{};
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return mapped(&v4);
    Address address{};
    if (inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
    return std::nullopt;
}

core::Result<AddressGuard> AddressGuard::with_allowed(const std::vector<std::string>& ranges) {
    AddressGuard guard;
    for (const auto& text : ranges) {
        const auto slash = text.find('/');
        const auto base = parse_address(text == "any" ? "::" : text.substr(0, slash));
        const int most = base && is_mapped(*base) ? 32 : 128;
        auto bits = std::optional{text == "any" ? 0 : most};
        if (slash != std::string::npos) bits = core::parse_decimal<int>(text.substr(slash + 1));
        if (!base || !bits || *bits < 0 || *bits > most) {
            return core::fail(Fault::invalid,
                              "`" + text + "` is no address range, e.g. 10.0.0.0/8");
        }
        guard.allowed_.push_back({*base, *bits});
    }
    return guard;
}

std::string_view AddressGuard::forbidden(const Address& address) const {
    const bool allowed = std::any_of(allowed_.begin(), allowed_.end(), [&](const Range& range) {
        return is_in(address, range.base, range.bits);
    });
    return allowed ? std::string_view{} : why_special(address);
}

std::string_view AddressGuard::forbidden_inside(const sockaddr& address) const {
    const auto why = forbidden(address);
    return why == "loopback" || why == "private" || why == "shared" ? std::string_view{} : why;
}

std::string_view AddressGuard::forbidden(const sockaddr& address) const {
    if (address.sa_family == AF_INET) {
        return forbidden(mapped(&reinterpret_cast<const sockaddr_in&>(address).sin_addr));
    }
    if (address.sa_family != AF_INET6) return "not IP";
    Address bytes{};
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr,
                bytes.size());
    return forbidden(bytes);
}

}  // namespace beckon::retry
