#include "retry/filter/query.hpp"

#include "retry/filter/date.hpp"
#include "retry/filter/words.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using beckon::retry::Query;
using beckon::retry::RequiredTerms;
using Json = nlohmann::json;

namespace {

const Json kEvent = Json::parse(R"({
  "id": "e-1", "type": "order.created", "source": "/shop", "time": "2026-11-20T10:00:00Z",
  "data": {
    "price": 12.5, "count": 3, "paid": true, "note": null, "title": "Red running SHOES, size 42",
    "tags": ["new", "sale"], "placed": "2026-11-20T09:30:00+01:00", "a.b": {"c": "dotted"},
    "items": [{"name": "shoe", "qty": 2}, {"name": "sock", "qty": 5}]
  }
})");

bool matches(const char* query) {
    const auto compiled = Query::compile(std::string_view{query});
    INFO((compiled ? "" : compiled.error().message));
    REQUIRE(compiled);
    return compiled->matches(kEvent);
}

std::string fault(const char* query) {
    const auto compiled = Query::compile(std::string_view{query});
    REQUIRE_FALSE(compiled);
    return compiled.error().message;
}

}  // namespace

TEST_CASE("term and terms want a value that equals", "[retry][filter]") {
    CHECK(matches(R"({"term": {"data.count": 3}})"));
    CHECK(matches(R"({"term": {"data.count": 3.0}})"));
    CHECK(matches(R"({"term": {"data.paid": {"value": true}}})"));
    CHECK_FALSE(matches(R"({"term": {"data.count": "3"}})"));
    CHECK_FALSE(matches(R"({"term": {"data.title": "red"}})"));
    CHECK(matches(R"({"term": {"data.tags": "sale"}})"));  // any of a list
    CHECK(matches(R"({"terms": {"data.tags": ["old", "sale"]}})"));
    CHECK_FALSE(matches(R"({"terms": {"data.tags": []}})"));
    CHECK(matches(R"({"term": {"data.items.name": "sock"}})"));
    CHECK(matches(R"({"term": {"data.a.b.c": "dotted"}})"));
    CHECK(matches(R"({"ids": {"values": ["x", "e-1"]}})"));
}

TEST_CASE("match looks for words, match_phrase for words one after the other", "[retry][filter]") {
    CHECK(matches(R"({"match": {"data.title": "green shoes"}})"));
    CHECK_FALSE(
        matches(R"({"match": {"data.title": {"query": "green shoes", "operator": "and"}}})"));
    CHECK(matches(R"({"match": {"data.title": {"query": "SIZE red", "operator": "and"}}})"));
    CHECK(matches(R"({"match_phrase": {"data.title": "running shoes"}})"));
    CHECK_FALSE(matches(R"({"match_phrase": {"data.title": "shoes running"}})"));
    CHECK(matches(R"({"match": {"data.count": 3}})"));
}

TEST_CASE("range compares numbers, dates and text, each with its like", "[retry][filter]") {
    CHECK(matches(R"({"range": {"data.price": {"gte": 12.5, "lt": 13}}})"));
    CHECK_FALSE(matches(R"({"range": {"data.price": {"gt": 12.5}}})"));
    CHECK(matches(
        R"({"range": {"data.placed": {"gte": "2026-11-20T08:30:00Z", "lte": "2026-11-20T08:30:00Z"}}})"));
    CHECK(matches(R"({"range": {"time": {"lt": "2026-11-21"}}})"));
    CHECK_FALSE(matches(R"({"range": {"data.title": {"lt": "2026-11-21"}}})"));
    CHECK(matches(R"({"range": {"source": {"gte": "/a", "lt": "/t"}}})"));
    CHECK_FALSE(matches(R"({"range": {"data.price": {"gte": "10"}}})"));
    CHECK_FALSE(matches(R"({"range": {"data.absent": {"gte": 0}}})"));
}

TEST_CASE("exists, prefix and wildcard", "[retry][filter]") {
    CHECK(matches(R"({"exists": {"field": "data.tags"}})"));
    CHECK_FALSE(matches(R"({"exists": {"field": "data.note"}})"));  // null is nothing
    CHECK_FALSE(matches(R"({"exists": {"field": "data.absent"}})"));
    CHECK(matches(R"({"prefix": {"type": "order."}})"));
    CHECK(matches(R"({"wildcard": {"type": {"value": "or?er.*"}}})"));
    CHECK_FALSE(matches(R"({"wildcard": {"type": "order"}})"));
}

TEST_CASE("bool puts queries together", "[retry][filter]") {
    CHECK(matches(
        R"({"bool": {"must": [{"term": {"data.paid": true}}], "must_not": {"term": {"data.count": 4}}}})"));
    CHECK_FALSE(matches(R"({"bool": {"must_not": {"exists": {"field": "data.price"}}}})"));
    CHECK_FALSE(matches(R"({"bool": {"should": [{"term": {"data.count": 4}}]}})"));
    // Beside what must hold, should is a wish.
    CHECK(matches(
        R"({"bool": {"filter": {"match_all": {}}, "should": [{"term": {"data.count": 4}}]}})"));
    CHECK_FALSE(matches(
        R"({"bool": {"should": [{"match_all": {}}, {"match_none": {}}], "minimum_should_match": 2}})"));
    CHECK(matches(R"({"bool": {}})"));
}

TEST_CASE("nested wants one object for which everything holds", "[retry][filter]") {
    const char* both = R"({"nested": {"path": "data.items", "query": {"bool": {"must":
        [{"term": {"name": "shoe"}}, {"term": {"qty": 2}}]}}}})";
    const char* mixed = R"({"nested": {"path": "data.items", "query": {"bool": {"must":
        [{"term": {"name": "shoe"}}, {"term": {"qty": 5}}]}}}})";
    CHECK(matches(both));
    CHECK_FALSE(matches(mixed));
    CHECK(matches(
        R"({"bool": {"must": [{"term": {"data.items.name": "shoe"}}, {"term": {"data.items.qty": 5}}]}})"));
}

TEST_CASE("a fault is named with its place", "[retry][filter]") {
    CHECK(fault("{") == "$ is no JSON");
    CHECK(fault("[]") == "$ must be an object with one member, a query");
    CHECK(fault(R"({"fuzzy": {}})") == "$.fuzzy is no query that Beckon knows");
    CHECK(fault(R"({"bool": {"must": [{"match_all": {}}, {"range": {"p": {}}}]}})") ==
          "$.bool.must[1].range.p has no bound");
    CHECK(fault(R"({"bool": {"musst": []}})") == "$.bool.musst is not known here");
    CHECK(fault(R"({"term": {"a": null}})") == "$.term.a must be a string, a number or a boolean");
    CHECK(fault(R"({"range": {"t": {"gt": "now-1d"}}})") ==
          "$.range.t.gt date math is not known: give a date");
    CHECK(fault(R"({"match": {"t": "..."}})") == "$.match.t has no word");
    CHECK(fault(R"({"nested": {"path": "a"}})") == "$.nested lacks `query`");
    CHECK(fault(R"({"bool": {"should": [], "minimum_should_match": 1}})") ==
          "$.bool.minimum_should_match must be a number up to that of the clauses in should");
}

TEST_CASE("a query that is too deep or too long is refused", "[retry][filter]") {
    std::string deep = R"({"match_all": {}})";
    for (int i = 0; i < 20; ++i) deep = R"({"bool": {"must": )" + deep + "}}";
    CHECK(fault(deep.c_str()).ends_with("is nested too deeply"));
    Json wide{{"bool", {{"should", Json::array()}}}};
    for (int i = 0; i < 300; ++i) {
        wide["bool"]["should"].push_back({{"match_all", Json::object()}});
    }
    CHECK(fault(wide.dump().c_str()).ends_with("has too many clauses"));
}

TEST_CASE("what a query requires is its narrowest term", "[retry][filter]") {
    const auto required = [](const char* query) {
        return Query::compile(std::string_view{query})->required();
    };
    CHECK(required(R"({"term": {"a": "x"}})") == RequiredTerms{"a", {"sx"}});
    CHECK(required(R"({"bool": {"must": [{"terms": {"a": [1, 2]}}, {"term": {"b": 1.0}}]}})") ==
          RequiredTerms{"b", {"n1.0"}});
    CHECK(required(R"({"bool": {"should": [{"term": {"a": 1}}, {"term": {"a": 2}}]}})") ==
          RequiredTerms{"a", {"n1.0", "n2.0"}});
    CHECK(required(R"({"bool": {"should": [{"term": {"a": 1}}, {"exists": {"field": "b"}}]}})") ==
          std::nullopt);
    CHECK(required(R"({"bool": {"must_not": {"term": {"a": 1}}}})") == std::nullopt);
}

TEST_CASE("dates are days or RFC 3339", "[retry][filter]") {
    using beckon::retry::parse_date;
    const auto day = *parse_date("2026-11-20");
    CHECK(*parse_date("2026-11-20T00:00:00Z") == day);
    CHECK(*parse_date("2026-11-20T01:00:00.5+01:00") == day + 500ms);
    CHECK(*parse_date("2026-11-19T22:30-01:30") == day);
    for (const auto* bad :
         {"2026-13-01", "2026-02-30", "2026-1-1", "20261120", "2026-11-20 10:00",
          "2026-11-20T25:00Z", "2026-11-20T10:00:00.Z", "2026-11-20T10:00Zx", ""}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_date(bad));
    }
}

TEST_CASE("wildcards go through any text in bounded time", "[retry][filter]") {
    using beckon::retry::fits_wildcard;
    CHECK(fits_wildcard("", ""));
    CHECK(fits_wildcard("*", ""));
    CHECK(fits_wildcard("a*b*c", "axxbxxc"));
    CHECK_FALSE(fits_wildcard("a*b*c", "axxbxx"));
    CHECK_FALSE(fits_wildcard("?", ""));
    CHECK_FALSE(fits_wildcard("*a*a*a*a*a*b", std::string(1'000, 'a')));
}
