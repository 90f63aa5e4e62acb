#include "retry/event/filter/json_tree.hpp"

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using beckon::retry::JsonTree;
using beckon::retry::number_term;

namespace {

/// What a walk over the value sees, each part once.
std::string walked(const JsonTree::Value& value) {
    std::string seen;
    if (value.is_null()) return "null";
    if (value.is_boolean()) return value.boolean() ? "true" : "false";
    if (value.is_text()) return "'" + std::string{value.text()} + "'";
    if (value.is_number()) return number_term(value.number());
    if (value.is_list()) {
        value.any_element([&](const auto& one) {
            seen += walked(one) + ",";
            return false;
        });
        return std::to_string(value.size()) + "[" + seen + "]";
    }
    value.any_member([&](auto name, const auto& one) {
        seen += std::string{name} + ":" + walked(one) + ",";
        return false;
    });
    return std::to_string(value.size()) + "{" + seen + "}";
}

}  // namespace

TEST_CASE("a tree has the values of the text, in its order", "[retry][filter]") {
    CHECK(walked(JsonTree{"{}"}.root()) == "0{}");
    CHECK(walked(JsonTree{R"( {"a": [1, -2, 18446744073709551615, 0.5, "x\u00e9\n", [], {}],
                              "b": {"c": null, "d": true}, "b": false} )"}
                     .root()) ==
          "3{a:7[n1,n-2,n18446744073709551615,n0.5,'x\u00e9\n',0[],0{},],"
          "b:2{c:null,d:true,},b:false,}");
    const JsonTree large{R"({"n": 123456789012345678901234567890, "type": "t"})"};
    CHECK(large.text_of("type") == "t");
    CHECK(large.text_of("n").empty());
    CHECK(large.root().any_member([](auto, const auto& value) {
        return value.is_number() && value.number() == 123456789012345678901234567890.0;
    }));
}

TEST_CASE("a value stands in the tree as in the text", "[retry][filter]") {
    std::vector<std::string> seen;
    const std::function<void(const JsonTree::Value&)> see = [&](const auto& value) {
        seen.emplace_back(value.json());
        if (value.is_list()) {
            value.any_element([&](const auto& one) { return see(one), false; });
        } else if (value.is_object()) {
            value.any_member([&](auto, const auto& one) { return see(one), false; });
        }
    };
    see(JsonTree{R"( { "a\u0062" : [ 1.50 , "x\n\"" ,[ ], {} ,null] ,"b":-0 , "c": "d" } )"}
            .root());
    CHECK(seen == std::vector<std::string>{
                      R"({ "a\u0062" : [ 1.50 , "x\n\"" ,[ ], {} ,null] ,"b":-0 , "c": "d" })",
                      R"([ 1.50 , "x\n\"" ,[ ], {} ,null])", "1.50", R"("x\n\"")", "[ ]", "{}",
                      "null", "-0", R"("d")"});
    const JsonTree list{"[[],[[2]]]"};
    CHECK(list.root().json() == "[[],[[2]]]");
    CHECK(list.root().any_element([](const auto& one) { return one.json() == "[[2]]"; }));
}

TEST_CASE("a walk over a tree ends where it is told to", "[retry][filter]") {
    const JsonTree tree{R"({"a": [1, 2, 3], "b": 4})"};
    int seen = 0;
    CHECK(tree.root().any_member([&](auto, const auto& value) {
        return value.any_element([&](const auto&) { return ++seen == 2; });
    }));
    CHECK(seen == 2);
}

TEST_CASE("text that is no JSON object or list gives no tree", "[retry][filter]") {
    for (const auto* text : {"", "1", "null", "{", R"({"a":)", R"({"a": 1e999})",
                             "{\"a\": \"\xff\"}", R"({"a": tru})", R"({"a": [1,}})"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(JsonTree{text}, std::exception);
    }
}
