#include "tools/webhooks/webhooks_tool.hpp"

#include "app/process/process.hpp"
#include "core/json_text.hpp"
#include "retry/api/owner_token.hpp"
#include "support/temp_dir.hpp"
#include "tools/new_installation.hpp"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using Catch::Contains;

TEST_CASE("a filter is sent as it was given") {
    const auto body = core::parse_json(
        tools::body_of({.url = "https://a.example/", .filter = R"({"term":{"a":1}})"}));
    CHECK(body["url"] == "https://a.example/");
    CHECK(body["filter"]["term"]["a"] == 1);
}

TEST_CASE("a filter that is no JSON, or is nested without end, is refused") {
    CHECK_THROWS_WITH(tools::body_of({.url = "https://a.example/", .filter = "{"}),
                      "--filter is no JSON");
    const auto deep = std::string(200'000, '[') + std::string(200'000, ']');
    CHECK_THROWS_WITH(tools::body_of({.url = "https://a.example/", .filter = deep}),
                      Contains("nested too deeply: 64 levels are allowed"));
}

// Fails where a command that says nothing of other owners reaches their webhooks.
TEST_CASE("the token of a command reaches other owners' webhooks only where it says so") {
    const test::NewInstallation installation;
    const auto caller_of = [&](const tools::ApiAccess& access, const tools::SendEvent& event) {
        const auto options =
            tools::api_options(installation.config, tools::sender_of(access, event));
        return *retry::check_token(installation.ring(), options.token);
    };
    CHECK(caller_of({.owner = "shop"}, {}) == retry::Caller{.owner = "shop"});
    const retry::Caller to_all{.owner = "shop", .publishes_to_all = true};
    CHECK(caller_of({.owner = "shop", .publishes_to_all = true}, {}) == to_all);
    // The event names the one owner whom it reaches.
    tools::SendEvent for_another;
    for_another.for_owner = "bank";
    CHECK(caller_of({.owner = "shop"}, for_another) == to_all);
}

TEST_CASE("headers of one's own are given in the command, or in a file") {
    const auto headers_of = [](std::vector<std::string> headers) {
        const auto body = core::parse_json(
            tools::body_of({.url = "https://a.example/", .headers = std::move(headers)}));
        return body.value("headers", nlohmann::json{});
    };
    CHECK(headers_of({}).is_null());
    CHECK(headers_of({"X-Shop: berlin", "Authorization:Bearer a:b"}) ==
          nlohmann::json{{"X-Shop", "berlin"}, {"Authorization", "Bearer a:b"}});
    test::TempDir directory;
    const auto file = directory.path() / "headers";
    std::ofstream{file} << "X-Shop: berlin\r\n\nX-Key: secret\n";
    CHECK(headers_of({"@" + file.string()}) ==
          nlohmann::json{{"X-Shop", "berlin"}, {"X-Key", "secret"}});
    CHECK_THROWS_WITH(headers_of({"s3cret"}),
                      "--header: 'NAME: VALUE' is expected, or @FILE with one in a line");
    CHECK_THROWS_WITH(headers_of({"a: 1", "a: 2"}), "--header: 'a' stands twice");
    CHECK_THROWS_WITH(headers_of({"@/nothing/here"}),
                      "cannot read /nothing/here: No such file or directory");
}
