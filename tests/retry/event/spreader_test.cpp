#include "retry/event/spreader.hpp"

#include "retry/event/event.hpp"
#include "retry/tiers/delivery.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/record_view.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

/// A spreader over a log in memory, and webhooks that want every event.
struct World {
    explicit World(int count) {
        for (int i = 0; i < count; ++i) {
            Webhook webhook;
            webhook.id = "w" + std::to_string(i);
            webhook.owner = "o";
            webhook.url = "http://w.example/";
            webhooks.apply(*test::ReadBack{encode(webhook, webhooks.box())});
        }
    }
    void post(int from, int to) {
        for (int i = from; i < to; ++i) {
            const nlohmann::json event{{"specversion", "1.0"},
                                       {"id", std::to_string(i)},
                                       {"source", "/shop"},
                                       {"type", "order.created"}};
            sender->publish({log::Topic::kEvents, 0}, encode(*parse_structured(event.dump())),
                            [](const auto&) {});
        }
    }
    /// Different ones that the log has.
    std::size_t deliveries() const {
        std::set<std::string> ids;
        for (const auto& stored : log->records({log::Topic::retry(0), 0})) {
            const auto delivery = decode_delivery(*test::ReadBack{stored.record});
            REQUIRE(delivery);
            ids.insert(delivery->id);
        }
        return ids.size();
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.seed = 1, .partitions = 1, .clock = &clock, .append_delay_max = 4s});
    std::unique_ptr<log::Publisher> sender = log->open_publisher(executor);
    std::unique_ptr<log::Publisher> publisher = log->open_publisher(executor);
    WebhookDirectory webhooks{
        SecretBox{std::make_shared<core::KeyRing>(core::KeyRing::generate())}};
    core::Offset spread = 0;
    Spreader spreader{{},
                      *log,
                      *publisher,
                      executor,
                      webhooks,
                      {.spread_up_to = [this](core::Offset next) { spread = next; },
                       .failed = [](const auto&) {}}};
};

}  // namespace

// Verified to fail when the spreader reads on whatever is under way.
TEST_CASE("no more deliveries are under way than may be, and all are written in the end",
          "[retry][event][bounds]") {
    constexpr int kWebhooks = 100;
    constexpr int kEvents = 60;
    World world{kWebhooks};
    world.spreader.start();
    for (int round = 1; round <= 2; ++round) {  // the second finds as much room as the first
        world.post((round - 1) * kEvents, round * kEvents);
        std::size_t most = 0;
        for (int i = 0; i < 3'000 && world.spread < round * kEvents; ++i) {
            world.executor.run_for(10ms);
            most = std::max(most, world.publisher->unanswered());
        }
        // An event is begun only below the bound, and then written for all of its webhooks.
        CHECK(most >= Spreader::kDeliveriesMax);
        CHECK(most <= Spreader::kDeliveriesMax + kWebhooks);
        CHECK(world.spread == round * kEvents);
        CHECK(world.publisher->unanswered() == 0);
        CHECK(world.deliveries() == static_cast<std::size_t>(round * kEvents * kWebhooks));
        CHECK(world.spreader.counts().copies == 0);
    }
}
