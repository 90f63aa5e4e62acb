#include "net/proxy_header.hpp"
#include "support/front_world.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using net::ProxyFault;
using test::FrontWorld;
using test::WsClient;

namespace {

edge::EdgeOptions behind_proxy() {
    auto options = FrontWorld::defaults();
    options.trusted_proxies = {"127.0.0.0/8"};
    options.proxy_protocol = true;
    options.hello_timeout = 200ms;
    options.connections_per_address_max = 2;
    return options;
}

struct World : FrontWorld {
    World() : FrontWorld(behind_proxy()) {}

    /// Through the proxy; not upgraded.
    WsClient from(const std::string& address) {
        WsClient client{fronts.port()};
        client.raw("PROXY TCP4 " + address + " 127.0.0.1 5000 443\r\n");
        return client;
    }
    bool refused(ProxyFault why) {
        const auto& counter = *counters.sockets.refused_proxy_header[why];
        return soon([&] { return counter.Value() == 1; });
    }
    bool nobody_is_left() {
        return soon([&] { return counters.sockets.connections->Value() == 0; });
    }
};

}  // namespace

TEST_CASE("behind a PROXY header a connection counts as its client's") {
    World world;
    std::vector<WsClient> clients;
    for (const auto* address : {"192.0.2.1", "192.0.2.1", "192.0.2.2"}) {
        clients.push_back(world.from(address));
        REQUIRE(clients.back().upgrade());
        clients.back().text(FrontWorld::kHello);
        CHECK(clients.back().next_message().is_text());
    }
    auto third = world.from("192.0.2.1");
    CHECK_FALSE(third.upgrade());
    CHECK(third.head().starts_with("HTTP/1.1 503"));
}

TEST_CASE("a proxy's connection without a good header ends, with the reason in the metrics") {
    World world;
    WsClient client{world.fronts.port()};
    SECTION("none") {
        CHECK_FALSE(client.upgrade());
        CHECK(world.refused(ProxyFault::missing));
    }
    SECTION("a bad one") {
        client.raw("PROXY TCP4 nonsense\r\n");
        CHECK(client.until_closed().kind == WsClient::Event::Kind::end);
        CHECK(world.refused(ProxyFault::malformed));
    }
    SECTION("one that claims to be longer than any") {
        client.raw(std::string{"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff", 16});
        CHECK(client.until_closed().kind == WsClient::Event::Kind::end);
        CHECK(world.refused(ProxyFault::too_long));
    }
    SECTION("half of one") {
        client.raw("PROXY TCP4 192.0.2.1");
        CHECK(client.until_closed().kind == WsClient::Event::Kind::end);
        CHECK(world.refused(ProxyFault::late));
    }
    CHECK(world.nobody_is_left());
}

TEST_CASE("a peer that is no trusted proxy needs no header, and is not believed") {
    auto options = behind_proxy();
    options.trusted_proxies = {"10.0.0.0/8"};
    FrontWorld world{std::move(options)};  // two clients of one address
    const auto honest = world.connect();
    const auto second = world.connect();
    WsClient liar{world.fronts.port()};
    liar.raw("PROXY TCP4 192.0.2.1 127.0.0.1 5000 443\r\n");
    CHECK_FALSE(liar.upgrade());
    CHECK(liar.head().starts_with("HTTP/1.1 400"));
    WsClient third{world.fronts.port()};
    CHECK_FALSE(third.upgrade());
    CHECK(third.head().starts_with("HTTP/1.1 503"));
}
