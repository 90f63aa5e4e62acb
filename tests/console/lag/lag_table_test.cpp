#include "console/lag/lag_table.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

const log::NamedPartition kWhere{"orders", 3};

core::Timestamp at(std::chrono::seconds time) { return core::Timestamp{1'000'000s + time}; }

/// Looks of one group at one partition.
class Looks {
public:
    explicit Looks(OwnerOf owner_of = {}) : table(std::move(owner_of)) {}

    LagRow look(std::chrono::seconds time, core::Offset position, core::Offset end,
                core::Offset start = 0) {
        log::GroupsSnapshot snapshot;
        snapshot.positions.push_back({.group = "billing",
                                      .where = kWhere,
                                      .position = position,
                                      .ends = {start, end},
                                      .owner = owner});
        snapshot.retention = retention;
        table.update(std::move(snapshot), at(time));
        return table.rows().at(0);
    }

    LagTable table;
    std::string owner = "billing-1";
    std::map<std::string, std::chrono::milliseconds> retention;
};

}  // namespace

TEST_CASE("the lag in seconds is the age of the first record that waits", "[console]") {
    Looks looks;
    looks.look(0s, 100, 100);
    const auto row = looks.look(10s, 100, 200);  // 100 came within ten seconds
    CHECK(row.lag() == 100);
    CHECK(row.aged);
    CHECK(row.facts.behind == 10s);
    CHECK(std::chrono::duration<double>{looks.look(20s, 150, 200).facts.behind}.count() ==
          Approx(15).margin(0.1));  // half of them: at about 5 s
}

TEST_CASE("an age from before the first look is looked up in the log", "[console]") {
    Looks looks;
    CHECK_FALSE(looks.look(0s, 100, 200).aged);
    const auto wanted = looks.table.wanted(5);
    REQUIRE(wanted == std::vector<Probe>{{kWhere, 100}});
    looks.table.learn(wanted[0], at(-300s));
    const auto row = looks.table.rows().at(0);
    CHECK(row.aged);
    CHECK(row.facts.behind == 300s);
    CHECK(looks.table.wanted(5).empty());
}

TEST_CASE("nobody looks up more records than a look may cost", "[console]") {
    LagTable table;
    log::GroupsSnapshot snapshot;
    for (core::Partition p = 0; p < 50; ++p) {
        snapshot.positions.push_back(
            {.group = "g", .where = {"t", p}, .position = 0, .ends = {0, 10 + p}, .owner = ""});
    }
    table.update(std::move(snapshot), at(0s));
    const auto wanted = table.wanted(8);
    CHECK(wanted.size() == 8);
    CHECK(wanted[0].where.partition == 49);  // the furthest behind first
}

TEST_CASE("rates, the word and the time to drain follow from the last minute", "[console]") {
    Looks looks;
    looks.look(0s, 0, 10'000);
    looks.table.learn({kWhere, 0}, at(-600s));
    const auto row = looks.look(10s, 1'000, 10'100);
    CHECK(row.facts.position_rate == Approx(100));
    CHECK(row.facts.append_rate == Approx(10));
    CHECK(row.status == Status::restoring);
    REQUIRE(row.drain);
    CHECK(std::chrono::duration<double>{*row.drain}.count() == Approx(9'100 / 90.0));
    CHECK(row.history == std::vector<core::Offset>{10'000, 9'100});
}

TEST_CASE("a position that stands still is STALLED with an owner, STOPPED without", "[console]") {
    Looks looks;
    looks.look(0s, 100, 100);
    looks.look(10s, 100, 110);
    CHECK(looks.look(29s, 100, 110).status == Status::ok);
    CHECK(looks.look(30s, 100, 110).status == Status::stalled);
    looks.owner = "";
    CHECK(looks.look(35s, 100, 110).status == Status::stopped);
    CHECK(looks.look(40s, 110, 110).status == Status::ok);
    looks.look(1'000s, 110, 110);
    CHECK(looks.look(1'005s, 110, 111).status == Status::ok);  // it had nothing to read before
}

TEST_CASE("who has no members is owned by whom the cluster says", "[console]") {
    Looks looks{[](const auto& group, const auto& where) {
        return group == "billing" && where == kWhere ? "node-7" : "";
    }};
    looks.owner = "";
    const auto row = looks.look(0s, 0, 0);
    CHECK(row.owner == "node-7");
    CHECK(row.facts.owned);
}

TEST_CASE("retention that comes near is said in the row", "[console]") {
    Looks looks;
    looks.retention["orders"] = 1h;
    looks.look(0s, 100, 200, 90);
    looks.table.learn({kWhere, 100}, at(-3'000s));
    const auto near = looks.look(5s, 100, 200, 90);
    CHECK(near.loss == Loss::near);
    REQUIRE(near.left);
    CHECK(*near.left == 595s);
    CHECK(looks.look(10s, 100, 200, 120).loss == Loss::now);
}

TEST_CASE("a topic that was made anew shows no negative lag and no negative rate", "[console]") {
    Looks looks;
    looks.look(0s, 900, 1'000);
    const auto row = looks.look(5s, 900, 10);
    CHECK(row.lag() == 0);
    CHECK(row.facts.append_rate == 0);
    CHECK(row.status == Status::ok);
}

TEST_CASE("a partition where nothing waited of late has no history", "[console]") {
    Looks looks;
    CHECK(looks.look(0s, 100, 100).history.empty());
    CHECK(looks.look(5s, 100, 100).history.empty());
    CHECK(looks.look(10s, 100, 103).history == std::vector<core::Offset>{0, 0, 3});
}

TEST_CASE("what is gone is forgotten", "[console]") {
    Looks looks;
    looks.look(0s, 1, 2);
    looks.table.update({}, at(5s));
    CHECK(looks.table.rows().empty());
    CHECK(looks.table.wanted(9).empty());
}
