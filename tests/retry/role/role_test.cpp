#include "retry/role/role.hpp"

#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"
#include "support/locked_log.hpp"
#include "support/temp_dir.hpp"

#include <algorithm>
#include <memory>

#include <catch2/catch.hpp>
#include <sys/resource.h>

using namespace std::chrono_literals;
using namespace beckon;

// Fails where the role keeps the limit that it is started with, which is 1,024 on most hosts: then
// attempts beyond it fail as if their receivers could not be reached.
TEST_CASE("the role may open a descriptor for each of its attempts and connections",
          "[retry][role]") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit few = before;
    few.rlim_cur = std::min<rlim_t>(before.rlim_max, 256);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);

    const core::SystemClock clock;
    test::LockedLog log{log::make_memory_log({.seed = 1, .partitions = 1, .clock = &clock})};
    ops::Metrics metrics;
    ops::Health health;
    rlimit now{};
    {
        const test::TempDir directory;
        retry::RoleConfig config;
        config.directory = directory.path();
        config.port = 0;
        config.connections_max = 500;
        config.workers = 1'000;
        config.threads = 1;
        config.node = {"n"};
        config.partitions = 1;
        config.tiers = {0s, 5s};
        const retry::Role role{
            config, log,     std::make_shared<core::KeyRing>(core::KeyRing::generate()),
            clock,  metrics, health};
        ::getrlimit(RLIMIT_NOFILE, &now);
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(now.rlim_cur >= std::min<rlim_t>(before.rlim_max, 1'500));
}
