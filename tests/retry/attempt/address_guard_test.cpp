#include "retry/attempt/address_guard.hpp"

#include <catch2/catch.hpp>

using beckon::retry::AddressGuard;
using beckon::retry::parse_address;

namespace {

std::string_view why(const AddressGuard& guard, const char* address) {
    const auto parsed = parse_address(address);
    REQUIRE(parsed);
    return guard.forbidden(*parsed);
}

}  // namespace

TEST_CASE("addresses of the public internet are allowed", "[retry][guard]") {
    const AddressGuard guard;
    for (const auto* address : {"1.1.1.1", "93.184.216.34", "172.15.0.1", "100.63.255.255",
                                "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1"}) {
        CAPTURE(address);
        CHECK(why(guard, address).empty());
    }
}

TEST_CASE("addresses that lead inside are refused, in whichever form", "[retry][guard]") {
    const AddressGuard guard;
    CHECK(why(guard, "127.0.0.1") == "loopback");
    CHECK(why(guard, "127.255.0.9") == "loopback");
    CHECK(why(guard, "0.0.0.0") == "unspecified");
    CHECK(why(guard, "10.1.2.3") == "private");
    CHECK(why(guard, "172.31.255.255") == "private");
    CHECK(why(guard, "192.168.0.1") == "private");
    CHECK(why(guard, "169.254.169.254") == "link-local");  // metadata
    CHECK(why(guard, "100.64.0.1") == "shared");
    CHECK(why(guard, "198.18.0.1") == "reserved");
    CHECK(why(guard, "224.0.0.1") == "multicast");
    CHECK(why(guard, "255.255.255.255") == "reserved");
    CHECK(why(guard, "::1") == "loopback");
    CHECK(why(guard, "::") == "unspecified");
    CHECK(why(guard, "::ffff:127.0.0.1") == "loopback");
    CHECK(why(guard, "::ffff:10.0.0.1") == "private");
    CHECK(why(guard, "::127.0.0.1") == "reserved");
    CHECK(why(guard, "64:ff9b::7f00:1") == "translated");
    CHECK(why(guard, "64:ff9b::a9fe:a9fe") == "translated");
    CHECK(why(guard, "64:ff9b:1::1") == "translated");
    CHECK(why(guard, "2002:7f00:1::") == "translated");
    CHECK(why(guard, "2001::1") == "reserved");  // Teredo
    CHECK(why(guard, "fc00::1") == "private");
    CHECK(why(guard, "fd12:3456::1") == "private");
    CHECK(why(guard, "fe80::1") == "link-local");
    CHECK(why(guard, "fd00:ec2::254") == "private");  // metadata
    CHECK(why(guard, "ff02::1") == "multicast");
    CHECK(why(guard, "4000::1") == "reserved");
}

TEST_CASE("an operator can allow ranges", "[retry][guard]") {
    const auto guard = AddressGuard::with_allowed({"10.1.0.0/16", "::1", "fd00::/8"});
    REQUIRE(guard);
    CHECK(why(*guard, "10.1.200.3").empty());
    CHECK(why(*guard, "::ffff:10.1.0.1").empty());
    CHECK(why(*guard, "10.2.0.1") == "private");
    CHECK(why(*guard, "::1").empty());
    CHECK(why(*guard, "fd99::1").empty());
    CHECK(why(*guard, "127.0.0.1") == "loopback");
    CHECK(why(*AddressGuard::with_allowed({"any"}), "127.0.0.1").empty());
}

TEST_CASE("a range that is none is named", "[retry][guard]") {
    for (const auto* bad :
         {"10.0.0.0/33", "10.0.0/8", "fd00::/129", "example.org", "10.0.0.0/", "/8"}) {
        CAPTURE(bad);
        const auto guard = AddressGuard::with_allowed({bad});
        REQUIRE_FALSE(guard);
        CHECK(guard.error().message ==
              "`" + std::string{bad} + "` is no address range, e.g. 10.0.0.0/8");
    }
}
