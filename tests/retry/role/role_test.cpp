#include "retry/role/role.hpp"

#include "client/api_client.hpp"
#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"
#include "retry/api/owner_token.hpp"
#include "support/locked_log.hpp"
#include "support/temp_dir.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

using namespace std::chrono_literals;
using namespace beckon;
using Json = nlohmann::json;

namespace {

retry::RoleConfig config_in(const test::TempDir& directory) {
    retry::RoleConfig config;
    config.directory = directory.path();
    config.port = 0;
    config.threads = 1;
    config.node = {"n"};
    config.partitions = 1;
    config.tiers = {0s, 5s};
    return config;
}

/// A role with its port, and a caller of its API.
struct World {
    client::ApiAnswer ask(const client::ApiClient::Query& query) {
        auto answer = api.ask(query);
        REQUIRE(answer);
        return *answer;
    }
    /// Posts JSON as this type of event.
    client::ApiAnswer post(const std::string& path, const Json& body, const std::string& type) {
        return ask({.method = "POST", .path = path, .body = body.dump(), .content_type = type});
    }
    void wait_until_ready() {
        const auto until = std::chrono::steady_clock::now() + 30s;
        while (ask({.path = "/webhooks"}).status != 200) {
            REQUIRE(std::chrono::steady_clock::now() < until);
        }
    }

    const core::SystemClock clock;
    const test::TempDir directory;
    test::LockedLog log{log::make_memory_log({.seed = 1, .partitions = 1, .clock = &clock})};
    ops::Metrics metrics;
    ops::Health health;
    const std::shared_ptr<const core::KeyRing> keys =
        std::make_shared<core::KeyRing>(core::KeyRing::generate());
    retry::Role role{config_in(directory), log, keys, clock, metrics, health};
    client::ApiClient api{{.origin = "http://127.0.0.1:" + std::to_string(role.port()),
                           .token = *retry::make_token(*keys, {.owner = "shop"}),
                           .ca_file = ""}};
};

Json event(const std::string& id, std::size_t data_bytes) {
    return {{"specversion", "1.0"},
            {"id", id},
            {"source", "/s"},
            {"type", "t"},
            {"data", {{"text", std::string(data_bytes, 'x')}}}};
}

}  // namespace

TEST_CASE("large events are posted, and their faults named", "[retry][role]") {
    constexpr std::size_t kLarge = 100'000;
    const std::string one = "application/cloudevents+json";
    const std::string several = "application/cloudevents-batch+json";
    World world;
    world.wait_until_ready();
    CHECK(world.post("/events", event("1", kLarge), one).status == 202);
    const auto waited = world.post("/events?wait=1", event("2", kLarge), one);
    CHECK(waited.status == 200);
    CHECK(Json::parse(waited.body)["expected"] == 0);
    const auto batch =
        world.post("/events", {event("3", kLarge), Json{{"id", "4"}}, event("5", kLarge)}, several);
    CHECK(batch.status == 207);
    const auto answers = Json::parse(batch.body)["events"];
    REQUIRE(answers.size() == 3);
    CHECK(answers[0] == Json{{"status", 202}, {"source", "/s"}, {"id", "3"}});
    CHECK(answers[1]["status"] == 400);
    CHECK(answers[2]["status"] == 202);
    for (const auto* path : {"/events?wait=100", "/events?wait=1"}) {
        CHECK(world.post(path, {event("6", kLarge)}, several).status == 400);
    }
    CHECK(world.post("/events", event("7", kLarge), "application/pdf").status == 415);
    const auto refused =
        client::ApiClient{{.origin = "http://127.0.0.1:" + std::to_string(world.role.port()),
                           .token = "none",
                           .ca_file = ""}}
            .ask({.method = "POST",
                  .path = "/events",
                  .body = event("8", kLarge).dump(),
                  .content_type = one});
    REQUIRE(refused);
    CHECK(refused->status == 401);
}

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
        auto config = config_in(directory);
        config.workers = 1'000;
        const retry::Role role{
            config, log,     std::make_shared<core::KeyRing>(core::KeyRing::generate()),
            clock,  metrics, health};
        ::getrlimit(RLIMIT_NOFILE, &now);
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(now.rlim_cur >= std::min<rlim_t>(before.rlim_max, 2'024));
}
