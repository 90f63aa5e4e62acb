// Compares the computed memory of filters with the bytes of operator new, which counts for the
// whole test program.
#include "retry/filter/percolator.hpp"

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using beckon::retry::Percolator;
using beckon::retry::Query;
using Json = nlohmann::json;

namespace {

/// Bytes that operator new has handed out and not got back.
std::size_t allocated = 0;

}  // namespace

/// The size stands in front of each block.
void* operator new(std::size_t size) {
    auto* block = static_cast<std::size_t*>(std::malloc(size + 16));
    if (block == nullptr) throw std::bad_alloc{};
    *block = size;
    allocated += size + 16;
    return reinterpret_cast<char*>(block) + 16;
}
void operator delete(void* at) noexcept {
    if (at == nullptr) return;
    auto* block = reinterpret_cast<std::size_t*>(static_cast<char*>(at) - 16);
    allocated -= *block + 16;
    std::free(block);
}
void operator delete(void* at, std::size_t) noexcept { operator delete(at); }

// 255 KB of request held 350 MB, before: each of 36,000 terms for each of 64 types.
TEST_CASE("a filter holds each of its terms once, and what it holds is known beforehand",
          "[retry][filter][bounds]") {
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
        const auto before = allocated;
        std::size_t known = 0;
        {
            Percolator::Entry one{.id = "w", .owner = "o", .types = types, .query = std::nullopt};
            if (!query.is_null()) one.query = *Query::compile(query);
            known = Percolator::bytes_of(one);
            all.put(std::move(one));
        }
        const auto held = allocated - before;
        CHECK(held <= known);
        CHECK(known <= 2 * held + 4'096);
        CHECK(held < 16 * std::size_t{255'000});
    }
}
