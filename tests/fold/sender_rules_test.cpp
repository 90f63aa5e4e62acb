#include "fold/sender_rules.hpp"

#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using core::BlockedSender;
using core::SenderKind;
using core::SenderLimit;
using fold::SenderRules;

namespace {

struct World {
    void write(const core::SenderRule& rule) {
        sender->publish({log::Topic::kControl, 0}, core::encode(rule), [](const auto&) {});
        executor.run_for(100ms);
    }
    void open() {
        rules = std::make_unique<SenderRules>(
            "fold", SenderRules::Context{.log = *log, .executor = executor, .clock = clock});
        executor.run_for(1s);
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.seed = 1, .partitions = 1, .clock = &clock});
    std::unique_ptr<log::Publisher> sender = log->open_publisher(executor);
    std::unique_ptr<SenderRules> rules;
};

}  // namespace

TEST_CASE("rules about senders are followed as they are written and taken back") {
    World world;
    world.write(BlockedSender{.kind = SenderKind::owner, .name = "before"});
    world.open();
    CHECK(world.rules->any());
    CHECK(world.rules->blocks(SenderKind::owner, "before"));
    world.write(BlockedSender{.kind = SenderKind::owner, .name = "shop"});
    CHECK(world.rules->blocks(SenderKind::owner, "shop"));
    CHECK_FALSE(world.rules->blocks(SenderKind::owner, "other"));
    CHECK(world.rules->blocked().size() == 2);
    world.write(BlockedSender{.kind = SenderKind::owner, .name = "shop", .blocked = false});
    world.write(BlockedSender{.kind = SenderKind::owner, .name = "before", .blocked = false});
    CHECK_FALSE(world.rules->blocks(SenderKind::owner, "shop"));
    CHECK_FALSE(world.rules->any());
    world.write(SenderLimit{.kind = SenderKind::vapid, .per_second = 7});
    CHECK(world.rules->any());
    CHECK(world.rules->limit(SenderKind::vapid) == 7);
    CHECK(world.rules->limit(SenderKind::subscription) == 0);
    world.write(SenderLimit{.kind = SenderKind::vapid});
    CHECK_FALSE(world.rules->any());
}

TEST_CASE("senders beyond the bound are not blocked") {
    World world;
    for (std::size_t i = 0; i <= core::kBlockedSendersMax; ++i) {
        world.sender->publish(
            {log::Topic::kControl, 0},
            core::encode(BlockedSender{.kind = SenderKind::owner, .name = std::to_string(i)}),
            [](const auto&) {});
    }
    world.executor.run_for(1s);
    world.open();
    CHECK(world.rules->blocked().size() == core::kBlockedSendersMax);
    CHECK(world.rules->blocks(SenderKind::owner, "0"));
    CHECK_FALSE(world.rules->blocks(SenderKind::owner, std::to_string(core::kBlockedSendersMax)));
}
