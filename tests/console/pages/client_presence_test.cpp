#include "console/pages/client_presence.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using console::parse_presence;

TEST_CASE("an edge's answer about a client is read", "[console]") {
    const auto found = parse_presence(
        R"({"served": true, "connected": true, "attached_since": 1700000000000, "edge": "9f",
            "unanswered": 2, "sent": []})");
    REQUIRE(found);
    CHECK(found->connected);
    CHECK(found->since_ms == 1'700'000'000'000);
    CHECK(found->edge == "9f");
    CHECK(found->unanswered == 2);
    CHECK(found->problem.empty());
    const auto away = parse_presence(
        R"({"served": true, "connected": false, "attached_since": null, "edge": null})");
    REQUIRE(away);
    CHECK_FALSE(away->connected);
    CHECK_FALSE(away->since_ms);
}

TEST_CASE("an edge that does not serve the client, and any other answer, says nothing",
          "[console]") {
    for (const auto* text : {"", "[]", "{}", R"({"served": false})", R"({"served": "yes"})"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_presence(text));
    }
}

TEST_CASE("without an edge to ask, it is said that nothing is known", "[console]") {
    const console::ClientPresence presence{std::nullopt, nullptr};
    CHECK_FALSE(presence.of(core::Uaid{}).problem.empty());
}
