// Compares the computed memory of filters with the bytes of operator new.
#include "retry/event/filter/percolator.hpp"
#include "support/allocations.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace test = beckon::test;
using beckon::retry::Percolator;
using beckon::retry::Query;
using Json = nlohmann::json;

// 255 KB of request held 350 MB, before: each of 36,000 terms for each of 64 types.
TEST_CASE("a filter holds each of its terms once, and what it holds is known beforehand",
          "[retry][filter][bounds]") {
    if (!test::allocations_are_counted()) return;
    Json should = Json::array();
    for (int list = 0; list < 140; ++list) {
        Json terms = Json::array();
        for (int i = 0; i < 256; ++i) terms.push_back(std::to_string(list * 256 + i));
        should.push_back({{"terms", {{"data.id", terms}}}});
    }
    std::vector<std::string> types;
    for (int i = 0; i < 64; ++i) types.push_back("type." + std::to_string(i));
    const std::vector<Json> queries = {
        {{"bool", {{"should", should}}}},
        {{"bool", {{"must_not", should}}}},
        {{"wildcard", {{"data.x", "*" + std::string(200, 'x') + "?"}}}},
        {{"match_phrase", {{"data.x", "some words of a phrase that is rather long"}}}},
        {{"range", {{"data.x", {{"gte", std::string(100, 'x')}, {"lt", "now-1d/d"}}}}}},
        nullptr};
    for (const auto& query : queries) {
        CAPTURE(query.dump().substr(0, 60));
        Percolator all;
        const auto before = test::allocations().held;
        std::size_t known = 0;
        {
            Percolator::Entry one{.id = "w", .owner = "o", .types = types, .query = std::nullopt};
            if (!query.is_null()) one.query = *Query::compile(query);
            known = Percolator::bytes_of(one);
            all.put(std::move(one));
        }
        const auto held = test::allocations().held - before;
        CHECK(held <= known);
        CHECK(known <= 2 * held + 4'096);
        CHECK(held < 16 * std::size_t{255'000});
    }
}
