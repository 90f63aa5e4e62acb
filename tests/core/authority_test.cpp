// Hosts and ports in settings, in arguments and in the Host header.
#include "core/authority.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon::core;

namespace {

std::string parts(std::string_view text) {
    const auto split = split_authority(text);
    if (!split) return "none";
    std::string out{split->host};
    return split->port ? out + " " + std::string{*split->port} : out;
}

}  // namespace

TEST_CASE("a host and a port are taken apart") {
    CHECK(parts("edge-1.example.org:8082") == "edge-1.example.org 8082");
    CHECK(parts("localhost") == "localhost");
    CHECK(parts("10.0.0.1:80") == "10.0.0.1 80");
    CHECK(parts("[::1]:8082") == "[::1] 8082");
    CHECK(parts("[::1]") == "[::1]");
    CHECK(parts("::1") == "::1");
    CHECK(parts("fe80::1:8082") == "fe80::1:8082");
    CHECK(parts("host:") == "host ");
    CHECK(parts("host:none") == "host none");
    for (const auto* none : {"", ":80", "[", "[]", "[]:80", "[::1", "[::1]8082", "[::1]x:80"}) {
        CAPTURE(none);
        CHECK(parts(none) == "none");
    }
}

TEST_CASE("a port is a number from 1 to 65535") {
    CHECK(parse_port("1") == 1);
    CHECK(parse_port("65535") == 65535);
    for (const auto* none : {"", "0", "65536", "-1", "+1", "80 ", "0x50", "http"}) {
        CAPTURE(none);
        CHECK_FALSE(parse_port(none));
    }
}

TEST_CASE("IPv6 addresses have brackets where a port follows") {
    CHECK(without_brackets("[::1]") == "::1");
    CHECK(without_brackets("::1") == "::1");
    CHECK(with_brackets("::1") == "[::1]");
    CHECK(with_brackets("[::1]") == "[::1]");
    CHECK(with_brackets("localhost") == "localhost");
    CHECK(local_authority("::", 8080) == "localhost:8080");
    CHECK(local_authority("0.0.0.0", 8080) == "localhost:8080");
    CHECK(local_authority("::1", 8080) == "[::1]:8080");
    CHECK(local_authority("127.0.0.1", 8080) == "127.0.0.1:8080");
}
