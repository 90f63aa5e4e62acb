#include "retry/home/delivery_shard.hpp"

#include "retry/event/event.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/record_view.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

constexpr int kShardWebhooks = 100;
constexpr int kShardEvents = 60;

/// The home of one partition, for an owner whose webhooks want every event; receivers never answer.
struct ShardWorld {
    ShardWorld() {
        for (int i = 0; i < kShardWebhooks; ++i) add("w" + std::to_string(i));
        shard.webhooks_known();
        shard.set_up_to_date(true);
        shard.open(0);
        executor.run_for(30s);
    }
    void add(const std::string& id) {
        Webhook webhook;
        webhook.id = id;
        webhook.owner = "o";
        webhook.url = "http://w.example/";
        shard.apply(0, *test::ReadBack{encode(webhook, SecretBox{keys})});
    }
    /// Posts events, which are read ahead: not all of their deliveries may be on their way at once.
    void read_ahead() {
        shard.set_up_to_date(false);
        for (int i = 0; i < kShardEvents; ++i) {
            const nlohmann::json event{
                {"specversion", "1.0"}, {"id", std::to_string(i)}, {"source", "/s"}, {"type", "t"}};
            sender->publish({log::Topic::kEvents, 0}, encode(*parse_structured(event.dump())),
                            [](const auto&) {});
        }
        executor.run_for(10s);
        shard.set_up_to_date(true);
        executor.run_for(20ms);
        REQUIRE(events() == kShardEvents);
    }
    std::uint64_t events() const { return shard.counts().tally.events[EventEnd::fanned_out]; }
    std::uint64_t deliveries() const { return shard.counts().tally.fan_outs; }
    core::Offset fanned_out() const { return shard.counts().fanned_out.at(0).offset; }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.seed = 1, .partitions = 1, .clock = &clock, .append_delay_max = 4s});
    std::unique_ptr<log::Publisher> sender = log->open_publisher(executor);
    std::shared_ptr<core::KeyRing> keys =
        std::make_shared<core::KeyRing>(core::KeyRing::generate());
    EventCache cache;
    ProvenApps proven;
    DeliveryShard shard{
        {.partitions = 1, .table = *TierTable::from({0s, 5s}), .node = {"a"}},
        {.log = *log, .clock = clock, .keys = keys, .cache = cache, .proven = proven},
        {.executor = executor, .send = [](const auto&, const auto&) {}},
        {.serving = [](core::Partition, bool, const std::string&) {},
         .fanned_out_up_to = [](core::Partition, core::Offset) {},
         .change_state = [](const auto&, const auto&) {},
         .catch_up = [](core::Partition, const auto&) {},
         .attempted = [](const auto&, const auto&) {},
         .highest_epoch = [](core::Partition) { return core::Epoch{0}; }}};
};

}  // namespace

// Fails where events that are read ahead are matched with webhooks that may have changed since.
TEST_CASE("while the webhooks cannot be read nothing is matched, read ahead or not",
          "[retry][node]") {
    ShardWorld world;
    world.read_ahead();
    world.shard.set_up_to_date(false);
    world.executor.run_for(60s);
    const auto matched = world.deliveries() / kShardWebhooks;
    CHECK(matched < kShardEvents);
    CHECK(world.fanned_out() < kShardEvents);

    world.add("new");
    world.shard.set_up_to_date(true);
    for (int i = 0; i < 600 && world.fanned_out() < kShardEvents; ++i)
        world.executor.run_for(100ms);
    CHECK(world.fanned_out() == kShardEvents);
    const auto rest = kShardEvents - matched;
    CHECK(world.deliveries() >= kShardEvents * kShardWebhooks + rest - 1);
}

TEST_CASE("a home that is closed matches nothing more", "[retry][node]") {
    ShardWorld world;
    world.read_ahead();
    world.shard.close(0);
    world.executor.run_for(60s);
    CHECK(world.events() == kShardEvents);
    CHECK(world.deliveries() < static_cast<std::size_t>(kShardEvents * kShardWebhooks));
}
