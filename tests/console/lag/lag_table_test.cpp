#include "console/lag/lag_table.hpp"

#include "console/lag/lag_text.hpp"
#include "console/overview/overview.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

const log::NamedPartition kWhere{"orders", 3};

core::Timestamp at(std::chrono::seconds time) { return core::Timestamp{1'000'000s + time}; }

/// Polls of one group at one partition.
class Polls {
public:
    explicit Polls(ReaderOf reader_of = {}) : table({.reader_of = std::move(reader_of)}) {}

    LagRow poll(std::chrono::seconds time, core::Offset position, core::Offset end,
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

TEST_CASE("a delay topic is known by its name behind the prefix") {
    const auto delay_of = delays_of_tiers({0s, 5s, 60s}, "beckon.");
    CHECK(delay_of({"beckon.retry.1", 7}) == 5s);
    CHECK(delay_of({"beckon.retry.2", 0}) == 60s);
    CHECK(delay_of({"beckon.retry.3", 0}) == 0s);
    CHECK(delay_of({"beckon.retry.done", 0}) == 0s);
    CHECK(delay_of({"other.retry.1", 0}) == 0s);
    CHECK(delay_of({"retry.1", 0}) == 0s);
}

TEST_CASE("the lag in seconds is the age of the first record that waits") {
    Polls polls;
    polls.poll(0s, 100, 100);
    const auto row = polls.poll(10s, 100, 200);  // 100 came within ten seconds
    CHECK(row.lag() == 100);
    CHECK(row.aged);
    CHECK(row.facts.behind == 10s);
    CHECK(std::chrono::duration<double>{polls.poll(20s, 150, 200).facts.behind}.count() ==
          Approx(15).margin(0.1));  // half of them: at about 5 s
}

TEST_CASE("a delay topic has no time until it is drained") {
    LagTable table{{.delay_of = [](const auto&) { return 60s; }}};
    for (const auto second : {0, 10}) {
        log::GroupsSnapshot snapshot;
        snapshot.positions.push_back({.group = "retry",
                                      .where = kWhere,
                                      .position = 100 + second,
                                      .ends = {0, 200},
                                      .owner = "retry-1"});
        table.update(std::move(snapshot), at(std::chrono::seconds{second}));
    }
    const auto row = table.rows().at(0);
    CHECK(row.lag() == 90);
    CHECK(row.is_delayed());
    CHECK(row.drain == std::nullopt);
}

TEST_CASE("each endpoint has a position of its own, whatever their group has committed") {
    const auto polled = [](Views views) {
        LagTable table{{.views_of = [views] { return views; }}};
        log::GroupsSnapshot snapshot;
        for (const auto* group : {"b.edge", "b.endpoint", "b.retry"}) {
            snapshot.positions.push_back(
                {.group = group, .where = {"subs", 1}, .position = 200, .ends = {0, 200}});
        }
        table.update(std::move(snapshot), at(0s));
        std::map<std::string, core::Offset> lags;
        for (const auto& row : table.rows()) lags[row.group] = row.lag();
        return lags;
    };
    CHECK(polled({"b.endpoint", {{"one", {0, 200}}, {"two", {0, 40}}}}) ==
          std::map<std::string, core::Offset>{
              {"b.edge", 0}, {"b.endpoint/one", 0}, {"b.endpoint/two", 160}, {"b.retry", 0}});
    CHECK(polled({"b.endpoint", {}}).contains("b.endpoint"));  // of builds that report none
}

TEST_CASE("an age from before the first poll is looked up in the log") {
    Polls polls;
    CHECK_FALSE(polls.poll(0s, 100, 200).aged);
    const auto wanted = polls.table.wanted(5);
    REQUIRE(wanted == std::vector<Probe>{{kWhere, 100}});
    polls.table.learn(wanted[0], at(-300s));
    const auto row = polls.table.rows().at(0);
    CHECK(row.aged);
    CHECK(row.facts.behind == 300s);
    CHECK(polls.table.wanted(5).empty());
}

TEST_CASE("only the groups of the roles, with the prefix, are Beckon's own") {
    const auto is_own = own_groups("b.");
    for (const auto* name :
         {"b.edge", "b.retry", "b.reliability", "b.endpoint", "b.endpoint/e-1"}) {
        CHECK(is_own(name));
    }
    for (const auto* name : {"edge", "orders", "b.analytics", "b.edges", "b.", "bb.edge"}) {
        CHECK_FALSE(is_own(name));
    }
}

TEST_CASE("a group of others has a row, and is neither a metric of status nor a finding") {
    LagTable table{{.is_own = own_groups("b.")}};
    for (const auto now : {0s, 60s}) {
        log::GroupsSnapshot snapshot;
        for (const auto* group : {"b.edge", "orders"}) {
            snapshot.positions.push_back(
                {.group = group, .where = kWhere, .position = 0, .ends = {0, 10}, .owner = ""});
        }
        table.update(std::move(snapshot), at(now));
    }
    const LagPage page{.rows = table.rows()};
    REQUIRE(page.rows.size() == 2);
    CHECK(page.rows[1].status == Status::stopped);
    const auto found = groups_of(page);
    REQUIRE(found.size() == 1);
    CHECK(found[0].group == "b.edge");
    const auto metrics = to_metrics(page);
    CHECK(metrics.find("beckon_console_group_status{consumergroup=\"b.edge\"") !=
          std::string::npos);
    CHECK(metrics.find("beckon_console_group_status{consumergroup=\"orders\"") ==
          std::string::npos);
    CHECK(metrics.find("kafka_consumergroup_lag{consumergroup=\"orders\"") != std::string::npos);
    CHECK_FALSE(parse_lag_page(to_json(page))->rows[1].own);
}

TEST_CASE("a poll looks up a bounded number of records") {
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

TEST_CASE("rates, the word and the time to drain follow from the last minute") {
    Polls polls;
    polls.poll(0s, 0, 10'000);
    polls.table.learn({kWhere, 0}, at(-600s));
    const auto row = polls.poll(10s, 1'000, 10'100);
    CHECK(row.facts.position_rate == Approx(100));
    CHECK(row.facts.append_rate == Approx(10));
    CHECK(row.status == Status::restoring);
    REQUIRE(row.drain);
    CHECK(std::chrono::duration<double>{*row.drain}.count() == Approx(9'100 / 90.0));
    CHECK(row.history == std::vector<core::Offset>{10'000, 9'100});
}

TEST_CASE("a position that does not move is STALLED with an owner, STOPPED without") {
    Polls polls;
    polls.poll(0s, 100, 100);
    polls.poll(10s, 100, 110);
    CHECK(polls.poll(29s, 100, 110).status == Status::ok);
    CHECK(polls.poll(30s, 100, 110).status == Status::stalled);
    polls.owner = "";
    CHECK(polls.poll(35s, 100, 110).status == Status::stopped);
    CHECK(polls.poll(40s, 110, 110).status == Status::ok);
    polls.poll(1'000s, 110, 110);
    CHECK(polls.poll(1'005s, 110, 111).status == Status::ok);  // it had nothing to read before
}

TEST_CASE("a group without members is owned by the node that the cluster names") {
    Polls polls{[](const auto& group, const auto& where) {
        return Reader{.name = group == "billing" && where == kWhere ? "node-7" : ""};
    }};
    polls.owner = "";
    const auto row = polls.poll(0s, 0, 0);
    CHECK(row.owner == "node-7");
    CHECK(row.facts.owned);
}

TEST_CASE("a group whose reader is dead is STOPPED at the first poll") {
    Polls polls{[](const auto&, const auto&) { return Reader{.dead = true}; }};
    polls.owner = "";
    CHECK(polls.poll(0s, 100, 100).status == Status::ok);
    CHECK(polls.poll(2s, 100, 130).status == Status::stopped);
}

TEST_CASE("retention that comes near is said in the row") {
    Polls polls;
    polls.retention["orders"] = 1h;
    polls.poll(0s, 100, 200, 90);
    polls.table.learn({kWhere, 100}, at(-3'000s));
    const auto near = polls.poll(5s, 100, 200, 90);
    CHECK(near.loss == Loss::near);
    REQUIRE(near.left);
    CHECK(*near.left == 595s);
    CHECK(polls.poll(10s, 100, 200, 120).loss == Loss::now);
}

TEST_CASE("a topic that was made anew shows no negative lag and no negative rate") {
    Polls polls;
    polls.poll(0s, 900, 1'000);
    const auto row = polls.poll(5s, 900, 10);
    CHECK(row.lag() == 0);
    CHECK(row.facts.append_rate == 0);
    CHECK(row.status == Status::ok);
}

TEST_CASE("a partition where nothing waited of late has no history") {
    Polls polls;
    CHECK(polls.poll(0s, 100, 100).history.empty());
    CHECK(polls.poll(5s, 100, 100).history.empty());
    CHECK(polls.poll(10s, 100, 103).history == std::vector<core::Offset>{0, 0, 3});
}

TEST_CASE("groups and partitions that are gone are forgotten") {
    Polls polls;
    polls.poll(0s, 1, 2);
    polls.table.update({}, at(5s));
    CHECK(polls.table.rows().empty());
    CHECK(polls.table.wanted(9).empty());
}
