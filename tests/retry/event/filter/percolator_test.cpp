#include "retry/event/filter/percolator.hpp"

#include "support/json_tree_of.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using beckon::retry::JsonTree;
using beckon::retry::Percolator;
using beckon::retry::Query;
using beckon::retry::Steps;
using beckon::test::tree_of;
using Json = nlohmann::json;
using Ids = std::vector<std::string>;

namespace {

Percolator::Entry entry(std::string id, Ids types, const Json& query = nullptr,
                        std::string owner = "o") {
    Percolator::Entry one{.id = std::move(id),
                          .owner = std::move(owner),
                          .types = std::move(types),
                          .query = std::nullopt};
    if (!query.is_null()) one.query = *Query::compile(query, Query::From::log);
    return one;
}

/// Percolator::match() for one owner and with all steps.
struct Percolated : Percolator {
    Ids match(const Json& event) {
        Steps steps;
        auto found = Percolator::match(tree_of(event), "o", {}, steps);
        evaluated = found.evaluated;
        CHECK(found.too_costly.empty());
        return found.ids;
    }
    std::size_t evaluated = 0;
};

Json event(const std::string& type, const Json& data = Json::object()) {
    return {{"type", type}, {"data", data}};
}

Json term(const std::string& field, const Json& value) { return {{"term", {{field, value}}}}; }

}  // namespace

TEST_CASE("an event reaches the webhooks of its type, of its family, and of every type",
          "[retry][filter]") {
    Percolated all;
    all.put(entry("exact", {"order.created"}));
    all.put(entry("family", {"order.*"}));
    all.put(entry("every", {}));
    all.put(entry("other", {"user.*", "order.deleted"}));
    CHECK(all.match(event("order.created")) == Ids{"every", "exact", "family"});
    CHECK(all.match(event("orders.created")) == Ids{"every"});
    CHECK(all.match(event("order.item.added")) == Ids{"every", "family"});
    CHECK(all.match(Json::object()) == Ids{"every"});
}

TEST_CASE("an entry is replaced and removed as a whole", "[retry][filter]") {
    Percolated all;
    all.put(entry("w", {"a"}, term("data.x", 1)));
    all.put(entry("w", {"b"}));
    CHECK(all.match(event("a", {{"x", 1}})).empty());
    CHECK(all.match(event("b")) == Ids{"w"});
    all.remove("w");
    all.remove("w");
    CHECK(all.match(event("b")).empty());
    CHECK(all.size() == 0);
}

TEST_CASE("among a hundred thousand filters an event costs only its matches", "[retry][filter]") {
    Percolated all;
    for (int i = 0; i < 100'000; ++i) {
        all.put(entry(
            "w" + std::to_string(i), {"order.*"},
            {{"bool",
              {{"must",
                {term("data.customer", i), {{"range", {{"data.price", {{"gte", 10}}}}}}}}}}}));
    }
    CHECK(all.match(event("order.created", {{"customer", 77}, {"price", 20}})) == Ids{"w77"});
    CHECK(all.evaluated == 1);
    CHECK(all.match(event("order.created", {{"customer", 77}, {"price", 1}})).empty());
}

TEST_CASE("the index gives the same result as evaluating every filter", "[retry][filter]") {
    const std::vector<Json> queries = {
        term("data.a", 1),
        term("data.a", "1"),
        {{"terms", {{"data.a", {1, 2, true}}}}},
        {{"bool", {{"should", {term("data.a", 2), term("data.a", 3)}}}}},
        {{"bool", {{"must_not", term("data.a", 1)}}}},
        {{"exists", {{"field", "data.b"}}}},
        {{"bool", {{"filter", {{"exists", {{"field", "data.b"}}}}}, {"must", term("data.a", 1)}}}},
    };
    Percolated all;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        all.put(entry(std::to_string(i), {}, queries[i]));
    }
    for (const auto& a :
         {Json(1), Json(1.0), Json(2), Json("1"), Json(true), Json::array({3, 1})}) {
        for (const bool b : {false, true}) {
            auto one = event("t", {{"a", a}});
            if (b) one["data"]["b"] = "here";
            Ids expected;
            for (std::size_t i = 0; i < queries.size(); ++i) {
                Steps steps;
                if (*Query::compile(queries[i])->matches(tree_of(one), {}, steps)) {
                    expected.push_back(std::to_string(i));
                }
            }
            CAPTURE(one.dump());
            CHECK(all.match(one) == expected);
        }
    }
}

TEST_CASE("of other owners no filter is evaluated, and no term looked up",
          "[retry][filter][bounds]") {
    Percolated all;
    for (int i = 0; i < 200; ++i) {
        all.put(entry("f" + std::to_string(i), {}, {{"exists", {{"field", "data.a"}}}}, "other"));
        all.put(entry("g" + std::to_string(i), {}, term("data." + std::to_string(i), 1), "other"));
    }
    const auto one = event("t", {{"a", std::vector<Json>(10'000, Json::object())}, {"1", 1}});
    Steps steps;
    CHECK(all.Percolator::match(tree_of(one), "o", {}, steps).ids.empty());
    CHECK(steps.left() == Steps::kMax);
    all.put(entry("mine", {}, term("data.1", 1)));
    CHECK(all.match(one) == Ids{"mine"});
    CHECK(all.evaluated == 1);
    CHECK(all.owners() == std::vector<std::string>{"o", "other"});
    all.remove("mine");
    CHECK(all.owners() == std::vector<std::string>{"other"});
}

TEST_CASE("a costly filter takes no steps from cheaper ones of its owner",
          "[retry][filter][bounds]") {
    Percolated all;
    Json exists = Json::array();
    for (int i = 0; i < 200; ++i) exists.push_back({{"exists", {{"field", "data.a.b"}}}});
    all.put(entry("a-costly", {}, {{"bool", {{"should", exists}}}}));
    all.put(entry("b-cheap", {}, {{"prefix", {{"type", "t"}}}}));
    all.put(entry("c-all", {}));
    all.put(entry("d-other", {"other"}));
    all.put(entry("e-disabled", {}, {{"bool", {{"should", exists}}}}));
    all.enable("e-disabled", false);
    const auto one = event("t", {{"a", std::vector<Json>(20'000, Json::object())}});
    Steps steps;
    const auto match = all.Percolator::match(tree_of(one), "o", {}, steps);
    CHECK(match.ids == Ids{"b-cheap", "c-all"});
    CHECK(match.too_costly == Ids{"a-costly"});
    // Where not even the index can be asked, no filter has a result.
    Steps few{3};
    const auto unknown = all.Percolator::match(tree_of(one), "o", {}, few);
    CHECK(unknown.ids == Ids{"c-all"});
    CHECK(unknown.too_costly == Ids{"a-costly", "b-cheap"});
}

TEST_CASE("a disabled entry matches nothing until it is enabled", "[retry][filter]") {
    Percolated all;
    all.put(entry("w", {}, term("data.x", 1)));
    all.enable("w", false);
    CHECK(all.match(event("a", {{"x", 1}})).empty());
    all.enable("w", true);
    all.enable("nobody", true);
    CHECK(all.match(event("a", {{"x", 1}})) == Ids{"w"});
}

TEST_CASE("an event of many types' families costs its type once for each dot",
          "[retry][filter][bounds]") {
    Percolated all;
    all.put(entry("w", {"x"}));
    std::string type(1'023, '.');
    Steps steps;
    CHECK(all.Percolator::match(tree_of(event(type)), "o", {}, steps).ids.empty());
    CHECK(Steps::kMax - steps.left() < 64 * 1'024);
}

namespace {

Json exists_in_any(int clauses) {
    Json should = Json::array();
    for (int i = 0; i < clauses; ++i) {
        should.push_back({{"exists", {{"field", "data.a.b"}}}});
    }
    should.push_back(term("data.x", 1));
    return {{"bool", {{"should", should}}}};
}

/// In parts, until nothing is left.
Percolator::Match in_parts(const Percolator& all, const JsonTree& event, Steps& steps,
                           std::size_t part, int& parts) {
    auto sum = all.match(event, "o", {}, steps, part);
    for (parts = 1; !sum.rest.empty(); ++parts) {
        const auto left = sum.rest.size();
        const auto before = steps.left();
        auto more = all.go_on(std::exchange(sum.rest, {}), event, {}, steps, part);
        CHECK(before - steps.left() < part + Steps::kMaxOfFilter);
        REQUIRE(more.rest.size() < left);
        sum.ids.insert(sum.ids.end(), more.ids.begin(), more.ids.end());
        sum.too_costly.insert(sum.too_costly.end(), more.too_costly.begin(), more.too_costly.end());
        sum.evaluated += more.evaluated;
        sum.rest = std::move(more.rest);
    }
    std::sort(sum.ids.begin(), sum.ids.end());
    std::sort(sum.too_costly.begin(), sum.too_costly.end());
    return sum;
}

}  // namespace

TEST_CASE("an event that is matched in parts has the same matches as at once", "[retry][filter]") {
    Percolator all;
    for (int i = 0; i < 60; ++i) {
        const auto n = std::to_string(i);
        all.put(entry("costly" + n, {}, exists_in_any(1 + i)));
        all.put(entry("term" + n, {}, term("data.x", i % 2)));
        all.put(entry("no_filter" + n, {i % 3 == 0 ? "other" : "t"}));
        all.put(entry("foreign" + n, {}, term("data.x", 1), "p"));
    }
    for (const int x : {0, 1, 2}) {
        const auto posted =
            tree_of(event("t", {{"x", x}, {"a", std::vector<Json>(200, Json::object())}}));
        for (const std::size_t most : {0, 500, 20'000, 200'000, 5'000'000}) {
            Steps at_once{most};
            const auto expected = all.match(posted, "o", {}, at_once);
            CHECK(expected.rest.empty());
            for (const std::size_t part : {1, 1'000, 16'384}) {
                Steps steps{most};
                int parts = 0;
                const auto found = in_parts(all, posted, steps, part, parts);
                CHECK(found.ids == expected.ids);
                CHECK(found.too_costly == expected.too_costly);
                CHECK(found.evaluated == expected.evaluated);
                CHECK(steps.left() == at_once.left());
                if (most == 5'000'000) CHECK(parts > 2);
            }
        }
    }
}

TEST_CASE("a filter that changes between two parts of a match counts in its new form",
          "[retry][filter]") {
    Percolator all;
    for (const auto* const id : {"a", "b", "c", "d", "e"}) {
        all.put(entry(id, {}, exists_in_any(3)));
    }
    const auto posted =
        tree_of(event("t", {{"x", 1}, {"a", std::vector<Json>(20, Json::object())}}));
    Steps steps;
    auto first = all.match(posted, "o", {}, steps, 1);
    auto second = all.go_on(first.rest, posted, {}, steps, 1);
    REQUIRE(second.rest.size() >= 3);
    const auto rest = second.rest;
    all.remove(rest[0]);
    all.put(entry(rest[1], {"other"}));
    all.put(entry(rest[2], {}, term("data.x", 2)));
    all.put(entry("new", {}));
    auto last = all.go_on(rest, posted, {}, steps);
    CHECK(last.rest.empty());
    Ids expected{rest.begin() + 3, rest.end()};
    std::sort(expected.begin(), expected.end());
    CHECK(last.ids == expected);
}
