#include "reliability/totals/totals.hpp"

#include "reliability/milestone_texts.hpp"
#include "reliability/random_lives.hpp"

#include <map>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace reliability;
using std::chrono::hours;
using std::chrono::minutes;
using test::at_ms;

namespace {

const Timestamp kStart = at_ms(1'790'000'000'000);

/// Messages by id and their sums, as a partition's fold keeps them.
struct World {
    void reach(const std::string& id, Milestone milestone, Timestamp at) {
        totals.pass(at);
        const auto known = histories.find(id);
        std::optional<History> before;
        if (known != histories.end()) before = known->second;
        History after = before.value_or(History{at + hours{1}, at});
        totals.count(after.add({milestone, at}, at + hours{1}, at));
        totals.changed(before, after);
        histories.insert_or_assign(id, after);
    }
    std::uint64_t count(Milestone milestone, Timestamp now) const {
        return totals.counts(now)[milestone];
    }
    std::map<std::string, History> histories;
    Totals totals;
};

std::uint64_t sum(const core::MilestoneCounts& counts) {
    std::uint64_t all = 0;
    for (const auto milestone : core::kAllMilestones) all += counts[milestone];
    return all;
}

}  // namespace

TEST_CASE("each message is counted once, where it is") {
    World world;
    world.reach("a", Milestone::received, kStart);
    world.reach("b", Milestone::received, kStart);
    world.reach("b", Milestone::stored, kStart);
    CHECK(world.count(Milestone::received, kStart) == 1);
    CHECK(world.count(Milestone::stored, kStart) == 1);
    world.reach("b", Milestone::retrieved, kStart);
    world.reach("b", Milestone::delivered, kStart);
    CHECK(world.count(Milestone::stored, kStart) == 0);
    CHECK(world.count(Milestone::delivered, kStart) == 1);
    CHECK(sum(world.totals.counts(kStart)) == 2);
}

TEST_CASE("an ended message is counted for a day, a living one for as long as it lives") {
    World world;
    world.reach("lives", Milestone::stored, kStart);
    world.reach("ended", Milestone::errored, kStart);
    CHECK(world.count(Milestone::errored, kStart + hours{24} - minutes{5}) == 1);
    CHECK(world.count(Milestone::errored, kStart + hours{24}) == 0);
    CHECK(world.count(Milestone::stored, kStart + hours{24 * 30}) == 1);
}

TEST_CASE("entries that are older than the window are dropped") {
    World world;
    for (int hour = 0; hour < 24 * 10; ++hour) {
        const auto at = kStart + hours{hour};
        world.reach(std::to_string(hour), Milestone::received, at);
        world.reach(std::to_string(hour), Milestone::stored, at);
        world.reach(std::to_string(hour), Milestone::expired, at);
        std::size_t rows = 0;
        for (const auto& [name, bytes] : world.totals.changed_rows()) rows += bytes ? 1 : 0;
        world.totals.rows_written();
        CHECK(rows <= 4);  // live, slot, hour, tally: no more is rewritten
    }
    const auto now = kStart + hours{24 * 10 - 1};
    CHECK(world.count(Milestone::expired, now) == 24);
    CHECK(world.totals.flow(now).at({Milestone::received, Milestone::stored}).count() == 25);
}

TEST_CASE("a step that turns out to be two is counted as two") {
    World world;
    world.reach("a", Milestone::received, kStart);
    world.reach("a", Milestone::retrieved, kStart + minutes{2});
    CHECK(world.totals.flow(kStart).at({Milestone::received, Milestone::retrieved}).mean() ==
          minutes{2});
    world.reach("a", Milestone::stored, kStart + minutes{2});
    const auto flow = world.totals.flow(kStart);
    CHECK_FALSE(flow.contains({Milestone::received, Milestone::retrieved}));
    CHECK(flow.at({Milestone::received, Milestone::stored}).mean() == minutes{2});
    CHECK(flow.at({Milestone::stored, Milestone::retrieved}).mean() == minutes{0});
}

TEST_CASE("the rows that change are enough to restore everything") {
    const auto seed = GENERATE(range(0U, 20U));
    CAPTURE(seed);
    test::RandomLives random{seed};
    World world;
    std::map<std::string, std::string> stored;
    auto now = kStart;
    for (int i = 0; i < 300; ++i) {
        now += minutes{random.below(60)};
        world.reach("id-" + std::to_string(random.below(60)),
                    core::kAllMilestones[random.below(core::kMilestones)], now);
        if (random.below(10) == 0) world.totals.count_unknown();
        if (random.below(10) == 0) {
            world.totals.count_refused({Milestone::accepted, Milestone::retrieved});
        }
        if (random.below(4) != 0) continue;
        for (const auto& [name, bytes] : world.totals.changed_rows()) {
            if (bytes) stored.insert_or_assign(name, *bytes);
            if (!bytes) stored.erase(name);
        }
        world.totals.rows_written();
        Totals restored;
        for (const auto& [name, bytes] : stored) REQUIRE(restored.restore(name, bytes));
        REQUIRE(restored == world.totals);
        REQUIRE_FALSE(restored.dirty());
    }
}

TEST_CASE("a row that is none of ours is not taken") {
    Totals totals;
    CHECK_FALSE(totals.restore("", ""));
    CHECK_FALSE(totals.restore("x00000000", "abc"));
    CHECK_FALSE(totals.restore("l00000000", ""));
}
