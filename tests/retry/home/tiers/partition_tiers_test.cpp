#include "retry/home/tiers/partition_tiers.hpp"

#include "retry/home/tiers/tiers_world.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using log::Topic;
using test::TiersOwner;
using test::TiersWorld;
using Ids = std::vector<std::string>;

namespace {

constexpr auto kP = TiersWorld::kPartition;

}  // namespace

TEST_CASE("a new delivery is due at once, a failed one after the next tier's delay",
          "[retry][tiers]") {
    TiersWorld world;
    TiersOwner owner{world};
    owner.answer = [&](const auto& due) { owner.fail(due); };
    world.put("a");
    world.run_for(70s);
    REQUIRE(owner.ids() == Ids{"a", "a", "a"});
    CHECK(owner.seen[0].tier == 0);
    CHECK(owner.seen[1].tier == 1);
    CHECK(owner.seen[2].tier == 2);
    for (const auto& one : owner.seen) {
        CHECK(one.at >= one.due);
        CHECK(one.at - one.due <= 10ms);
    }
    CHECK(world.standing(Topic::kRetryDead) == Ids{"a/3"});
}

TEST_CASE("deliveries of a tier are due in the order of the log", "[retry][tiers]") {
    TiersWorld world;
    TiersOwner owner{world};
    for (const auto* id : {"a", "b", "c", "d"}) world.put(id, 1);
    world.run_for(4s);
    CHECK(owner.seen.empty());
    world.run_for(2s);
    CHECK(owner.ids() == Ids{"a", "b", "c", "d"});
}

TEST_CASE("a tier says when its first record that is not finished is due", "[retry][tiers]") {
    TiersWorld world;
    TiersOwner owner{world};
    world.put("a", 1);
    world.put("b", 1);
    world.run_for(2s);
    const auto of_tier_1 = [&] { return owner.tiers.states().at(1); };
    const auto first = of_tier_1();
    CHECK(first.where == log::TopicPartition{Topic::retry(1), TiersWorld::kPartition});
    CHECK(first.tier == 1);
    CHECK(first.delay == 5s);
    REQUIRE(first.until_due);
    CHECK(*first.until_due > 2s);
    CHECK(*first.until_due <= 3s + 100ms);
    world.run_for(10s);
    REQUIRE(owner.ids() == Ids{"a", "b"});
    REQUIRE(of_tier_1().until_due);
    CHECK(*of_tier_1().until_due < -6s);  // overdue: the owner has not answered

    owner.succeed(owner.seen[1].due_delivery);
    CHECK(of_tier_1().low == first.low);
    CHECK(of_tier_1().finished_above == 1);
    CHECK(of_tier_1().until_due);
    owner.succeed(owner.seen[0].due_delivery);
    CHECK(of_tier_1().low == first.low + 2);
    CHECK(of_tier_1().finished_above == 0);
    CHECK_FALSE(of_tier_1().until_due);
}

TEST_CASE("a long wait pauses its reader and is due to the millisecond all the same",
          "[retry][tiers]") {
    TiersWorld world{{0s, 3'600s}};
    TiersOwner owner{world};
    world.put("a", 1);
    world.run_for(60s);
    world.put("b", 1);
    world.run_for(2h);
    REQUIRE(owner.ids() == Ids{"a", "b"});
    CHECK(owner.seen[0].at - owner.seen[0].due <= 10ms);
    CHECK(owner.seen[1].at - owner.seen[1].due <= 10ms);
    CHECK(owner.seen[1].due - owner.seen[0].due >= 59s);
}

TEST_CASE("while a tier waits, attempts that end leave no timers behind", "[retry][tiers]") {
    const auto tier = GENERATE(1, 2);  // one that waits with its reader, one that has paused it
    TiersWorld w;
    w.put("waits", tier);
    TiersOwner owner{w};
    owner.answer = [&](const auto& due) { owner.succeed(due); };
    w.run_for(1s);
    const auto before = w.executor.pending();
    for (int i = 0; i < 100; ++i) {
        w.put("other-" + std::to_string(i));
        w.run_for(10ms);
    }
    CHECK(owner.seen.size() == 100);
    CHECK(w.executor.pending() <= before + 10);
    w.run_for(60s);
    CHECK(owner.ids().back() == "waits");
    CHECK(owner.seen.back().at - owner.seen.back().due < 2ms);
}

TEST_CASE("a full window holds the tiers back, and space lets them go on", "[retry][tiers]") {
    TiersWorld world;
    TiersOwner owner{world, 1, 16};
    for (int i = 0; i < 40; ++i) world.put("n" + std::to_string(i));
    world.run_for(1s);
    CHECK(owner.seen.size() == 14);  // an eighth is kept for the other tiers
    world.put("later", 1);
    world.run_for(6s);
    CHECK(owner.seen.back().id == "later");
    owner.succeed(owner.seen.front().due_delivery);
    world.run_for(1s);
    CHECK(owner.seen.size() == 16);
}

TEST_CASE("finished deliveries are in the log within a fifth of a second", "[retry][tiers]") {
    TiersWorld world;
    TiersOwner owner{world};
    owner.answer = [&](const auto& due) {
        if (due.delivery.id != "b") owner.succeed(due);
    };
    for (const auto* id : {"a", "b", "c"}) world.put(id);
    world.run_for(300ms);
    const auto tier = world.done()->tiers.at(0);
    // The first record is the owner's read barrier.
    CHECK(tier.finished == retry::Finished{.low = 2, .above = {{3, 4}}});
}

TEST_CASE("a take-over that takes long makes nothing late", "[retry][tiers]") {
    TiersWorld world;
    world.put("a", 1);
    world.run_for(100ms);
    const log::TopicPartition dead{Topic::kRetryDead, kP};
    world.log->hold_readers(dead, true);
    TiersOwner owner{world};
    world.run_for(1s);
    CHECK_FALSE(owner.started);
    world.log->hold_readers(dead, false);
    world.run_for(10s);
    REQUIRE(owner.ids() == Ids{"a"});
    CHECK(owner.seen[0].at - owner.seen[0].due <= 10ms);
}

TEST_CASE("a take-over reads the records since the last DoneRecord, not since the last take-over",
          "[retry][tiers]") {
    TiersWorld world;
    TiersOwner owner{world};
    owner.answer = [&](const auto& due) { owner.succeed(due); };
    for (int i = 0; i < 50; ++i) world.put("n" + std::to_string(i));
    world.run_for(1s);
    CHECK(world.done()->tiers.at(0).scan == 51);  // and the owner's read barrier
}

TEST_CASE("a promotion that may be in the log is searched for at a take-over", "[retry][crash]") {
    TiersWorld world;
    auto owner = std::make_unique<TiersOwner>(world);
    world.run_for(1s);
    owner->answer = [&](const auto& due) {
        if (due.delivery.id != "a") return owner->succeed(due);
        world.log->lose_next_answers(1);  // it is in the log, and the home does not know
        owner->fail(due);
    };
    world.put("a");
    world.put("b");
    // Long enough to read it and to record what is finished, and no second attempt to write it yet.
    world.run_for(100ms);
    CHECK(world.standing(Topic::retry(1)) == Ids{"a/1"});
    owner.reset();
    TiersOwner next{world, 2};
    world.run_for(30s);
    CHECK(next.ids() == Ids{"a"});
    CHECK(next.seen.at(0).tier == 1);
}

// Else the report of the second promotion moves the scan past the first, which is then lost.
TEST_CASE("a promotion that may be in the log is searched for though later ones were reported",
          "[retry][crash]") {
    TiersWorld world;
    auto owner = std::make_unique<TiersOwner>(world);
    world.run_for(1s);
    owner->answer = [&](const auto& due) {
        if (due.delivery.id == "a") world.log->lose_next_answers(1);
        owner->fail(due);
    };
    world.put("a");
    world.put("b");
    world.run_for(100ms);  // and no second attempt to write it yet
    CHECK(world.standing(Topic::retry(1)) == Ids{"a/1", "b/1"});
    owner.reset();
    TiersOwner next{world, 2};
    world.run_for(30s);
    CHECK(next.ids() == Ids{"a", "b"});
    for (const auto& one : next.seen) CHECK(one.tier == 1);
}

// Else the record that the second owner writes moves the scan past the promotion, whose source it
// has not read again.
TEST_CASE(
    "an owner that dies before it reads a promotion's source leaves the promotion to be found",
    "[retry][crash]") {
    TiersWorld world;
    auto owner = std::make_unique<TiersOwner>(world);
    world.run_for(1s);
    owner->answer = [&](const auto& due) {
        if (due.delivery.id == "a") owner->fail(due);
    };
    for (const auto* id : {"first", "second", "a"}) world.put(id);
    world.run_for(20ms);  // written to the next tier, not recorded as finished
    CHECK(world.standing(Topic::retry(1)) == Ids{"a/1"});
    owner.reset();
    owner = std::make_unique<TiersOwner>(world, 2, 1);
    world.run_for(1s);
    CHECK(owner->ids() == Ids{"first"});  // which fills the window: "a" is not read
    owner.reset();
    TiersOwner third{world, 3};
    world.run_for(30s);
    CHECK(third.ids() == Ids{"first", "second", "a"});
    CHECK(third.seen.at(2).tier == 1);
}

// --- crash rows: what each may cost (docs/formats/retry.md)

TEST_CASE("row 1: a crash before the attempt loses nothing", "[retry][crash]") {
    TiersWorld world;
    world.put("a");
    { TiersOwner owner{world}; }
    TiersOwner next{world, 2};
    world.run_for(1s);
    CHECK(next.ids() == Ids{"a"});
}

TEST_CASE("row 2: deliveries under way are attempted again, under the same id, and no others",
          "[retry][crash]") {
    TiersWorld world;
    auto owner = std::make_unique<TiersOwner>(world);
    owner->answer = [&](const auto& due) {
        if (due.delivery.id != "b") owner->succeed(due);
    };
    for (const auto* id : {"a", "b", "c"}) world.put(id);
    world.run_for(1s);
    owner.reset();
    TiersOwner next{world, 2};
    world.run_for(1s);
    CHECK(next.ids() == Ids{"b"});
}

TEST_CASE("rows 3 and 4: deliveries that were made and not yet recorded come again, and no others",
          "[retry][crash]") {
    TiersWorld world;
    auto owner = std::make_unique<TiersOwner>(world);
    owner->answer = [&](const auto& due) { owner->succeed(due); };
    world.put("a");
    world.run_for(1'100ms);  // recorded
    world.put("b");
    world.run_for(10ms);  // delivered, not recorded
    CHECK(owner->ids() == Ids{"a", "b"});
    owner.reset();
    TiersOwner next{world, 2};
    world.run_for(1s);
    CHECK(next.ids() == Ids{"b"});
}

TEST_CASE("row 5: an attempt whose failure was not written is repeated", "[retry][crash]") {
    TiersWorld world;
    auto owner = std::make_unique<TiersOwner>(world);
    world.put("a");
    world.run_for(1s);
    CHECK(owner->ids() == Ids{"a"});
    owner.reset();  // it failed, and no record says so
    TiersOwner next{world, 2};
    next.answer = [&](const auto& due) { next.fail(due); };
    world.run_for(6s);
    CHECK(next.ids() == Ids{"a", "a"});
    CHECK(next.seen[0].tier == 0);
    CHECK(next.seen[1].tier == 1);
}

TEST_CASE("row 6: a failure that is in the next tier is not attempted again at its source",
          "[retry][crash]") {
    TiersWorld world;
    auto owner = std::make_unique<TiersOwner>(world);
    owner->answer = [&](const auto& due) { owner->fail(due); };
    world.run_for(1s);
    world.put("a");
    world.run_for(20ms);  // written to the next tier, not recorded as finished
    CHECK(world.standing(Topic::retry(1)) == Ids{"a/1"});
    owner.reset();
    TiersOwner next{world, 2};
    world.run_for(30s);
    REQUIRE(next.ids() == Ids{"a"});
    CHECK(next.seen[0].tier == 1);
}

TEST_CASE("row 6: a dead letter that is in the log is not attempted again either",
          "[retry][crash]") {
    TiersWorld world{{0s}};
    auto owner = std::make_unique<TiersOwner>(world);
    owner->answer = [&](const auto& due) { owner->fail(due); };
    world.run_for(1s);
    world.put("a");
    world.run_for(20ms);
    CHECK(world.standing(Topic::kRetryDead) == Ids{"a/1"});
    owner.reset();
    TiersOwner next{world, 2};
    world.run_for(30s);
    CHECK(next.seen.empty());
}

TEST_CASE("row 7: a promotion whose report was lost is written twice and attempted once",
          "[retry][crash]") {
    TiersWorld world;
    TiersOwner owner{world};
    world.run_for(1s);
    owner.answer = [&](const auto& due) {
        if (due.ticket.tier > 0) return owner.succeed(due);
        world.log->lose_next_answers(1);
        owner.fail(due);
    };
    world.put("a");
    world.run_for(30s);
    CHECK(world.standing(Topic::retry(1)) == Ids{"a/1", "a/1"});
    CHECK(owner.ids() == Ids{"a", "a"});
    CHECK(owner.tally.deliveries[retry::DeliveryEnd::copy] == 1);
}

TEST_CASE("row 8: a promotion that the log refuses is written once it takes it", "[retry][crash]") {
    TiersWorld world;
    TiersOwner owner{world};
    world.run_for(1s);
    owner.answer = [&](const auto& due) {
        if (due.ticket.tier > 0) return owner.succeed(due);
        world.log->fail_next_publishes(3);
        owner.fail(due);
    };
    world.put("a");
    world.run_for(30s);
    CHECK(world.standing(Topic::retry(1)) == Ids{"a/1"});
    CHECK(owner.ids() == Ids{"a", "a"});
}

TEST_CASE("rows 9 and 10: late writes of a former owner are dropped at the next tier",
          "[retry][crash]") {
    TiersWorld world;
    TiersOwner former{world, 1};
    world.put("a");
    world.run_for(1s);
    CHECK(former.ids() == Ids{"a"});  // its attempt hangs
    TiersOwner next{world, 2};
    next.answer = [&](const auto& due) {
        due.ticket.tier == 0 ? next.fail(due) : next.succeed(due);
    };
    world.run_for(1s);
    former.fail(former.seen[0].due_delivery);  // now it fails there too
    world.run_for(30s);
    CHECK(world.standing(Topic::retry(1)) == Ids{"a/1", "a/1"});
    CHECK(next.ids() == Ids{"a", "a"});
}

TEST_CASE("row 11: a record that a former owner writes late loses by its epoch", "[retry][crash]") {
    TiersWorld world;
    TiersOwner former{world, 1};
    world.run_for(1s);
    TiersOwner next{world, 2};
    next.answer = [&](const auto& due) { next.succeed(due); };
    world.put("a");
    world.run_for(1s);
    former.tiers.stop([] {});
    world.run_for(1s);
    CHECK(world.done()->epoch == 2);
    CHECK(world.done()->tiers.at(0).finished.above.empty());
}

TEST_CASE("rows 12 and 13: a log that is away for a while costs no delivery", "[retry][crash]") {
    TiersWorld world;
    TiersOwner owner{world};
    owner.answer = [&](const auto& due) {
        due.ticket.tier < 2 ? owner.fail(due) : owner.succeed(due);
    };
    world.put("a");
    world.run_for(1s);
    world.log->set_away(true);
    world.run_for(60s);
    world.log->set_away(false);
    world.run_for(120s);
    CHECK(owner.ids() == Ids{"a", "a", "a"});
    CHECK(owner.seen.back().tier == 2);
}

TEST_CASE("row 14: a step of the host's clock makes nothing early and nothing late",
          "[retry][crash]") {
    TiersWorld world;
    TiersOwner owner{world};
    world.put("a", 1);
    world.run_for(1s);
    // The memory log stamps by this clock too: it is the broker's that steps back.
    world.clock.step_wall(-1h);
    world.run_for(3s);
    CHECK(owner.seen.empty());
    world.run_for(2s);
    CHECK(owner.ids() == Ids{"a"});
}

// Else older records set the new owner's clock.
TEST_CASE("row 14: after a broker's clock was set back a new owner attempts nothing early",
          "[retry][crash]") {
    TiersWorld world;
    world.broker_ahead = 1h;
    world.put("old", 1);
    world.run_for(1s);
    world.broker_ahead = 0h;
    world.put("a", 1);
    world.run_for(100ms);
    TiersOwner owner{world};
    world.run_for(30min);
    CHECK(owner.seen.empty());
    world.run_for(31min);
    CHECK(owner.ids() == Ids{"old", "a"});
}

TEST_CASE("row 14: a new delivery is not late either when a broker's clock was set back",
          "[retry][crash]") {
    TiersWorld world;
    TiersOwner owner{world};
    world.put("old");
    world.run_for(1s);
    world.broker_ahead = -1h;
    world.put("a");
    world.run_for(1s);
    CHECK(owner.ids() == Ids{"old", "a"});
}

TEST_CASE("row 15: deliveries that wait by another tier table stop the partition, both are shown",
          "[retry][crash]") {
    TiersWorld world;
    {
        TiersOwner owner{world};
        owner.answer = [&](const auto& due) { owner.fail(due); };
        world.put("a");
        world.run_for(1s);
    }
    world.table = *retry::TierTable::from({0s, 10s});
    TiersOwner next{world, 2};
    world.run_for(1s);
    REQUIRE(next.failure);
    CHECK(next.failure->fault == core::Fault::conflict);
    CHECK(next.failure->message ==
          "partition 1: retry.1 holds deliveries that wait by the tier table `0s 5s 60s`, "
          "`control` has `0s 10s`");
    CHECK(next.seen.empty());
}

TEST_CASE("row 15: a changed tier table counts once nothing waits by the old one",
          "[retry][crash]") {
    TiersWorld world;
    {
        TiersOwner owner{world};
        owner.answer = [&](const auto& due) { owner.succeed(due); };
        world.put("a");
        world.run_for(1s);
    }
    world.table = *retry::TierTable::from({0s, 10s});
    TiersOwner next{world, 2};
    next.answer = [&](const auto& due) { next.fail(due); };
    world.put("b");
    world.run_for(30s);
    CHECK_FALSE(next.failure);
    REQUIRE(next.ids() == Ids{"b", "b"});
    CHECK(next.seen[1].due - next.seen[0].at >= 10s);
}

TEST_CASE("row 17: an owner without any record of what is finished starts at the log's start",
          "[retry][crash]") {
    TiersWorld world;
    world.put("a");
    world.put("b", 1);
    TiersOwner owner{world};
    world.run_for(10s);
    CHECK(owner.ids() == Ids{"a", "b"});
}

TEST_CASE("row 18: unfinished deliveries that fell off the log are counted exactly",
          "[retry][crash]") {
    TiersWorld world;
    {
        TiersOwner owner{world};
        owner.answer = [&](const auto& due) {
            if (due.delivery.id == "b") owner.succeed(due);
        };
        for (const auto* id : {"a", "b", "c", "d"}) world.put(id);
        world.run_for(1s);
    }
    world.log->truncate_before({Topic::retry(0), kP}, 4);  // read barrier a b c | d
    TiersOwner next{world, 2};
    world.run_for(1s);
    CHECK(next.ids() == Ids{"d"});
    CHECK(next.tally.deliveries[retry::DeliveryEnd::lost] == 2);
}

TEST_CASE("a tier whose topic was made anew is taken from its start", "[retry][crash]") {
    TiersWorld world;
    {
        TiersOwner owner{world};
        owner.answer = [&](const auto& due) { owner.succeed(due); };
        for (int i = 0; i < 50; ++i) world.put("n" + std::to_string(i));
        world.run_for(1s);
    }
    world.log->make_anew({Topic::retry(0), kP});
    for (const auto* id : {"a", "b"}) world.put(id);
    TiersOwner next{world, 2};
    next.answer = [&](const auto& due) { next.succeed(due); };
    world.run_for(1s);
    CHECK(next.ids() == Ids{"a", "b"});
    CHECK(next.tally.deliveries[retry::DeliveryEnd::lost] == 0);
    world.put("c");
    world.run_for(1s);
    CHECK(next.ids() == Ids{"a", "b", "c"});
    CHECK(world.done()->tiers.at(0).finished.low <= 6);
}

TEST_CASE("row 18: deliveries that fall off the log while their home waits are counted exactly too",
          "[retry][crash]") {
    TiersWorld world;
    TiersOwner owner{world};
    world.run_for(1s);
    owner.answer = [&](const auto& due) { owner.succeed(due); };
    for (const auto* id : {"a", "b", "c", "d", "e"}) world.put(id, 1);
    world.run_for(1s);
    world.log->truncate_before({Topic::retry(1), kP}, 4);  // read barrier a b c | d e
    world.run_for(10s);
    CHECK(owner.ids() == Ids{"a", "d", "e"});  // the head was in its hands
    CHECK(owner.tally.deliveries[retry::DeliveryEnd::lost] == 2);
    for (const auto* id : {"f", "g", "h"}) world.put(id, 1);
    world.run_for(1s);
    world.log->truncate_before({Topic::retry(1), kP}, 9);  // f g h, and nothing stands there
    world.run_for(10s);
    CHECK(owner.ids().back() == "f");
    CHECK(owner.tally.deliveries[retry::DeliveryEnd::lost] == 4);
}

TEST_CASE("a clean stop leaves nothing to repeat", "[retry][crash]") {
    TiersWorld world;
    {
        TiersOwner owner{world};
        owner.answer = [&](const auto& due) { owner.succeed(due); };
        world.put("a");
        world.run_for(15ms);
        bool stopped = false;
        owner.tiers.stop([&] { stopped = true; });
        world.run_for(15ms);
        CHECK(stopped);
    }
    TiersOwner next{world, 2};
    world.run_for(1s);
    CHECK(next.seen.empty());
}
