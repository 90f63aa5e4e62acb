#include "tools/webhooks/webhooks_tool.hpp"

#include "app/process/process.hpp"
#include "core/json_text.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using Catch::Contains;

TEST_CASE("a filter is sent as it was given", "[webhooks]") {
    const auto body = core::parse_json(
        tools::body_of({.url = "https://a.example/", .filter = R"({"term":{"a":1}})"}));
    CHECK(body["url"] == "https://a.example/");
    CHECK(body["filter"]["term"]["a"] == 1);
}

TEST_CASE("a filter that is no JSON, or is nested without end, is refused", "[webhooks]") {
    CHECK_THROWS_WITH(tools::body_of({.url = "https://a.example/", .filter = "{"}),
                      "--filter is no JSON");
    const auto deep = std::string(200'000, '[') + std::string(200'000, ']');
    CHECK_THROWS_WITH(tools::body_of({.url = "https://a.example/", .filter = deep}),
                      Contains("nested too deeply: 64 levels are allowed"));
}
