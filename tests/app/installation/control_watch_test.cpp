#include "app/installation/control_watch.hpp"

#include <catch2/catch.hpp>

using namespace beckon;

TEST_CASE("a process ends, once, when the topic control names another log") {
    ops::Health health;
    health.set_ready("process", true);
    int ended = 0;
    app::LogIdWatch watch{health, "first", [&] { ++ended; }};
    log::Control control{.log_id = "first",
                         .created = "2026-01-01T00:00:00Z",
                         .partitions = 1,
                         .tiers = {},
                         .keyring_fingerprint = {}};
    watch.look(control);
    CHECK(ended == 0);
    CHECK_FALSE(watch.is_another_log());
    CHECK(health.report().ready);

    control.log_id = "second";
    watch.look(control);
    watch.look(control);
    CHECK(ended == 1);
    CHECK(watch.is_another_log());
    CHECK_FALSE(health.report().ready);
    CHECK_THAT(health.report().faults.at("log_id"), Catch::Contains("second"));
}
