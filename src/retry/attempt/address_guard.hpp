#pragma once

#include "core/result.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace beckon::retry {

/// An IPv6 address; IPv4 ones stand as mapped (::ffff:a.b.c.d).
using Address = std::array<std::uint8_t, 16>;

/// Decides to which addresses a request may connect: public ones, and those that the operator
/// allows. It is asked for each address at the moment of the connect, so that a name which resolves
/// differently then than when the webhook was made gains nothing. Immutable; any thread.
class AddressGuard {
public:
    /// Allows nothing but public addresses.
    AddressGuard() = default;

    /// `10.1.0.0/16`, `fd00::/8`, one address, or `any`. Errors: invalid (names the entry).
    static core::Result<AddressGuard> with_allowed(const std::vector<std::string>& ranges);

    /// Why a connection to this address is not allowed: "loopback", "private", "link-local",
    /// "shared" (carriers' NAT), "multicast", "reserved", "unspecified", "translated" (an IPv6 form
    /// of an address that is not allowed), "not IP". Empty: it is allowed.
    std::string_view forbidden(const Address& address) const;
    std::string_view forbidden(const sockaddr& address) const;
    /// Likewise for a host that the operator has named: loopback, private and shared addresses are
    /// allowed too.
    std::string_view forbidden_inside(const sockaddr& address) const;

private:
    struct Range {
        Address base{};
        int bits = 0;  ///< of IPv4 those of the 32
    };

    std::vector<Range> allowed_;
};

/// "192.0.2.1" or "2001:db8::1"; nullopt if it is no literal address.
std::optional<Address> parse_address(const std::string& text);

}  // namespace beckon::retry
