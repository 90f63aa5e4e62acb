#include "edge/assignments.hpp"

#include <chrono>
#include <utility>

#include <catch2/catch.hpp>

using namespace beckon;
using edge::Assignment;
using edge::Assignments;
using edge::Home;
using edge::HomeShard;

namespace {

using Reports = std::map<core::Partition, HomeShard::Report>;

HomeShard::Report in(Home::State state) { return {.state = state, .behind = false, .stuck = {}}; }

/// A node of a log with four partitions, all of them placed, the first two here.
Assignments two_of_four() {
    Assignments out{4};
    out.placed(0, Assignment::home);
    out.placed(1, Assignment::home);
    out.placed(2, Assignment::standby);
    out.placed(3, Assignment::none);
    return out;
}

void report(Assignments& to, Reports now) {
    to.reported([](core::Partition) { return true; }, std::move(now));
}

}  // namespace

TEST_CASE("a node is ready once it serves what is placed on it") {
    auto node = two_of_four();
    report(node, {{0, in(Home::State::serving)}, {1, in(Home::State::restoring)}});
    CHECK(node.why_unready(true) == "partition 1 (restoring) not served yet");
    report(node, {{0, in(Home::State::serving)}, {1, in(Home::State::serving)}});
    CHECK(node.why_unready(true).empty());
}

TEST_CASE("how far the homes are restored is said, and how long it will take") {
    auto node = two_of_four();
    auto first = in(Home::State::restoring);
    first.restored = fold::Restored{.folded = 100, .left = 900, .passed = std::chrono::seconds{5}};
    auto second = first;
    second.restored =
        fold::Restored{.folded = 400, .left = 600, .passed = std::chrono::seconds{10}};
    auto standby = in(Home::State::restoring);
    standby.restored = fold::Restored{.folded = 1, .left = 999, .passed = std::chrono::seconds{9}};
    report(node, {{0, first}, {1, second}, {2, standby}});
    CHECK(node.why_unready(true) ==
          "partitions 0 (restoring), 1 (restoring) not served yet: 25 % restored, 31 s left");
    report(node, {{0, in(Home::State::serving)}, {1, in(Home::State::serving)}, {2, standby}});
    CHECK(node.why_unready(true).empty());  // nobody waits for a standby
}

TEST_CASE("a node whose homes fall behind is not ready until they have caught up") {
    auto node = two_of_four();
    auto late = in(Home::State::serving);
    late.behind = true;
    report(node, {{0, late}, {1, in(Home::State::serving)}});
    CHECK(node.why_unready(true) ==
          "partition 0 (behind) served late: more comes than this node folds");
    // It goes on serving: nobody takes a partition from it for that.
    CHECK(node.ready() == std::set<core::Partition>{0, 1});
    report(node, {{0, in(Home::State::serving)}, {1, in(Home::State::serving)}});
    CHECK(node.why_unready(true).empty());
}

TEST_CASE("a home that has reported nothing yet is starting") {
    CHECK(two_of_four().why_unready(true) ==
          "partitions 0 (starting), 1 (starting) not served yet");
}

TEST_CASE("a reason names a few partitions and counts the rest") {
    Assignments node{8};
    for (core::Partition p = 0; p < 8; ++p) node.placed(p, Assignment::home);
    CHECK(node.why_unready(true) ==
          "partitions 0 (starting), 1 (starting), 2 (starting), 3 (starting), 4 (starting)"
          " and 3 more not served yet");
}

TEST_CASE("a node is not ready before every partition is placed") {
    Assignments node{2};
    node.placed(0, Assignment::none);
    CHECK(node.why_unready(true) == "waiting for the placement of partitions");
    node.placed(1, Assignment::none);
    CHECK(node.why_unready(true).empty());
}

TEST_CASE("a placement from before a restart, without this node, makes no node ready") {
    Assignments node{1};
    node.placed(0, Assignment::none);
    CHECK(node.why_unready(false) == "waiting for the placement of partitions");
    node.placed(0, Assignment::standby);
    CHECK(node.why_unready(false).empty());
}

TEST_CASE("a stuck fold is named before anything else") {
    auto node = two_of_four();
    report(node, {{2, {.state = Home::State::restoring, .behind = false, .stuck = "no disk"}}});
    CHECK(node.why_unready(true) == "partition 2 is stuck: no disk");
}

TEST_CASE("a standby could take over unless it has fallen back") {
    auto node = two_of_four();
    report(node, {{0, in(Home::State::serving)},
                  {1, in(Home::State::claiming)},
                  {2, in(Home::State::standby)}});
    CHECK(node.ready() == std::set<core::Partition>{0, 2});
    report(node, {{2, {.state = Home::State::standby, .behind = true, .stuck = {}}}});
    CHECK(node.ready().empty());
}

TEST_CASE("reports of a shard's homes do not affect homes of other shards") {
    auto node = two_of_four();
    report(node, {{0, in(Home::State::serving)}, {1, in(Home::State::serving)}});
    node.reported([](core::Partition p) { return p % 2 == 0; }, {});
    CHECK(node.served() == std::set<core::Partition>{1});
    CHECK(node.any_home());
}

TEST_CASE("partitions that follow each other are written as a range") {
    CHECK(edge::ranges({}) == "none");
    CHECK(edge::ranges({4}) == "4");
    CHECK(edge::ranges({0, 1, 2, 3, 7, 9, 10}) == "0-3, 7, 9-10");
}
