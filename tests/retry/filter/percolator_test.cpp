#include "retry/filter/percolator.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using beckon::retry::Percolator;
using beckon::retry::Query;
using Json = nlohmann::json;
using Ids = std::vector<std::string>;

namespace {

Percolator::Entry entry(std::string id, Ids types, const Json& query = nullptr) {
    Percolator::Entry one{.id = std::move(id), .types = std::move(types), .query = std::nullopt};
    if (!query.is_null()) one.query = *Query::compile(query);
    return one;
}

Json event(const std::string& type, const Json& data = Json::object()) {
    return {{"type", type}, {"data", data}};
}

Json term(const std::string& field, const Json& value) { return {{"term", {{field, value}}}}; }

}  // namespace

TEST_CASE("an event reaches the webhooks of its type, of its family, and of every type",
          "[retry][filter]") {
    Percolator all;
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
    Percolator all;
    all.put(entry("w", {"a"}, term("data.x", 1)));
    all.put(entry("w", {"b"}));
    CHECK(all.match(event("a", {{"x", 1}})).empty());
    CHECK(all.match(event("b")) == Ids{"w"});
    all.remove("w");
    all.remove("w");
    CHECK(all.match(event("b")).empty());
    CHECK(all.size() == 0);
}

TEST_CASE("a hundred thousand filters cost an event what it matches", "[retry][filter]") {
    Percolator all;
    for (int i = 0; i < 100'000; ++i) {
        all.put(entry(
            "w" + std::to_string(i), {"order.*"},
            {{"bool",
              {{"must",
                {term("data.customer", i), {{"range", {{"data.price", {{"gte", 10}}}}}}}}}}}));
    }
    CHECK(all.match(event("order.created", {{"customer", 77}, {"price", 20}})) == Ids{"w77"});
    CHECK(all.evaluated() == 1);
    CHECK(all.match(event("order.created", {{"customer", 77}, {"price", 1}})).empty());
}

TEST_CASE("the index finds what evaluating every filter finds", "[retry][filter]") {
    const std::vector<Json> queries = {
        term("data.a", 1),
        term("data.a", "1"),
        {{"terms", {{"data.a", {1, 2, true}}}}},
        {{"bool", {{"should", {term("data.a", 2), term("data.a", 3)}}}}},
        {{"bool", {{"must_not", term("data.a", 1)}}}},
        {{"exists", {{"field", "data.b"}}}},
        {{"bool", {{"filter", {{"exists", {{"field", "data.b"}}}}}, {"must", term("data.a", 1)}}}},
    };
    Percolator all;
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
                if (Query::compile(queries[i])->matches(one)) expected.push_back(std::to_string(i));
            }
            CAPTURE(one.dump());
            CHECK(all.match(one) == expected);
        }
    }
}
