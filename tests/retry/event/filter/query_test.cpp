#include "retry/event/filter/query.hpp"

#include "retry/event/filter/date.hpp"
#include "retry/event/filter/date_math.hpp"
#include "retry/event/filter/scalars.hpp"
#include "retry/event/filter/wildcard.hpp"
#include "retry/event/filter/words.hpp"
#include "support/json_tree_of.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using namespace beckon::retry;
using beckon::test::tree_of;
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

const auto kNow = *beckon::retry::parse_date("2026-11-20T12:00:00Z");

bool matches(const Json& query, const Json& event) {
    const auto compiled = Query::compile(query);
    INFO((compiled ? "" : compiled.error().message));
    REQUIRE(compiled);
    Steps steps;
    const auto matched = compiled->matches(tree_of(event), kNow, steps);
    REQUIRE(matched);
    return *matched;
}

bool matches(const char* query) { return matches(Json::parse(query), kEvent); }

/// The steps of an evaluation, all of Steps::kMax if it is too costly.
std::size_t steps_of(const Json& query, const Json& event) {
    Steps steps;
    const auto matched =
        Query::compile(query, Query::From::log)->matches(tree_of(event), kNow, steps);
    CHECK(matched.has_value() == !steps.exhausted());
    return Steps::kMax - steps.left();
}

/// `count` names with dots between.
std::string long_path(std::size_t count) {
    std::string path = "a";
    while (--count > 0) path += ".a";
    return path;
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
    CHECK(fault(R"({"range": {"t": {"gt": "now-1x"}}})") ==
          "$.range.t.gt is no date math that Beckon knows: `now` or a date and `||`, then at most "
          "8 of +1d, -1d, /d, with y, M, w, d, h, m or s");
    CHECK(fault(R"({"query": {"match_all": {}}, "size": 10})") == "$.size is not known here");
    CHECK(fault(R"({"query": {"fuzzy": {}}})") == "$.query.fuzzy is no query that Beckon knows");
    CHECK(fault(R"({"term": {"a": {"value": 1, "case_insensitive": true}}})") ==
          "$.term.a.case_insensitive is not known here");
    CHECK(fault(R"({"term": {"a": {"value": 1, "boost": -1}}})") ==
          "$.term.a.boost must be a number that is not below 0");
    CHECK(fault(R"({"constant_score": {"boost": 1}})") == "$.constant_score lacks `filter`");
    CHECK(fault(R"({"nested": {"path": "a", "query": {"ids": {"values": ["1"]}}}})") ==
          "$.nested.query.ids is of the event: it must stand outside of `nested`");
    CHECK(fault(R"({"match": {"t": "..."}})") == "$.match.t has no word");
    CHECK(fault(R"({"nested": {"path": "a"}})") == "$.nested lacks `query`");
    CHECK(
        fault(R"({"bool": {"should": [], "minimum_should_match": 1}})") ==
        "$.bool.minimum_should_match must be a number up to 0 or a percentage (\"75%\"), of those "
        "that must hold, or below 0 of those that need not");
    for (const auto* least : {"101%", "-101%", "3", "-3", "1<2", "%", "", "1.5", "75 %"}) {
        CAPTURE(least);
        const Json query{
            {"bool",
             {{"should", {{{"match_all", Json::object()}}}}, {"minimum_should_match", least}}}};
        CHECK_FALSE(Query::compile(query));
    }
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

TEST_CASE("a query requires its narrowest term, each term once", "[retry][filter]") {
    using Terms = std::pair<std::string, std::vector<std::string>>;
    const auto required = [](const char* text) -> std::optional<Terms> {
        const auto query = Query::compile(std::string_view{text});
        const auto terms = query->required();
        if (!terms) return std::nullopt;
        return Terms{std::string{terms->field},
                     std::vector<std::string>{terms->values.begin(), terms->values.end()}};
    };
    CHECK(required(R"({"term": {"a": "x"}})") == Terms{"a", {"sx"}});
    CHECK(required(R"({"bool": {"must": [{"terms": {"a": [1, 2]}}, {"term": {"b": 1.0}}]}})") ==
          Terms{"b", {"n1"}});
    CHECK(required(R"({"bool": {"should": [{"term": {"a": 1}}, {"term": {"a": 2}}]}})") ==
          Terms{"a", {"n1", "n2"}});
    CHECK(required(R"({"bool": {"should": [{"term": {"a": 1}}, {"terms": {"a": [1, 1.0]}}]}})") ==
          Terms{"a", {"n1"}});
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

TEST_CASE("a wildcard fits as its pattern says, `?` a code point", "[retry][filter]") {
    const auto fits = [](const char* pattern, const std::string& text) {
        return Wildcard{pattern}.fits(text);
    };
    CHECK(fits("", ""));
    CHECK(fits("*", ""));
    CHECK(fits("a*b*c", "axxbxxc"));
    CHECK_FALSE(fits("a*b*c", "axxbxx"));
    CHECK_FALSE(fits("?", ""));
    CHECK(fits("?", "\u00e9"));
    CHECK(fits("?", "\U0001f600"));
    CHECK(fits("caf?", "caf\u00e9"));
    CHECK_FALSE(fits("caf??", "caf\u00e9"));
    CHECK(fits("*\u00e9?", "xx\u00e9\u00df"));
    CHECK_FALSE(fits("abc", "ab"));
    CHECK_FALSE(fits("ab", "abc"));
    // More states than a word has bits.
    const std::string longer(200, 'x');
    CHECK(fits(longer.c_str(), longer));
    CHECK_FALSE(fits(longer.c_str(), longer + "x"));
    CHECK(fits(("*" + longer + "?*").c_str(), "y" + longer + "\u00e9"));
}

TEST_CASE("a wildcard fits the same texts as trying every way", "[retry][filter]") {
    const std::function<bool(std::string_view, std::string_view)> tried =
        [&](std::string_view pattern, std::string_view text) {
            if (pattern.empty()) return text.empty();
            if (pattern.front() == '*') {
                for (std::size_t i = 0; i <= text.size(); ++i) {
                    if (tried(pattern.substr(1), text.substr(i))) return true;
                }
                return false;
            }
            if (text.empty()) return false;
            return (pattern.front() == '?' || pattern.front() == text.front()) &&
                   tried(pattern.substr(1), text.substr(1));
        };
    const auto word = [](std::size_t number, std::string_view alphabet) {
        std::string out;
        for (; number > 0; number /= alphabet.size()) out += alphabet[number % alphabet.size()];
        return out;
    };
    for (std::size_t p = 0; p < 256; ++p) {
        for (std::size_t t = 0; t < 64; ++t) {
            const auto pattern = word(p, "ab*?");
            const auto text = word(t, "ab");
            if (Wildcard{pattern}.fits(text) == tried(pattern, text)) continue;
            FAIL_CHECK(pattern << " and " << text);
        }
    }
}

TEST_CASE("integers compare as integers, also with fractions", "[retry][filter]") {
    const auto of = [](const char* number) { return Json{{"n", Json::parse(number)}}; };
    const char* above = R"({"range": {"n": {"gt": 9007199254740992}}})";  // 2^53
    const auto holds = [](const char* query, const Json& event) {
        return matches(Json::parse(query), event);
    };
    CHECK(holds(above, of("9007199254740993")));
    CHECK_FALSE(holds(above, of("9007199254740992")));
    CHECK_FALSE(holds(R"({"range": {"n": {"gte": 9007199254740993}}})", of("9007199254740992")));
    CHECK_FALSE(holds(R"({"term": {"n": 9007199254740993}})", of("9007199254740992")));
    CHECK_FALSE(holds(R"({"term": {"n": 9007199254740993}})", of("9007199254740992.0")));
    CHECK_FALSE(holds(R"({"match": {"n": 9007199254740993}})", of("9007199254740992")));
    CHECK_FALSE(holds(R"({"terms": {"n": [18446744073709551615]}})", of("18446744073709551614")));
    CHECK(holds(R"({"term": {"n": 3}})", of("3.0")));
    CHECK(holds(R"({"term": {"n": 100000}})", of("1e5")));
    CHECK(holds(R"({"range": {"n": {"gt": -1, "lt": 18446744073709551615}}})", of("0")));
    CHECK(holds(R"({"range": {"n": {"lt": -9223372036854775807}}})", of("-9223372036854775808")));

    const std::vector<const char*> ascending = {"-1e300",
                                                "-9223372036854775808",
                                                "-9223372036854775807",
                                                "-3",
                                                "-2.5",
                                                "-2",
                                                "0",
                                                "0.5",
                                                "1",
                                                "9007199254740992",
                                                "9007199254740993",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "18446744073709551614",
                                                "18446744073709551615",
                                                "1e20",
                                                "18446744073709551616000",
                                                "1e300"};
    const auto of_filter = [](const char* text) { return number_of(Json::parse(text)); };
    const auto of_event = [](const std::string& text) {
        const JsonTree tree{R"({"n":)" + text + "}"};
        std::optional<Number> number;
        tree.root().any_member(
            [&](auto, const auto& value) { return number = value.number(), true; });
        return *number;
    };
    for (std::size_t a = 0; a < ascending.size(); ++a) {
        for (std::size_t b = 0; b < ascending.size(); ++b) {
            CAPTURE(ascending[a], ascending[b]);
            const auto left = of_event(ascending[a]);
            const auto right = of_filter(ascending[b]);
            CHECK((left < right) == (a < b));
            CHECK((left == right) == (a == b));
            CHECK((number_term(left) == number_term(right)) == (a == b));
        }
    }
    CHECK(number_term(-0.0L) == number_term(0));
}

TEST_CASE("something exists at a path that leads to an object", "[retry][filter]") {
    const auto exists = [](const char* field, const char* event) {
        return matches({{"exists", {{"field", field}}}}, Json::parse(event));
    };
    CHECK(exists("data", R"({"data": {"a": 1}})"));
    CHECK(exists("data.a", R"({"data": {"a": {"b": [{"c": false}]}}})"));
    CHECK(exists("data.a", R"({"data": {"a": [null, {"b": 1}]}})"));
    CHECK_FALSE(exists("data", R"({"data": {}})"));
    CHECK_FALSE(exists("data", R"({"data": {"a": null, "b": [], "c": [null, {}]}})"));
}

TEST_CASE("a nested query takes paths from the event on, and from its objects on",
          "[retry][filter]") {
    const auto both = [](const char* path, const char* name, const char* qty, int wanted) {
        return matches(
            {{"nested",
              {{"path", path},
               {"query",
                {{"bool",
                  {{"must", {{{"term", {{name, "shoe"}}}}, {{"term", {{qty, wanted}}}}}}}}}}}}},
            kEvent);
    };
    CHECK(both("data.items", "data.items.name", "data.items.qty", 2));
    CHECK_FALSE(both("data.items", "data.items.name", "data.items.qty", 5));
    CHECK(both("data.items", "name", "data.items.qty", 2));
    CHECK_FALSE(both("data.items", "name", "qty", 5));

    const auto deep = Json::parse(
        R"({"data": {"orders": [{"items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}]},
                                {"items": [{"sku": "a", "qty": 2}]}]}})");
    const auto inner = [&](const char* outer, const char* path, const char* sku, const char* qty,
                           int wanted) {
        const Json items{
            {"nested",
             {{"path", path},
              {"query",
               {{"bool",
                 {{"filter", {{{"term", {{sku, "b"}}}}, {{"term", {{qty, wanted}}}}}}}}}}}}};
        return matches({{"nested", {{"path", outer}, {"query", items}}}}, deep);
    };
    CHECK(inner("data.orders", "data.orders.items", "data.orders.items.sku",
                "data.orders.items.qty", 2));
    CHECK_FALSE(inner("data.orders", "data.orders.items", "data.orders.items.sku",
                      "data.orders.items.qty", 1));
    CHECK(inner("data.orders", "items", "sku", "qty", 2));
    CHECK(inner("data.orders", "items", "items.sku", "data.orders.items.qty", 2));
}

TEST_CASE("wrappers of other systems around a query do not change its matches", "[retry][filter]") {
    CHECK(matches(R"({"query": {"term": {"data.count": 3}}})"));
    CHECK_FALSE(matches(R"({"query": {"term": {"data.count": 4}}})"));
    CHECK(matches(R"({"constant_score": {"filter": {"term": {"data.count": 3}}, "boost": 1.2}})"));
    CHECK_FALSE(matches(R"({"constant_score": {"filter": {"term": {"data.count": 4}}}})"));
    for (const auto* boosted :
         {R"({"term": {"data.count": {"value": 3, "boost": 2}}})",
          R"({"terms": {"data.count": [3], "boost": 2}})",
          R"({"terms": {"boost": 2, "zeta": [3], "data.count": [3]}})",
          R"({"match": {"data.title": {"query": "red", "boost": 2}}})",
          R"({"match_phrase": {"data.title": {"query": "red running", "boost": 2}}})",
          R"({"prefix": {"type": {"value": "order.", "boost": 2}}})",
          R"({"wildcard": {"type": {"value": "order.*", "boost": 2}}})",
          R"({"range": {"data.count": {"gte": 3, "boost": 2}}})",
          R"({"exists": {"field": "data.count", "boost": 2}})", R"({"match_all": {"boost": 2}})",
          R"({"ids": {"values": ["e-1"], "boost": 2}})",
          R"({"bool": {"filter": {"term": {"data.count": 3}}, "boost": 2}})",
          R"({"nested": {"path": "data.items", "query": {"term": {"qty": 2}}, "boost": 2}})"}) {
        CAPTURE(boosted);
        const auto query = Json::parse(boosted);
        if (query.contains("terms") && query["terms"].size() == 3) {
            CHECK_FALSE(Query::compile(query));  // one field, as ever
        } else {
            CHECK(matches(query, kEvent));
        }
    }
}

TEST_CASE("minimum_should_match is a number or a percentage, or the number that may fail",
          "[retry][filter]") {
    const auto with = [](const Json& least, int holding) {
        Json clauses = Json::array();
        for (int i = 0; i < 4; ++i) {
            clauses.push_back({{i < holding ? "match_all" : "match_none", Json::object()}});
        }
        return matches({{"bool", {{"should", clauses}, {"minimum_should_match", least}}}}, kEvent);
    };
    const auto least_of = [&](const Json& least) {
        for (int holding = 0; holding <= 4; ++holding) {
            if (with(least, holding)) return holding;
        }
        return -1;
    };
    CHECK(least_of(2) == 2);
    CHECK(least_of("2") == 2);
    CHECK(least_of("75%") == 3);
    CHECK(least_of("74%") == 2);  // rounded down
    CHECK(least_of("100%") == 4);
    CHECK(least_of("0%") == 0);
    CHECK(least_of(-1) == 3);
    CHECK(least_of("-1") == 3);
    CHECK(least_of("-25%") == 3);
    CHECK(least_of("-24%") == 4);
    CHECK(matches(
        R"({"match": {"data.title": {"query": "red green shoes", "minimum_should_match": "66%"}}})"));
    CHECK_FALSE(matches(
        R"({"match": {"data.title": {"query": "red green blue", "minimum_should_match": 2}}})"));
}

TEST_CASE("a range reckons with now", "[retry][filter]") {
    const auto within = [](const char* bound, const char* value, const char* time) {
        return matches({{"range", {{"time", {{bound, value}}}}}}, Json{{"time", time}});
    };
    CHECK(within("gte", "now-1d", "2026-11-19T12:00:00Z"));
    CHECK_FALSE(within("gte", "now-1d", "2026-11-19T11:59:59Z"));
    CHECK(within("lt", "now", "2026-11-20T11:59:59Z"));
    CHECK_FALSE(within("lt", "now", "2026-11-20T12:00:00Z"));
    // Rounded so that the day itself is in, or out.
    CHECK(within("gte", "now/d", "2026-11-20T00:00:00Z"));
    CHECK(within("lte", "now/d", "2026-11-20T23:59:59.999Z"));
    CHECK_FALSE(within("gt", "now/d", "2026-11-20T23:59:59.999Z"));
    CHECK_FALSE(within("lt", "now/d", "2026-11-20T00:00:00Z"));
    CHECK(within("lt", "2026-11-20||+1M/d", "2026-12-19T23:59:59Z"));
    CHECK_FALSE(within("lt", "2026-11-20||+1M/d", "2026-12-20"));
}

TEST_CASE("date math adds and rounds in the calendar", "[retry][filter]") {
    using beckon::retry::DateMath;
    using beckon::retry::parse_date;
    const auto at = [](const char* text) {
        return DateMath::parse(text)->at(kNow, DateMath::Round::down);
    };
    CHECK(at("now") == kNow);
    CHECK(at("now-2h") == kNow - 2h);
    CHECK(at("now+90m-30s") == kNow + 90min - 30s);
    CHECK(at("now-d") == kNow - 24h);
    CHECK(at("now/w") == *parse_date("2026-11-16"));  // a Monday
    CHECK(at("now/M") == *parse_date("2026-11-01"));
    CHECK(at("now/y+1w") == *parse_date("2026-01-08"));
    CHECK(at("2026-01-31||+1M") == *parse_date("2026-02-28"));
    CHECK(at("2024-02-29||+1y") == *parse_date("2025-02-28"));
    CHECK(at("2026-01-31||-2M") == *parse_date("2025-11-30"));
    CHECK(at("2026-11-20T10:00Z||/d") == *parse_date("2026-11-20"));
    CHECK(at("now+99999y-99999y-99999y+1y").time_since_epoch() < 0ms);  // bounded, and defined
    for (const auto* bad :
         {"now+", "now-1", "now-1x", "now 1d", "now--1d", "now+-1d", "now/", "nowd", "2026-13-01||",
          "2026-11-20|", "x||+1d", "now+100000d", "now+1d+1d+1d+1d+1d+1d+1d+1d+1d", ""}) {
        CAPTURE(bad);
        CHECK_FALSE(DateMath::parse(bad));
    }
}

// The attack: seven minutes of the only thread, before.
TEST_CASE("a filter costs no more than its clauses times the event, however long its paths",
          "[retry][filter][bounds]") {
    Json exists = Json::array();
    for (int i = 0; i < 230; ++i) exists.push_back({{"exists", {{"field", long_path(255)}}}});
    const Json query{{"bool", {{"should", exists}}}};
    CHECK(fault(query.dump().c_str()).find("is a path of more than 64 names") != std::string::npos);
    Json event;
    event["a"] = Json(std::vector<Json>(87'000, Json::object()));
    CHECK(steps_of(query, event) == Steps::kMax);  // as it stands in a log of an earlier version
    // One clause costs two steps for each value.
    CHECK(steps_of(exists[0], event) < 3 * 87'000);
    CHECK(steps_of({{"exists", {{"field", "a"}}}}, event) < 3 * 87'000);
}

TEST_CASE("a filter reduces the steps by those that it took", "[retry][filter][bounds]") {
    const std::string text(256'000, 'a');
    const Json event{{"a", text}};
    std::string nasty = "*";
    for (int i = 0; i < 100; ++i) nasty += "a*";
    // Never more than a few steps for each 16 bytes and word of states.
    CHECK(steps_of({{"wildcard", {{"a", nasty + "b"}}}}, event) < text.size());
    CHECK(steps_of({{"wildcard", {{"a", "*" + std::string(1'000, 'a') + "b"}}}}, event) <=
          Steps::kMax);
    CHECK(steps_of({{"match_phrase", {{"a", "a a a a a b"}}}}, event) < text.size());
    CHECK(steps_of({{"prefix", {{"a", text.substr(0, 1'000)}}}}, event) < 100);
    CHECK(steps_of({{"term", {{"a", "x"}}}}, event) < 10);
    Steps none{0};
    CHECK_FALSE(Query::compile(Json{{"term", {{"a", "x"}}}})->matches(tree_of(event), kNow, none));
    CHECK(none.exhausted());
}

TEST_CASE("clauses, path and wildcards are bounded together", "[retry][filter][bounds]") {
    const auto with = [](int clauses, std::size_t names, const char* pattern) {
        Json list = Json::array();
        for (int i = 0; i < clauses; ++i) {
            list.push_back({{"wildcard", {{long_path(names), pattern}}}});
        }
        return Query::compile(Json{{"bool", {{"must", list}}}});
    };
    CHECK(with(255, 8, "a*b*c?"));
    CHECK_FALSE(with(255, 16, "a*b*c?"));
    CHECK_FALSE(with(255, 8, "a*b*c?d*e*f*g*"));
    CHECK(with(1, 64, "*"));
    CHECK_FALSE(with(1, 65, "*"));
    CHECK(with(255, 16, "a*b*c?").error().message ==
          "$ costs 16321, and may cost 8192: each clause the names of its path times one and its "
          "wildcards");
}
