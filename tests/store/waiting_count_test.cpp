#include "store/edge_fixture.hpp"
#include "store/edge_store.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;
using core::FinishReason;

namespace {

struct Counted {
    std::uint64_t messages = 0;
    std::optional<core::Timestamp> oldest;
    std::size_t steps = 0;
};

Counted count(EdgeFixture& f, std::int64_t now_s, std::size_t rows_max = 1000) {
    auto counting = f.store().count_waiting(3, at(now_s));
    Counted counted;
    for (bool done = false; !done; ++counted.steps) {
        const auto stepped = counting.step(rows_max);
        REQUIRE(stepped);
        done = *stepped;
    }
    counted.messages = counting.messages();
    const auto oldest = counting.oldest();
    REQUIRE(oldest);
    counted.oldest = *oldest;
    return counted;
}

}  // namespace

TEST_CASE("waiting messages are counted, and the oldest is dated") {
    EdgeFixture f;
    CHECK(count(f, 10).messages == 0);
    CHECK_FALSE(count(f, 10).oldest);
    f.put(5, "m1");
    f.put(6, "m2", {.topic = "news"});
    f.put(7, "m3");
    CHECK(count(f, 10).messages == 0);  // nothing is committed yet
    f.commit();
    CHECK(count(f, 10).messages == 3);
    CHECK(count(f, 10).oldest == at(5));
}

TEST_CASE("a message that is finished, replaced or expired does not wait") {
    EdgeFixture f;
    f.put(1, "short", {.ttl_s = 20});
    f.put(2, "acked");
    f.put(3, "old", {.topic = "news"});
    f.put(4, "new", {.topic = "news"});
    f.put(5, "last");
    f.add_tombstone("acked");
    f.finish("unknown", 6);  // remembered, but it never waited
    f.commit();
    CHECK(count(f, 20).messages == 3);
    CHECK(count(f, 20).oldest == at(1));
    CHECK(count(f, 30).messages == 2);
    CHECK(count(f, 30).oldest == at(4));
}

TEST_CASE("a count in pieces sees each row once") {
    EdgeFixture f;
    for (int i = 0; i < 25; ++i) f.put(i, "m" + std::to_string(i));
    f.commit();
    const auto rows_max = static_cast<std::size_t>(GENERATE(1, 7, 24, 25, 26));
    const auto counted = count(f, 30, rows_max);
    CHECK(counted.messages == 25);
    CHECK(counted.oldest == at(0));
    CHECK(counted.steps == std::max<std::size_t>(1, (25 + rows_max - 1) / rows_max));
}

// Verified to fail when only the rows that wait are counted: two pieces see all.
TEST_CASE("rows that are deleted and not compacted yet are stepped over a piece at a time") {
    EdgeFixture f;
    constexpr int kAll = 400;
    constexpr std::size_t kPiece = 10;
    for (int i = 0; i < kAll; ++i) f.put(i, "m" + std::to_string(i));
    f.commit();
    // Runs that are shorter than a piece, and one that is longer.
    for (int i = 0; i < kAll; ++i) {
        if (i % 5 == 0 && i < kAll / 2) continue;
        f.finish("m" + std::to_string(i), 1);
    }
    f.commit();
    const auto counted = count(f, 500, kPiece);
    CHECK(counted.messages == kAll / 2 / 5);
    CHECK(counted.oldest == at(0));
    CHECK(counted.steps >= kAll / (3 * kPiece));
}

TEST_CASE("another partition's messages are not counted") {
    EdgeFixture f;
    f.put(1, "m1");
    f.commit();
    for (const core::Partition other : {2, 4}) {
        auto counting = f.store().count_waiting(other, at(10));
        CHECK(counting.step(1000) == true);
        CHECK(counting.messages() == 0);
    }
}
