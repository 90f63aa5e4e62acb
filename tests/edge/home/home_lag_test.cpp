#include "edge/home/home_metrics.hpp"

#include <catch2/catch.hpp>

using beckon::edge::HomeLag;

TEST_CASE("the progress of a restore is between 0 and 1, and 1 where there is none") {
    CHECK(HomeLag{}.restored_ratio() == 1.0);
    CHECK(HomeLag{.records = 7}.restored_ratio() == 1.0);  // of homes that follow
    CHECK(HomeLag{.records = 40, .restored = 0, .to_restore = 40}.restored_ratio() == 0.0);
    CHECK(HomeLag{.records = 10, .restored = 30, .to_restore = 10}.restored_ratio() == 0.75);
}
