#include "core/json_member.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon::core;

TEST_CASE("a member of JSON is found by its name and kind") {
    const nlohmann::json value{{"text", "a"}, {"number", 1}, {"object", {{"text", "b"}}}};
    CHECK(*find_member(value, "number") == 1);
    CHECK(*find_text(value, "text") == "a");
    CHECK(text_member(*find_object(value, "object"), "text") == "b");
}

TEST_CASE("a member of another kind, and of what is no object, is not found") {
    const nlohmann::json value{{"text", "a"}, {"number", 1}};
    CHECK(find_member(value, "other") == nullptr);
    CHECK(find_text(value, "number") == nullptr);
    CHECK(find_object(value, "text") == nullptr);
    CHECK(text_member(value, "number").empty());
    CHECK(find_member(nlohmann::json(1), "text") == nullptr);
    CHECK(find_text(nlohmann::json::parse("{", nullptr, false), "text") == nullptr);
}
