#include "store/edge_fixture.hpp"
#include "store/edge_store.hpp"
#include "store/rows_touched.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;

TEST_CASE("a window of ten of a client with 100,000 pending messages costs about ten rows") {
    EdgeFixture f;
    constexpr int kPending = 100'000;
    for (int i = 1; i <= kPending; ++i) {
        // Every hundredth is a Topic message, so that the first phase has a thousand.
        const std::string topic = "t" + std::to_string(i);
        const Message how{
            .ttl_s = 86'400 * 20,
            .topic = i % 100 == 0 ? std::optional<std::string_view>{topic} : std::nullopt,
            .body = ""};
        f.put(i, "m" + std::to_string(i), how);
        if (f.part().commit_due()) f.commit();
    }
    f.commit();
    if (GENERATE(false, true)) f.reopen();

    DrainCursor cursor{.until = kPending + 1};
    CHECK(rows_touched([&] {
              CHECK(f.read(cursor, 10) == "m100 m200 m300 m400 m500 m600 m700 m800 m900 m1000");
          }) < 30);
    CHECK(rows_touched([&] { f.read(cursor, 10); }) < 30);
    cursor = {.topics = false, .after = 49'999, .until = kPending + 1};
    CHECK(rows_touched([&] { CHECK(f.read(cursor, 2) == "m50001 m50002"); }) < 20);
    CHECK(rows_touched([&] { CHECK(f.part().pending_count(f.uaid, 150) == 150); }) < 500);
}

TEST_CASE("a client that has nothing costs next to nothing among many that have") {
    EdgeFixture f;
    for (int i = 1; i <= 5'000; ++i) {
        const auto other = uaid_of("other-" + std::to_string(i));
        f.part().put(i, at(i), accepted(other, "m" + std::to_string(i), {.ttl_s = 86'400}),
                     nullptr);
    }
    f.commit();
    f.reopen();
    CHECK(rows_touched([&] { CHECK(f.drain().empty()); }) < 5);
}
