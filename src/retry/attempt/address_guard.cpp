#include "retry/attempt/address_guard.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace beckon::retry {

using core::Fault;

namespace {

constexpr std::size_t kIpv4At = 12;

struct Special {
    const char* base;
    int bits;
    std::string_view why;
};

/// The networks outside the public internet (the IANA special-purpose registries, RFC 6890 and
/// later).
constexpr std::array kIpv4 = {
    Special{"0.0.0.0", 8, "unspecified"},     Special{"10.0.0.0", 8, "private"},
    Special{"100.64.0.0", 10, "shared"},      Special{"127.0.0.0", 8, "loopback"},
    Special{"169.254.0.0", 16, "link-local"},  // the clouds' metadata service too
    Special{"172.16.0.0", 12, "private"},     Special{"192.0.0.0", 24, "reserved"},
    Special{"192.0.2.0", 24, "reserved"},     Special{"192.88.99.0", 24, "reserved"},
    Special{"192.168.0.0", 16, "private"},    Special{"198.18.0.0", 15, "reserved"},
    Special{"198.51.100.0", 24, "reserved"},  Special{"203.0.113.0", 24, "reserved"},
    Special{"224.0.0.0", 4, "multicast"},     Special{"240.0.0.0", 4, "reserved"},
};
constexpr std::array kIpv6 = {
    Special{"::", 128, "unspecified"},     Special{"::1", 128, "loopback"},
    Special{"::", 96, "reserved"},  // IPv4-compatible, long given up
    Special{"100::", 64, "reserved"},      Special{"2001::", 23, "reserved"},  // Teredo, ORCHID, …
    Special{"2001:db8::", 32, "reserved"}, Special{"3fff::", 20, "reserved"},
    Special{"5f00::", 16, "reserved"},     Special{"fc00::", 7, "private"},
    Special{"fe80::", 10, "link-local"},   Special{"fec0::", 10, "private"},
    Special{"ff00::", 8, "multicast"},
};
/// Forms of IPv6 that carry an IPv4 address, and where it stands in them.
struct Embedding {
    const char* base;
    int bits;
    std::size_t at;
};
constexpr std::array kEmbeddings = {
    Embedding{"64:ff9b::", 96, 12},     // NAT64
    Embedding{"64:ff9b:1::", 48, 12},   // NAT64, local use: every address of it is refused below
    Embedding{"2002::", 16, 2},         // 6to4
    Embedding{"::ffff:0:0:0", 96, 12},  // IPv4-translated
};

bool same_bits(const std::uint8_t* a, const std::uint8_t* b, int bits) {
    const auto whole = static_cast<std::size_t>(bits / 8);
    if (std::memcmp(a, b, whole) != 0) return false;
    const int rest = bits % 8;
    if (rest == 0) return true;
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
    return ((a[whole] ^ b[whole]) & mask) == 0;
}

bool is_mapped(const Address& address) {
    constexpr std::array<std::uint8_t, 12> kPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(kPrefix.begin(), kPrefix.end(), address.begin());
}

Address mapped(const std::uint8_t* ipv4) {
    Address address{};
    address[10] = address[11] = 0xff;
    std::memcpy(address.data() + kIpv4At, ipv4, 4);
    return address;
}

std::string_view why_not_ipv4(const std::uint8_t* address) {
    for (const auto& special : kIpv4) {
        in_addr base{};
        inet_pton(AF_INET, special.base, &base);
        if (same_bits(address, reinterpret_cast<const std::uint8_t*>(&base), special.bits)) {
            return special.why;
        }
    }
    return {};
}

std::string_view why_not_ipv6(const Address& address) {
    for (const auto& form : kEmbeddings) {
        in6_addr base{};
        inet_pton(AF_INET6, form.base, &base);
        if (!same_bits(address.data(), base.s6_addr, form.bits)) continue;
        const bool local = form.bits == 48;
        if (local || !why_not_ipv4(address.data() + form.at).empty()) return "translated";
        return {};
    }
    for (const auto& special : kIpv6) {
        in6_addr base{};
        inet_pton(AF_INET6, special.base, &base);
        if (same_bits(address.data(), base.s6_addr, special.bits)) return special.why;
    }
    // Only 2000::/3 is given out.
    return (address[0] & 0xe0) == 0x20 ? std::string_view{} : "reserved";
}

}  // namespace

std::optional<Address> parse_address(const std::string& text) {
    in_addr v4{};
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
        return mapped(reinterpret_cast<const std::uint8_t*>(&v4));
    }
    Address address{};
    if (inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
    return std::nullopt;
}

core::Result<AddressGuard::Range> AddressGuard::parse_range(const std::string& text) {
    if (text == "any") return Range{};
    const auto slash = text.find('/');
    const auto base = parse_address(text.substr(0, slash));
    const auto bad = [&] {
        return core::fail(Fault::invalid, "`" + text + "` is no address range, e.g. 10.0.0.0/8");
    };
    if (!base) return bad();
    const bool v4 = is_mapped(*base);
    if (slash == std::string::npos) return Range{*base, 128};
    int bits = 0;
    const char* begin = text.data() + slash + 1;
    const char* end = text.data() + text.size();
    const auto [at, fault] = std::from_chars(begin, end, bits);
    if (fault != std::errc{} || at != end || bits < 0 || bits > (v4 ? 32 : 128)) return bad();
    return Range{*base, v4 ? bits + 96 : bits};
}

core::Result<AddressGuard> AddressGuard::with_allowed(const std::vector<std::string>& ranges) {
    AddressGuard guard;
    for (const auto& text : ranges) {
        auto range = parse_range(text);
        if (!range) return core::fail(range.error());
        guard.allowed_.push_back(*range);
    }
    return guard;
}

bool AddressGuard::contains(const Range& range, const Address& address) {
    return same_bits(address.data(), range.base.data(), range.bits);
}

std::string_view AddressGuard::forbidden(const Address& address) const {
    const bool allowed = std::any_of(allowed_.begin(), allowed_.end(),
                                     [&](const Range& r) { return contains(r, address); });
    if (allowed) return {};
    return is_mapped(address) ? why_not_ipv4(address.data() + kIpv4At) : why_not_ipv6(address);
}

std::string_view AddressGuard::forbidden_inside(const sockaddr& address) const {
    const auto why = forbidden(address);
    return why == "loopback" || why == "private" || why == "shared" ? std::string_view{} : why;
}

std::string_view AddressGuard::forbidden(const sockaddr& address) const {
    if (address.sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &address, sizeof v4);
        return forbidden(mapped(reinterpret_cast<const std::uint8_t*>(&v4.sin_addr)));
    }
    if (address.sa_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &address, sizeof v6);
        Address bytes{};
        std::memcpy(bytes.data(), v6.sin6_addr.s6_addr, bytes.size());
        return forbidden(bytes);
    }
    return "not IP";
}

}  // namespace beckon::retry
