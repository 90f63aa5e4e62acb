#include "core/contain.hpp"

#include <stdexcept>

#include <catch2/catch.hpp>

using beckon::core::contain;
using beckon::core::thrown_by_place;

TEST_CASE("an exception ends its request, and is counted by its place") {
    bool worked = false;
    CHECK(contain("contain-test", [&] { worked = true; }));
    CHECK(worked);
    CHECK_FALSE(thrown_by_place().contains("contain-test"));
    for (int i = 0; i < 3; ++i) {
        CHECK_FALSE(contain("contain-test", [] { throw std::runtime_error("no"); }));
    }
    CHECK_FALSE(contain("contain-test-2", [] { throw 7; }));
    CHECK(thrown_by_place()["contain-test"] == 3);
    CHECK(thrown_by_place()["contain-test-2"] == 1);
}
