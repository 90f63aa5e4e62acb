#include "app/installation/log_id_watch.hpp"

#include "log/control.hpp"
#include "log/embedded/embedded_log.hpp"
#include "support/temp_dir.hpp"

#include <future>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;

TEST_CASE("a process ends when the topic control names another log", "[app]") {
    const test::TempDir directory;
    const core::SystemClock clock;
    log::EmbeddedConfig config;
    config.directory = directory.path() / "log";
    config.partitions = 1;
    config.clock = &clock;
    const auto log = log::open_embedded_log(config);
    log::Control control{.log_id = "first",
                         .created = "2026-01-01T00:00:00Z",
                         .partitions = 1,
                         .tiers = {},
                         .keyring_fingerprint = {}};
    REQUIRE(log::write_control(*log, control, std::nullopt, 5s));

    ops::Health health;
    health.set_ready("process", true);
    std::promise<void> ended;
    const app::LogIdWatch watch{
        *log, health, {.log_id = "first", .every = 1ms, .after_failure = 1ms}, [&] {
            ended.set_value();
        }};
    const auto end = ended.get_future();
    CHECK(end.wait_for(200ms) == std::future_status::timeout);
    CHECK_FALSE(watch.is_another_log());
    CHECK(health.report().ready);

    const auto before = control;
    control.log_id = "second";
    REQUIRE(log::write_control(*log, control, before, 5s));
    REQUIRE(end.wait_for(30s) == std::future_status::ready);
    CHECK(watch.is_another_log());
    CHECK_FALSE(health.report().ready);
    CHECK_THAT(health.report().faults.at("log_id"), Catch::Contains("second"));
}
