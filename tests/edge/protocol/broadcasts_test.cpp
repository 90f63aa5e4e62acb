#include "edge/protocol/broadcasts.hpp"

#include "edge/protocol/frames.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using edge::Broadcasts;
using edge::Follows;

namespace {

Broadcasts known(std::map<std::string, std::string, std::less<>> versions) {
    return {.complete = true, .versions = std::move(versions)};
}

}  // namespace

TEST_CASE("a client receives the versions that it does not have") {
    const auto now = known({{"a", "1"}, {"b", "2"}, {"c", "3"}});
    Follows follows;
    follows.name({{"a", "1"}, {"b", "old"}}, now);
    CHECK(follows.take_news(now) == R"("b":"2")");
    CHECK(follows.take_news(now) == "");
    CHECK(follows.take_news(known({{"a", "5"}, {"b", "6"}, {"c", "7"}})) == R"("a":"5","b":"6")");
}

TEST_CASE("an unknown broadcast is refused once and not followed") {
    Follows follows;
    follows.name({{"x", "1"}}, known({}));
    CHECK(follows.take_news(known({})) == R"("errors":{"x":"Broadcast not found"})");
    CHECK(follows.empty());
    CHECK(follows.take_news(known({{"x", "2"}})) == "");
}

TEST_CASE("a client makes an edge keep no id or version longer than any") {
    const std::string long_text(60'000, 'x');
    Follows follows;
    follows.name({{long_text, "1"}, {"a", long_text}}, Broadcasts{});
    CHECK(follows.size() == 1);
    CHECK(follows.take_news(known({{"a", "1"}})) == R"("a":"1")");
    follows.name({{long_text, "1"}}, known({}));
    CHECK(follows.take_news(known({})) == "");
}

TEST_CASE("errors stand behind the versions") {
    const auto now = known({{"a", "1"}});
    Follows follows;
    follows.name({{"x", "1"}, {"a", "0"}, {"y", "1"}}, now);
    CHECK(follows.take_news(now) ==
          R"("a":"1","errors":{"x":"Broadcast not found","y":"Broadcast not found"})");
}

TEST_CASE("nothing is denied before everything was read") {
    Follows follows;
    follows.name({{"a", "1"}, {"x", "1"}}, Broadcasts{});
    CHECK(follows.take_news(Broadcasts{}) == "");
    CHECK(follows.size() == 2);
    CHECK(follows.take_news(known({{"a", "2"}})) == R"("a":"2")");
    CHECK(follows.size() == 1);
}

TEST_CASE("the versions that a client names count more than those that it was sent") {
    const auto now = known({{"a", "2"}});
    Follows follows;
    follows.name({{"a", "1"}}, now);
    CHECK(follows.take_news(now) == R"("a":"2")");
    follows.name({{"a", "1"}}, now);
    CHECK(follows.take_news(now) == R"("a":"2")");
    follows.name({{"a", "2"}}, now);
    CHECK(follows.take_news(now) == "");
}

TEST_CASE("a deleted broadcast is no longer followed") {
    const auto now = known({{"a", "2"}});
    Follows follows;
    follows.name({{"a", "2"}}, now);
    CHECK(follows.take_news(known({})) == "");
    CHECK(follows.empty());
}

TEST_CASE("one client follows a bounded number, and refusals are bounded too") {
    Broadcasts now = known({});
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < Follows::kMax + 1; ++i) {
        ids.push_back("id" + std::to_string(100 + i));
        now.versions[ids.back()] = "1";
    }
    std::vector<std::pair<std::string_view, std::string_view>> named;
    for (const auto& id : ids) named.emplace_back(id, "1");
    Follows follows;
    follows.name(named, now);
    CHECK(follows.size() == Follows::kMax);
    CHECK(follows.take_news(now) == R"("errors":{"id164":"Too many broadcasts"})");

    Follows others;
    others.name(named, known({}));
    const auto reported = others.take_news(known({}));
    CHECK(reported.find("id163") != std::string::npos);
    CHECK(reported.find("id164") == std::string::npos);
}

TEST_CASE("ids come back as they were sent, in UTF-8") {
    Follows follows;
    follows.name({{"\xc3\xa4\"\x01", "1"}}, known({}));
    CHECK(follows.take_news(known({})) ==
          "\"errors\":{\"\xc3\xa4\\\"\\u0001\":\"Broadcast not found\"}");
}

TEST_CASE("broadcasts stand in the answer to hello and in frames of their own") {
    const core::Uaid uaid{*core::parse_uuid("0f1e2d3c4b5a49788796a5b4c3d2e1f0")};
    CHECK(edge::hello_frame(uaid, R"("a":"1")") ==
          R"({"messageType":"hello","uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","status":200,)"
          R"("use_webpush":true,"broadcasts":{"a":"1"}})");
    CHECK(edge::broadcast_frame(R"("a":"1")") ==
          R"({"messageType":"broadcast","broadcasts":{"a":"1"}})");
}
