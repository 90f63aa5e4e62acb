#include "net/peer_address.hpp"

#include "net/connection_limiter.hpp"
#include "net/rate_limiter.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::net;

namespace {

PeerAddress at(std::string_view text) { return parse_address(text).value(); }
constexpr core::MonoTime kStart{std::chrono::seconds{100}};

}  // namespace

TEST_CASE("addresses are read with and without a port") {
    CHECK(to_string(at("192.0.2.1")) == "192.0.2.1");
    CHECK(to_string(at("192.0.2.1:80")) == "192.0.2.1");
    CHECK(to_string(at("[2001:db8::1]:80")) == "2001:db8::1");
    CHECK(to_string(at("[2001:db8::1]")) == "2001:db8::1");
    CHECK(to_string(at("2001:DB8::1")) == "2001:db8::1");
    for (const auto* bad : {"", "unknown", "_hidden", "192.0.2", "[::1", "1.2.3.4.5", "::g"}) {
        CHECK_FALSE(parse_address(bad));
    }
}

TEST_CASE("an IPv6 host is limited by its /64") {
    CHECK(at("2001:db8:0:1::1").limit_key() == at("2001:db8:0:1:ffff::9").limit_key());
    CHECK(at("2001:db8:0:1::1").limit_key() != at("2001:db8:0:2::1").limit_key());
    CHECK(at("192.0.2.1").limit_key() != at("192.0.2.2").limit_key());
}

TEST_CASE("only trusted proxies are believed, from the right") {
    const TrustedProxies proxies{{"10.0.0.0/8", "2001:db8::/33", "192.0.2.1"}};
    const auto client = [&](std::string_view socket, std::optional<std::string_view> forwarded,
                            std::optional<std::string_view> x) {
        return to_string(proxies.client_of(at(socket), forwarded, x));
    };
    CHECK(client("198.51.100.9", {}, "203.0.113.5") == "198.51.100.9");
    CHECK(client("10.1.2.3", {}, "203.0.113.5") == "203.0.113.5");
    CHECK(client("10.1.2.3", {}, "6.6.6.6, 203.0.113.5, 192.0.2.1 ") == "203.0.113.5");
    CHECK(client("10.1.2.3", {}, "6.6.6.6, unknown, 10.9.9.9") == "10.9.9.9");
    CHECK(client("10.1.2.3", {}, {}) == "10.1.2.3");
    CHECK(client("10.1.2.3", {}, "") == "10.1.2.3");
    CHECK(client("10.1.2.3", R"(for=203.0.113.5;proto=https, For="[2001:db8:7000::1]:9";by=x)",
                 {}) == "203.0.113.5");
    CHECK(client("2001:db8:1::1", "for=203.0.113.5", {}) == "203.0.113.5");
    CHECK(client("2001:db8:8000::1", "for=203.0.113.5", {}) == "2001:db8:8000::1");
    CHECK(client("192.0.2.2", {}, "203.0.113.5") == "192.0.2.2");
}

TEST_CASE("a Forwarded element names its client in the forms of RFC 7239") {
    const TrustedProxies proxies{{"10.0.0.0/8"}};
    struct Row {
        std::string forwarded;
        std::string client;
    };
    const std::vector<Row> rows{
        {"for=192.0.2.43", "192.0.2.43"},
        {"FOR=192.0.2.43", "192.0.2.43"},
        {R"(for="192.0.2.43:47011")", "192.0.2.43"},
        {R"(for="[2001:db8:cafe::17]")", "2001:db8:cafe::17"},
        {R"(for="[2001:db8:cafe::17]:4711")", "2001:db8:cafe::17"},
        {R"(by=203.0.113.43;proto=https ; for="[2001:DB8::1]:80";host="a;b")", "2001:db8::1"},
        {R"(for=192.0.2.43, for="10.7.7.7:1", for=10.8.8.8)", "192.0.2.43"},
        {R"(for=6.6.6.6, for="_hidden", for=10.8.8.8)", "10.8.8.8"},
        {"for=6.6.6.6, for=unknown", "10.1.2.3"},
        {R"(for="_SEVKISEK:_port")", "10.1.2.3"},
        {"proto=https;by=_x", "10.1.2.3"},
        {R"(for="6.6.6.6, for=192.0.2.43)", "192.0.2.43"},  // the client's own quote is not closed
        {R"(for="[2001:db8::1)", "10.1.2.3"},
        {"for=", "10.1.2.3"},
        {"for=6.6.6.6,", "10.1.2.3"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.forwarded);
        CHECK(to_string(proxies.client_of(at("10.1.2.3"), row.forwarded, {})) == row.client);
    }
}

TEST_CASE("where the two headers disagree neither is believed") {
    const TrustedProxies proxies{{"10.0.0.0/8"}};
    const auto client = [&](std::string_view forwarded, std::string_view x) {
        return to_string(proxies.client_of(at("10.1.2.3"), forwarded, x));
    };
    CHECK(client("for=203.0.113.5", "203.0.113.5") == "203.0.113.5");
    CHECK(client("for=6.6.6.6, for=203.0.113.5", "203.0.113.5, 10.9.9.9") == "203.0.113.5");
    CHECK(client("for=6.6.6.6", "203.0.113.5") == "10.1.2.3");
    CHECK(client("for=unknown", "203.0.113.5") == "10.1.2.3");
    CHECK(client("for=203.0.113.5", "") == "10.1.2.3");
}

TEST_CASE("a bad proxy entry is named") {
    for (const auto* bad :
         {"x", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "10.0.0.0/8x"}) {
        CAPTURE(bad);
        CHECK_THROWS_WITH(TrustedProxies{{bad}}, Catch::Contains(bad));
    }
}

TEST_CASE("a bucket refills evenly") {
    RateLimiter limiter{{.limit = 2, .window = std::chrono::seconds{10}}};
    const auto peer = at("192.0.2.1");
    CHECK_FALSE(limiter.try_spend(peer, kStart));
    CHECK_FALSE(limiter.try_spend(peer, kStart));
    CHECK(limiter.try_spend(peer, kStart) == std::chrono::seconds{5});
    CHECK(limiter.wait(peer, kStart + std::chrono::seconds{2}) == std::chrono::seconds{3});
    CHECK_FALSE(limiter.try_spend(peer, kStart + std::chrono::seconds{5}));
    CHECK(limiter.try_spend(peer, kStart + std::chrono::seconds{5}));
    CHECK_FALSE(limiter.try_spend(at("192.0.2.2"), kStart));
}

TEST_CASE("a limiter without a limit never refuses") {
    RateLimiter limiter{{}};
    for (int i = 0; i < 10; ++i) CHECK_FALSE(limiter.try_spend(at("192.0.2.1"), kStart));
}

TEST_CASE("too many addresses share one bucket until old ones have refilled") {
    RateLimiter limiter{{.limit = 1, .window = std::chrono::seconds{10}, .addresses_max = 2}};
    CHECK_FALSE(limiter.try_spend(at("192.0.2.1"), kStart));
    CHECK_FALSE(limiter.try_spend(at("192.0.2.2"), kStart));
    CHECK_FALSE(limiter.try_spend(at("192.0.2.3"), kStart));
    CHECK(limiter.try_spend(at("192.0.2.4"), kStart));
    const auto later = kStart + std::chrono::seconds{11};
    CHECK_FALSE(limiter.try_spend(at("192.0.2.4"), later));
    CHECK(limiter.try_spend(at("192.0.2.4"), later));
    CHECK_FALSE(limiter.try_spend(at("192.0.2.5"), later));
}

TEST_CASE("connections are limited in total and by address") {
    using Admission = ConnectionLimiter::Admission;
    ConnectionLimiter limiter{{.total_max = 3, .per_address_max = 2}};
    const Peer a{at("192.0.2.1")};
    const Peer proxy{at("192.0.2.1"), true};
    CHECK(limiter.admit(a) == Admission::admitted);
    CHECK(limiter.admit(a) == Admission::admitted);
    CHECK(limiter.admit(a) == Admission::address_reached);
    CHECK(limiter.admit(proxy) == Admission::admitted);
    CHECK(limiter.admit({at("192.0.2.2")}) == Admission::total_reached);
    limiter.gone(a);
    CHECK(limiter.admit(a) == Admission::admitted);
    CHECK(limiter.total() == 3);
}

TEST_CASE("clients have a reserve of sockets beyond them") {
    Admission admission{{.total_max = 1, .per_address_max = 1}};
    const Peer a{at("192.0.2.1")};
    CHECK(admission.admit_client(a));
    CHECK_FALSE(admission.admit_client(a));
    for (std::size_t i = 0; i < 1 + Admission::kReservePerAddress; ++i) {
        CHECK(admission.admit_socket(a));
    }
    CHECK_FALSE(admission.admit_socket(a));
    CHECK(admission.admit_socket({at("192.0.2.2")}));
}
