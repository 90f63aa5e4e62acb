#include "retry/node/fan_out.hpp"

#include "retry/event/event.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/record_view.hpp"
#include "support/test_executor.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

constexpr int kFanOutWebhooks = 100;
constexpr int kEvents = 60;

/// The fan-out of two partitions, for an owner whose webhooks want every event.
struct FanOutWorld {
    FanOutWorld() {
        for (int i = 0; i < kFanOutWebhooks; ++i) add("w" + std::to_string(i));
    }
    void add(const std::string& id) {
        Webhook webhook;
        webhook.id = id;
        webhook.owner = "o";
        webhook.url = "http://w.example/";
        fan_out.apply(0, *test::ReadBack{encode(webhook, SecretBox{keys})});
    }
    void post(core::Partition partition, int count) {
        for (int i = 0; i < count; ++i) {
            const nlohmann::json event{
                {"specversion", "1.0"}, {"id", std::to_string(i)}, {"source", "/s"}, {"type", "t"}};
            sender->publish({log::Topic::kEvents, partition},
                            encode(*parse_structured(event.dump())), [](const auto&) {});
        }
        executor.run_for(10s);
    }
    /// Partition 0 has read kEvents ahead, and partition 1 is to take one on trial.
    void start_trial_beside_others() {
        post(0, kEvents);
        post(1, 1);
        fan_out.start(1, {.partition = 0});
        executor.run_for(20ms);
        fan_out.start(1, {.partition = 1, .careful = true});
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.seed = 1, .partitions = 2, .clock = &clock, .append_delay_max = 4s});
    std::unique_ptr<log::Publisher> sender = log->open_publisher(executor);
    std::shared_ptr<core::KeyRing> keys =
        std::make_shared<core::KeyRing>(core::KeyRing::generate());
    std::map<core::Partition, core::Offset> done;
    std::uint64_t written_at_trial = 0;
    int trials = 0;
    FanOut fan_out{
        {.log = *log, .executor = executor, .costly = executor, .keys = keys, .partitions = 2},
        {.done_up_to = [this](core::Partition p, core::Epoch,
                              core::Offset next) { done[p] = next; },
         .failed = [](core::Partition, core::Epoch, const core::Error&) {},
         .record =
             [this](core::Partition p, core::Epoch epoch, const FanOutState& state) {
                 if (state.trial && trials++ == 0) {
                     written_at_trial = fan_out.counts().deliveries;
                 }
                 executor.post([this, p, epoch] { fan_out.recorded(p, epoch); });
             }}};
};

}  // namespace

// Fails if the events that other partitions have read ahead are matched beside a trial: then an
// innocent event would be suspected of the fault of one of those.
TEST_CASE("a trial waits until events that others have read ahead are matched", "[retry][node]") {
    FanOutWorld world;
    world.start_trial_beside_others();
    REQUIRE(world.fan_out.counts().events == kEvents);
    for (int i = 0; i < 600 && world.done[1] < 1; ++i) world.executor.run_for(100ms);
    CHECK(world.done[1] == 1);
    world.executor.run_for(60s);
    CHECK(world.done[0] == kEvents);
    CHECK(world.trials == 1);
    // All but those that may be on their way to the log.
    CHECK(world.written_at_trial >= kEvents * kFanOutWebhooks - FanOutTurns::kDeliveriesMax / 2);
}

TEST_CASE("a trial does not wait for a partition that is no more served", "[retry][node]") {
    FanOutWorld world;
    world.start_trial_beside_others();
    world.executor.run_for(20ms);
    CHECK(world.trials == 0);
    world.fan_out.stop(0);
    world.executor.run_for(20ms);
    CHECK(world.trials == 1);
}

// Fails where events that are read ahead are matched with webhooks that may have changed since.
TEST_CASE("while the webhooks cannot be read nothing is matched, read ahead or not",
          "[retry][node]") {
    constexpr int kEvents = 60;
    FanOutWorld world;
    world.post(0, kEvents);
    world.fan_out.start(1, {.partition = 0});
    world.executor.run_for(20ms);
    REQUIRE(world.fan_out.counts().events == kEvents);
    world.fan_out.set_up_to_date(false);
    world.executor.run_for(60s);
    const auto matched = world.fan_out.counts().deliveries / kFanOutWebhooks;
    CHECK(matched < kEvents);
    CHECK(world.done[0] < kEvents);

    world.add("new");
    world.fan_out.set_up_to_date(true);
    for (int i = 0; i < 600 && world.done[0] < kEvents; ++i) world.executor.run_for(100ms);
    CHECK(world.done[0] == kEvents);
    const auto rest = kEvents - matched;
    CHECK(world.fan_out.counts().deliveries >= kEvents * kFanOutWebhooks + rest - 1);
}

// Fails where the first event of a trial is taken as soon as the log knows of it.
TEST_CASE("an event on trial waits for the webhooks like any other", "[retry][node]") {
    FanOutWorld world;
    world.post(0, 1);
    world.fan_out.start(1, {.partition = 0, .careful = true});
    while (world.trials == 0) REQUIRE(world.executor.step());
    world.fan_out.set_up_to_date(false);  // before the log answers
    world.executor.run_for(20s);
    CHECK(world.fan_out.counts().events == 0);
    world.add("new");
    world.fan_out.set_up_to_date(true);
    world.executor.run_for(20s);
    CHECK(world.done[0] == 1);
    CHECK(world.fan_out.counts().deliveries == kFanOutWebhooks + 1);
}
