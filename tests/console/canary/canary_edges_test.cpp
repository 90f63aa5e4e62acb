#include "console/canary/canary.hpp"

#include <stdexcept>

#include <catch2/catch.hpp>

using namespace beckon::console;
using Urls = std::vector<std::string>;

TEST_CASE("a pattern for every edge gives a URL for each edge of the cluster") {
    const Urls patterns{"ws://*:8080/"};
    CHECK(canary_urls(patterns, {}).empty());
    CHECK(canary_urls(patterns, {"10.0.0.1:8081", "edge-2:8081", "[fd00::1]:8081"}) ==
          Urls{"ws://10.0.0.1:8080/", "ws://edge-2:8080/", "ws://[fd00::1]:8080/"});
}

TEST_CASE("an edge that is named is tried once, whether the cluster has it or not") {
    CHECK(canary_urls({"wss://push.example.org/"}, {}) == Urls{"wss://push.example.org/"});
    CHECK(canary_urls({"ws://a:8080/", "ws://*:8080/"}, {"a:8081", "b:8081", "b:8082", ""}) ==
          Urls{"ws://a:8080/", "ws://b:8080/"});
}

TEST_CASE("a push goes to the origin that is given, with the endpoint's own path") {
    const std::string endpoint = "https://push.example.org/wpush/v1/token";
    const auto targets = canary_targets({"ws://*:8080/", "http://proxy:8082/"});
    CHECK(targets.edges == Urls{"ws://*:8080/"});
    CHECK(at_origin(endpoint, targets.origin) == "http://proxy:8082/wpush/v1/token");
    CHECK(at_origin(endpoint, canary_targets({"ws://*:8080/"}).origin) == endpoint);
}

TEST_CASE(
    "a text that is neither a WebSocket URL nor an origin is refused, and the error names both") {
    for (const auto* good : {"ws://edge-1:8080/", "wss://*:8443/", "ws://*/"}) {
        CHECK_NOTHROW(canary_targets({good}));
    }
    CHECK_NOTHROW(canary_targets({"ws://*/", "https://a:8443"}));
    CHECK_THROWS_WITH(canary_targets({"https://a:8443"}), Catch::Contains("no edge"));
    for (const auto* bad : {"", "*", "http://*:8080/", "edge-1:8080", "https://a/path"}) {
        CAPTURE(bad);
        CHECK_THROWS_WITH(canary_targets({bad}), Catch::Contains("ws://*:8080/"));
    }
    CHECK_THROWS_WITH(canary_targets({"http://a", "http://b"}), Catch::Contains("http://b"));
}
