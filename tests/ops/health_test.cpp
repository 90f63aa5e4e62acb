#include "ops/health.hpp"

#include <catch2/catch.hpp>

using beckon::ops::Health;

TEST_CASE("a process is ready when every part has reported so") {
    Health health;
    health.set_ready("edge", false, "restoring partitions 1, 3");
    health.set_ready("endpoint", true);
    CHECK_FALSE(health.report().ready);
    CHECK(health.report().faults.at("edge") == "restoring partitions 1, 3");
    CHECK(health.report().live);

    health.set_ready("edge", true);
    CHECK(health.report().ready);
    CHECK(health.report().faults.empty());
}

TEST_CASE("a dead part makes the process neither live nor ready") {
    Health health;
    health.set_ready("edge", true);
    health.set_dead("edge", "shard edge-0 hangs");
    CHECK_FALSE(health.report().live);
    CHECK_FALSE(health.report().ready);
    CHECK(health.report().faults.at("edge") == "shard edge-0 hangs");
}

TEST_CASE("a warning is shown and makes nothing unready, and can be withdrawn") {
    Health health;
    health.set_ready("retry", true);
    health.set_warning("retry: fcm my-app", "401 UNAUTHENTICATED");
    health.set_warning("retry: fcm my-app", "403 PERMISSION_DENIED");
    CHECK(health.report().ready);
    CHECK(health.report().warnings ==
          std::map<std::string, std::string>{{"retry: fcm my-app", "403 PERMISSION_DENIED"}});
    health.set_warning("retry: fcm my-app", "");
    CHECK(health.report().warnings.empty());
}
