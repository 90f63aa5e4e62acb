#include "fold/webhook_owners.hpp"

#include "records/events.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using fold::WebhookOwners;

namespace {

constexpr core::Partition kPartitions = 3;

struct World {
    void write(const std::string& id, std::optional<std::string> value,
               const char* type = "beckon.webhook.v1") {
        core::Record record{.key = id, .value = std::move(value), .headers = {}};
        record.headers.push_back({core::header::kType, type});
        const auto partition = core::partition_of(id.substr(0, id.find('/')), kPartitions);
        sender->publish({log::Topic::kWebhooks, partition}, std::move(record), [](const auto&) {});
        executor.run_for(1s);
    }
    static std::string webhook(const std::string& owner, const std::string& types) {
        return R"({"owner":")" + owner + R"(","url":"https://a.example/","types":)" + types + "}";
    }
    void open() {
        owners = std::make_unique<WebhookOwners>(
            WebhookOwners::Options{
                .type = "beckon.subscription.gone", .partitions = kPartitions, .node = {"n"}},
            WebhookOwners::Context{.log = *log, .executor = executor, .clock = clock});
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log(
        {.seed = 1, .partitions = kPartitions, .clock = &clock, .append_delay_max = 4ms});
    std::unique_ptr<log::Publisher> sender = log->open_publisher(executor);
    std::unique_ptr<WebhookOwners> owners;
};

}  // namespace

TEST_CASE("an owner wants the types that its webhooks name") {
    World world;
    world.write("1", World::webhook("vapid-exact", R"(["beckon.subscription.gone"])"));
    world.write("2", World::webhook("vapid-family", R"(["order.*","beckon.subscription.*"])"));
    world.write("3", World::webhook("vapid-every", "[]"));
    world.write("4", World::webhook("vapid-star", R"(["*"])"));
    world.write("5",
                World::webhook("vapid-other", R"(["beckon.message.*","beckon.subscription"])"));
    world.write("6", World::webhook("shop", "[]"));
    world.open();
    CHECK(world.owners->may_want("vapid-other"));  // nothing is read yet
    world.executor.run_for(5s);
    for (const auto* owner : {"vapid-exact", "vapid-family", "vapid-every", "vapid-star"}) {
        CAPTURE(owner);
        CHECK(world.owners->may_want(owner));
    }
    CHECK_FALSE(world.owners->may_want("vapid-other"));
    CHECK_FALSE(world.owners->may_want("vapid-nobody"));
    CHECK_FALSE(world.owners->may_want("shop"));  // no key names it: it gets no such event
    CHECK(world.owners->size() == 4);
}

TEST_CASE("an owner may want an event as long as one of its webhooks takes it") {
    World world;
    world.open();
    world.executor.run_for(5s);
    CHECK_FALSE(world.owners->may_want("vapid-a"));
    world.write("1", World::webhook("vapid-a", "[]"));
    world.write("2", World::webhook("vapid-a", "[]"));
    CHECK(world.owners->may_want("vapid-a"));
    world.write("1", std::nullopt);
    world.write("1/state", R"({"enabled":false})", "beckon.webhook.state.v1");
    CHECK(world.owners->may_want("vapid-a"));
    world.write("2", World::webhook("vapid-a", R"(["order.*"])"));
    CHECK_FALSE(world.owners->may_want("vapid-a"));
    world.write("3", "no JSON");
    world.write("3", R"({"owner":3})");
    world.write("3", R"(["owner"])");
    CHECK(world.owners->size() == 0);
}
