#include "fold/fold.hpp"

#include "core/contain.hpp"
#include "fold/fold_world.hpp"

#include <algorithm>
#include <csignal>
#include <new>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;
using namespace beckon;
using beckon::test::FoldWorld;
using core::Fault;
using fold::Phase;
using Strings = std::vector<std::string>;

namespace {

constexpr auto kFirst = FoldWorld::kFirst;
constexpr auto kSecond = FoldWorld::kSecond;

}  // namespace

// ------------------------------------------------------------------------------------- folding

TEST_CASE("records from before the start and after it are folded once, in order") {
    FoldWorld world;
    world.publish(kFirst, "a");
    world.publish(kSecond, "x");
    world.start_and_follow();
    CHECK(world.following());
    world.publish(kFirst, "b");
    world.publish(kSecond, "y");
    world.run_for(1s);
    CHECK(world.state.disk.keys[0] == Strings{"a", "b"});
    CHECK(world.state.disk.keys[1] == Strings{"x", "y"});
    CHECK(world.state.calls == Strings{"cleared", "caught_up"});
}

TEST_CASE("a start on an empty log costs one read barrier for each input") {
    FoldWorld world;
    world.start_and_follow();
    CHECK(world.following());
    CHECK(world.barriers_in(kFirst) == 1);
    CHECK(world.barriers_in(kSecond) == 1);
    CHECK(world.state.calls ==
          Strings{"cleared", "caught_up"});  // the read barrier stands in it by then
}

TEST_CASE("one turn takes no more than its budget from an input") {
    FoldWorld world;
    world.options.turn_records = 100;
    world.start_and_follow();
    world.state.commits = 0;
    world.publish_many(kFirst, 1000);
    world.publish_many(kSecond, 1000);
    world.run_for(1s);
    CHECK(world.state.disk.keys[0].size() == 1000);
    CHECK(world.state.disk.keys[1].size() == 1000);
    CHECK(world.state.most_in_a_commit <= 200);
    CHECK(world.state.commits >= 10);
}

TEST_CASE("a fold that restores commits what many turns have taken at once") {
    FoldWorld world;
    world.options.turn_records = 100;
    world.publish_many(kFirst, 1000);
    world.run_for(1s);
    world.start_and_follow();
    CHECK(world.state.disk.keys[0].size() == 1000);
    CHECK(world.state.most_in_a_commit >= 1000);
}

TEST_CASE("a fold that restores collects until a commit is due, and no longer") {
    constexpr int kCount = 50'000;
    FoldWorld world;
    for (int i = 0; i < 10; ++i) {
        world.publish_many(kFirst, kCount / 10);
        world.run_for(1s);
    }
    world.start_and_follow();
    CHECK(world.state.disk.keys[0].size() == kCount);
    CHECK(world.state.most_in_a_commit >= 10'000);
    CHECK(world.state.most_in_a_commit < 11'000);
}

TEST_CASE("a reader that has nothing for a moment does not end the batch of a restore") {
    FoldWorld world;
    world.publish_many(kFirst, 1000);
    world.run_for(1s);
    world.log.dry_takes = 20;
    world.start_and_follow();
    CHECK(world.state.disk.keys[0].size() == 1000);
    CHECK(world.state.most_in_a_commit >= 1000);
}

TEST_CASE("a fold that restores collects for a quarter of a second and no longer") {
    FoldWorld world;
    world.publish_many(kFirst, 2'000);
    world.run_for(1s);
    world.state.at_replay = [&] { world.clock.advance(1ms); };
    world.start_and_follow();
    CHECK(world.state.disk.keys[0].size() == 2'000);
    CHECK(world.state.most_in_a_commit >= 200);
    CHECK(world.state.most_in_a_commit <= 250 + 64);  // a chunk is taken whole
}

TEST_CASE("a decision is committed soon, and its effects leave only then") {
    FoldWorld world;
    world.start_and_follow();
    world.state.seen_committed.clear();
    world.state.decide("serve");
    world.fold->request_turn();
    CHECK(world.state.seen_committed.empty());  // never from within
    world.executor.run();
    REQUIRE_FALSE(world.state.seen_committed.empty());
    CHECK(world.state.seen_committed.front().decisions == Strings{"serve"});
}

TEST_CASE("a decision that is made when effects leave waits for a commit of its own") {
    FoldWorld world;
    world.start_and_follow();
    world.state.seen_committed.clear();
    world.state.at_committed = [&] {
        if (world.state.seen_committed.size() == 1) world.state.decide("second");
    };
    world.state.decide("first");
    world.fold->request_turn();
    world.executor.run();
    REQUIRE(world.state.seen_committed.size() >= 2);
    CHECK(world.state.seen_committed[0].decisions == Strings{"first"});
    CHECK(world.state.seen_committed[1].decisions == Strings{"first", "second"});
}

// A fold that went on would serve with effects that never left: answers, leases, tombstones.
TEST_CASE("an exception in a fold's turn ends the process") {
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);  // the test's own handler reports it
        FoldWorld world;
        world.start_and_follow();
        world.state.at_committed = [] { throw std::bad_alloc{}; };
        world.state.decide("serve");
        world.fold->request_turn();
        static_cast<void>(core::contain("test", [&] { world.executor.run(); }));
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
}

// ------------------------------------------------------------------------------------- checkpoints

TEST_CASE("a fold goes on from a trusted checkpoint") {
    FoldWorld world;
    world.publish_many(kFirst, 10);
    world.start_and_follow();
    world.publish(kFirst, "late");
    world.fold.reset();
    world.run_for(1h);
    world.crash_and_start();
    world.run_for(1s);
    CHECK(world.following());
    CHECK(world.state.calls == Strings{"caught_up"});
    CHECK(world.state.replayed <= 3);  // the late one and two read barriers
    CHECK(world.state.disk.keys[0].size() == 11);
}

TEST_CASE("a checkpoint that cannot be trusted is dropped, and all is folded anew") {
    FoldWorld world;
    world.publish_many(kFirst, 10);
    world.start_and_follow();
    world.fold.reset();
    SECTION("it is older than half of what tombstones are kept") {
        world.publish(kFirst, "late");
        world.run_for(world.options.delete_retention / 2 + 1min);
    }
    SECTION("it lies below the log's start") {
        world.publish_many(kFirst, 5);
        world.run_for(1s);
        world.memory->truncate_before(kFirst, 14);
    }
    SECTION("it lies above the log's end") { world.state.disk.checkpoints[0].next = 1000; }
    SECTION("one of two inputs has none") { world.state.disk.checkpoints.erase(1); }
    world.crash_and_start();
    world.run_for(1s);
    CHECK(world.following());
    CHECK(world.state.calls == Strings{"cleared", "caught_up"});
    std::size_t in_log = 0;
    for (const auto& stored : world.memory->records(kFirst)) {
        in_log += core::is_control_key(stored.record.key) ? 0 : 1;
    }
    CHECK(world.state.disk.keys[0].size() == in_log);
}

TEST_CASE("a state in memory is folded from the log's start each time") {
    FoldWorld world;
    world.state.keeps_nothing = true;
    world.publish_many(kFirst, 10);
    world.start_and_follow();
    world.crash_and_start();
    world.run_for(1s);
    CHECK(world.following());
    CHECK(world.state.disk.keys[0].size() == 10);
}

TEST_CASE("a checkpoint is renewed while nothing happens, but not while the log is away") {
    FoldWorld world;
    world.start_and_follow();
    const auto renewed = [&] { return world.state.disk.checkpoints[0].caught_up; };
    const auto before = renewed();
    world.run_for(10min);
    const auto connected = renewed();
    CHECK(connected - before >= 8min);
    world.memory->set_away(true);
    world.run_for(10min);
    CHECK(renewed() - connected <= 2min);
}

TEST_CASE("a restore that takes longer than tombstones are kept begins again") {
    FoldWorld world;
    world.publish_many(kFirst, 10);
    world.run_for(1s);
    world.memory->hold_readers(kFirst, true);
    world.log.every_take = Fault::unavailable;
    world.start();
    world.run_for(world.options.delete_retention / 2 + 1min);
    world.log.every_take.reset();
    world.memory->hold_readers(kFirst, false);
    world.run_for(3s);
    CHECK(world.state.calls == Strings{"cleared", "cleared", "restarted", "cleared", "caught_up"});
    CHECK(world.state.disk.keys[0].size() == 10);
}

// ------------------------------------------------------------------------------------- the log
// fails

TEST_CASE("a log that does not answer at the start is asked again") {
    FoldWorld world;
    world.publish(kFirst, "a");
    world.run_for(1s);
    SECTION("its ends") { world.log.ends_to_fail = 3; }
    SECTION("the first read barrier") { world.memory->fail_next_publishes(3); }
    SECTION("the report of the first read barrier") { world.memory->lose_next_answers(3); }
    SECTION("everything") {
        world.memory->set_away(true);
        world.start();
        world.run_for(20s);
        CHECK(world.fold->phase() == Phase::opening);
        world.memory->set_away(false);
        world.run_for(10s);
        CHECK(world.following());
        return;
    }
    world.start();
    world.run_for(10s);
    CHECK(world.following());
    CHECK(world.state.disk.keys[0] == Strings{"a"});
}

TEST_CASE("a fold whose log is away says so, and goes on when it is back") {
    FoldWorld world;
    world.start_and_follow();
    world.memory->set_away(true);
    const auto gone = world.clock.wall();
    world.run_for(20s);
    const auto stuck = world.fold->progress().stuck;
    REQUIRE(stuck);
    CHECK(stuck->since >= gone);
    CHECK(stuck->since <= gone + 11s);
    CHECK(stuck->why.find("the log is away") != std::string::npos);
    const auto progressed = world.state.times_progressed();
    world.memory->set_away(false);
    world.run_for(5s);
    CHECK_FALSE(world.fold->progress().stuck);
    CHECK(world.state.times_progressed() == progressed + 1);
    CHECK(world.state.calls == Strings{"cleared", "caught_up"});
}

TEST_CASE("a record that does not decode stops the fold, which says so at once") {
    FoldWorld world;
    world.start_and_follow();
    const auto opened = world.log.readers_opened;
    world.log.every_take = Fault::corrupt;
    world.publish(kFirst, "a");
    world.run_for(2s);
    REQUIRE(world.fold->progress().stuck);
    CHECK(world.fold->progress().stuck->why == "reading the log fails: corrupt: made up");
    world.run_for(60s);
    CHECK(world.log.readers_opened > opened);       // it tries with other readers,
    CHECK(world.log.readers_opened < opened + 60);  // but not all the time
    world.fold->confirm(world.note());
    world.run_for(3s);
    CHECK(world.answers == Strings{"timed_out"});
    world.log.every_take.reset();
    world.run_for(10s);
    CHECK_FALSE(world.fold->progress().stuck);
    CHECK(world.state.disk.keys[0] == Strings{"a"});
    CHECK(world.state.calls == Strings{"cleared", "caught_up"});  // nothing was thrown away
}

TEST_CASE("a topic that was made anew while the fold was down is folded from its start") {
    FoldWorld world;
    world.publish(kFirst, "old");
    world.start_and_follow();
    world.fold.reset();
    world.memory->make_anew(kFirst);
    const int records = GENERATE(1, 2, 1000);  // below the checkpoint, at it, and beyond it
    world.publish_many(kFirst, records);
    world.run_for(1s);
    world.crash_and_start();
    world.run_for(5s);
    CHECK(world.following());
    CHECK(world.state.calls == Strings{"cleared", "caught_up"});
    CHECK(world.state.disk.keys[0].size() == static_cast<std::size_t>(records));
}

TEST_CASE("a topic that is made anew under the fold's reader is folded from its start") {
    FoldWorld world;
    world.publish_many(kFirst, 10);
    world.start_and_follow();
    world.run_for(15s);
    world.memory->make_anew(kFirst);
    world.publish_many(kFirst, 1000);
    world.run_for(15s);
    CHECK(world.following());
    CHECK(world.state.calls ==
          Strings{"cleared", "caught_up", "cleared", "restarted", "cleared", "caught_up"});
    CHECK(world.state.disk.keys[0].size() == 1000);
}

TEST_CASE("a position above the log's end clears the state and folds anew") {
    FoldWorld world;
    world.publish_many(kFirst, 10);
    world.start_and_follow();
    world.log.next_take = Fault::out_of_range;
    world.run_for(5s);
    CHECK(world.following());
    CHECK(world.state.calls ==
          Strings{"cleared", "caught_up", "cleared", "restarted", "cleared", "caught_up"});
    CHECK(world.state.disk.keys[0].size() == 10);
}

// ------------------------------------------------------------------------------------- the state
// fails

TEST_CASE("while the state cannot be committed nothing leaves and nothing is taken") {
    FoldWorld world;
    world.start_and_follow();
    world.state.commits_to_fail = 1'000'000;
    world.state.seen_committed.clear();
    world.publish(kFirst, "a");
    world.run_for(1s);
    const auto replayed = world.state.replayed;
    world.publish_many(kFirst, 10);
    world.fold->confirm(world.note());
    world.run_for(10s);
    CHECK(world.state.seen_committed.empty());
    CHECK(world.state.replayed == replayed);
    CHECK(world.answers == Strings{"timed_out"});
    REQUIRE(world.fold->progress().stuck);
    CHECK(world.fold->progress().stuck->why == "committing the state fails: full: made up");

    world.state.commits_to_fail = 0;
    world.run_for(2s);
    CHECK_FALSE(world.fold->progress().stuck);
    CHECK(world.state.disk.keys[0].size() == 11);
    CHECK(world.state.calls == Strings{"cleared", "caught_up"});
}

// Verified to fail when a turn that is asked for does not wait for the pause: then each of them
// begins another row of tries, and none of the rows ends.
TEST_CASE("however often a turn is asked for, a commit that fails is tried no more often") {
    FoldWorld world;
    world.start_and_follow();
    constexpr int kMany = 1'000'000;
    world.state.commits_to_fail = kMany;
    world.state.decide("serve");
    for (int i = 0; i < 1'000; ++i) {
        world.fold->request_turn();
        world.run_for(10ms);
    }
    CHECK(kMany - world.state.commits_to_fail <= 30);  // in ten seconds; at most 640 ms between two
    CHECK(kMany - world.state.commits_to_fail >= 15);
    world.state.commits_to_fail = 0;
    world.run_for(1s);
    CHECK(world.state.disk.decisions == Strings{"serve"});
    const auto commits = world.state.commits;
    world.state.decide("serve again");
    world.fold->request_turn();
    world.run_for(1ms);
    CHECK(world.state.commits == commits + 1);  // no pause is left over
}

TEST_CASE("a state that had to drop uncommitted changes is folded again from its checkpoint") {
    FoldWorld world;
    world.publish_many(kFirst, 10);
    world.start_and_follow();
    world.state.commit_fault = Fault::unavailable;
    world.state.drops_what_fails = true;
    world.state.commits_to_fail = 3;
    world.publish(kFirst, "a");
    world.run_for(10s);
    CHECK(world.following());
    CHECK(world.state.disk.keys[0].size() == 11);
    CHECK(std::count(world.state.calls.begin(), world.state.calls.end(), "cleared") == 1);
    CHECK(std::count(world.state.calls.begin(), world.state.calls.end(), "restarted") == 3);
}

TEST_CASE("decisions that a state had to drop are a reason to begin again") {
    FoldWorld world;
    world.publish_many(kFirst, 10);
    world.start_and_follow();
    world.run_for(1s);
    world.state.commit_fault = Fault::unavailable;
    world.state.drops_what_fails = true;
    world.state.reports_what_it_drops = true;
    world.state.commits_to_fail = 1;
    world.state.decide("serve");  // nothing was read since the last commit
    world.fold->request_turn();
    world.run_for(10s);
    CHECK(world.following());
    CHECK(std::count(world.state.calls.begin(), world.state.calls.end(), "restarted") == 1);
}

TEST_CASE("a corrupt state is cleared and restored from the log") {
    FoldWorld world;
    world.publish_many(kFirst, 10);
    world.start_and_follow();
    world.state.commit_fault = Fault::corrupt;
    world.state.commits_to_fail = 1;
    world.publish(kFirst, "a");
    SECTION("at once") {}
    SECTION("as soon as it can be cleared") {
        world.state.clears_to_fail = 3;
        world.state.commits_to_fail = 4;
    }
    world.run_for(5s);
    CHECK(world.following());
    CHECK(world.state.disk.keys[0].size() == 11);
    CHECK(world.state.calls ==
          Strings{"cleared", "caught_up", "cleared", "restarted", "cleared", "caught_up"});
}

TEST_CASE("a state that cannot be cleared at the start is cleared later") {
    FoldWorld world;
    world.publish_many(kFirst, 10);
    world.state.clears_to_fail = 3;
    world.start();
    world.run_for(10s);
    CHECK(world.following());
    CHECK(world.state.disk.keys[0].size() == 10);
}

// ------------------------------------------------------------------------------------- queries

TEST_CASE("a query is answered when all that stood in the log before it is committed") {
    FoldWorld world;
    world.start_and_follow();
    world.publish_many(kFirst, 5);
    world.publish_many(kSecond, 5);
    std::size_t on_disk = 0;
    world.fold->confirm([&](const auto& result) {
        REQUIRE(result);
        on_disk = world.state.disk.keys[0].size() + world.state.disk.keys[1].size();
    });
    CHECK(on_disk == 0);
    world.run_for(1s);
    CHECK(on_disk == 10);
}

TEST_CASE("a query about one input does not wait for the other") {
    FoldWorld world;
    world.start_and_follow();
    world.memory->hold_readers(kFirst, true);
    world.fold->confirm(1, world.note());
    world.fold->confirm(world.note());
    world.run_for(1s);
    CHECK(world.answers == Strings{"ok"});
    world.run_for(2s);
    CHECK(world.answers == Strings{"ok", "timed_out"});
}

TEST_CASE("nothing is confirmed before the fold has caught up") {
    FoldWorld world;
    world.start();
    world.fold->confirm(world.note());
    CHECK(world.answers.empty());
    world.executor.run();
    CHECK(world.answers == Strings{"unavailable"});
}

TEST_CASE("a writer is notified when its own record is committed") {
    FoldWorld world;
    world.start_and_follow();
    world.publish(kSecond, "mine");
    world.run_for(20ms);
    const auto mine = world.memory->records(kSecond).back().offset;
    SECTION("before or after it asks") {
        world.fold->when_folded(1, mine, world.note());
        world.run_for(1s);
        CHECK(world.answers == Strings{"ok"});
    }
    SECTION("or that it takes too long") {
        world.fold->when_folded(1, mine + 100, world.note());
        world.run_for(1999ms);
        CHECK(world.answers.empty());
        world.run_for(2ms);
        CHECK(world.answers == Strings{"timed_out"});
    }
    SECTION("or that too many wait") {
        for (std::size_t i = 0; i <= world.options.queries_max; ++i) {
            world.fold->when_folded(1, mine + 100, world.note());
        }
        world.run_for(10ms);
        CHECK(world.answers == Strings{"full"});
    }
}

TEST_CASE("no query is lost in a restart") {
    FoldWorld world;
    world.start_and_follow();
    world.memory->hold_readers(kFirst, true);
    world.fold->confirm(world.note());
    world.fold->confirm(world.note());  // collects for the next read barrier
    world.fold->when_folded(0, 1'000'000, world.note());
    world.run_for(500ms);
    world.log.next_take = Fault::out_of_range;
    world.publish(kSecond, "wakes a reader");
    world.run_for(100ms);
    CHECK(world.answers == Strings{"unavailable", "unavailable", "unavailable"});
    world.memory->hold_readers(kFirst, false);
    world.run_for(5s);
    CHECK(world.following());
    world.fold->confirm(world.note());
    world.run_for(1s);
    CHECK(world.answers.back() == "ok");
}

TEST_CASE("an answer and a turn may destroy the fold") {
    FoldWorld world;
    world.start_and_follow();
    const auto destroy = [&] {
        world.state.at_committed = {};
        world.fold.reset();
    };
    SECTION("an answer") {
        world.fold->confirm([&](const auto&) { destroy(); });
        world.fold->confirm(world.note());
    }
    SECTION("a writer's answer") {
        world.publish(kFirst, "a");
        world.run_for(20ms);
        world.fold->when_folded(0, 0, [&](const auto&) { destroy(); });
    }
    SECTION("what follows a commit") {
        world.state.at_committed = destroy;
        world.publish(kFirst, "a");
    }
    SECTION("what a restart refuses") {
        world.fold->when_folded(0, 1'000'000, [&](const auto&) { destroy(); });
        world.log.next_take = Fault::out_of_range;
        world.publish(kSecond, "wakes a reader");
    }
    world.run_for(10s);
    CHECK_FALSE(world.fold);
    CHECK(world.answers.empty());
}

// ------------------------------------------------------------------------------------- time

TEST_CASE("a loop that stalled trusts nothing before a new read barrier") {
    FoldWorld world;
    world.start_and_follow();
    world.run_for(10s);
    CHECK_FALSE(world.fold->stalled());
    world.memory->hold_readers(kFirst, true);
    world.clock.advance(world.options.stall_after + 2s);  // nothing ran
    CHECK(world.fold->stalled());
    world.run_for(500ms);
    CHECK(world.fold->stalled());
    world.memory->hold_readers(kFirst, false);
    world.run_for(4s);
    CHECK_FALSE(world.fold->stalled());
}

TEST_CASE("each partition has a clock of its own, which every report teaches") {
    FoldWorld world;
    world.start_and_follow();
    REQUIRE(world.fold->log_clock(0).learned());
    REQUIRE(world.fold->log_clock(1).learned());
    const auto before = world.fold->log_clock(0).reported_at();
    world.run_for(5s);
    world.fold->publisher().publish(kFirst, core::Record{"k", "x", {}}, [](const auto&) {});
    world.run_for(1s);
    CHECK(world.fold->log_clock(0).reported_at() >= before + 5s);
    CHECK(world.fold->log_clock(1).reported_at() < before + 5s);
}

TEST_CASE("the log is asked for its time only while others write") {
    FoldWorld world;
    world.start_and_follow();
    const auto barriers = world.barriers_in(kFirst);
    world.run_for(1h);
    CHECK(world.barriers_in(kFirst) == barriers);
    for (int i = 0; i < 60; ++i) {
        world.publish(kFirst, "k");
        world.run_for(1s);
    }
    CHECK(world.barriers_in(kFirst) >= barriers + 4);
    CHECK(world.barriers_in(kFirst) <= barriers + 7);
    CHECK(world.barriers_in(kSecond) == barriers);
}

// ------------------------------------------------------------------------------------- progress

TEST_CASE("progress says how far the fold has come, in records and in seconds") {
    FoldWorld world;
    world.start();
    CHECK(world.fold->progress().phase == Phase::opening);
    world.run_for(1s);
    world.publish(kFirst, "a");
    world.run_for(1s);
    auto progress = world.fold->progress();
    CHECK(progress.phase == Phase::following);
    REQUIRE(progress.inputs.size() == 2);
    CHECK(progress.inputs[0].where == kFirst);
    CHECK(progress.inputs[0].position == 2);
    CHECK(progress.inputs[0].lag_records() == 0);
    CHECK(progress.inputs[0].lag == 0s);

    world.memory->hold_readers(kFirst, true);
    world.publish_many(kFirst, 100);
    world.run_for(60s);
    progress = world.fold->progress();
    CHECK(progress.inputs[0].lag_records() >= 100);
    CHECK(progress.inputs[0].lag_records() <= 101);  // and a read barrier, which asks for the time
    CHECK(progress.inputs[0].lag >= 49s);            // the end is asked for every ten seconds
    CHECK(progress.inputs[0].lag <= 63s);
    CHECK(progress.inputs[1].lag_records() == 0);
}

TEST_CASE("a fold is behind whose reader has more, whatever the last known end") {
    FoldWorld world;
    world.start_and_follow();
    world.publish(kFirst, "a");
    world.run_for(1s);
    REQUIRE(world.fold->progress().inputs[0].lag == 0s);
    world.publish_many(kFirst, 1'000);
    world.log.records_left = 100;
    world.run_for(4s);  // the end is not asked for within these
    CHECK(world.fold->progress().inputs[0].lag_records() == 0);
    CHECK(world.fold->progress().inputs[0].lag >= 3s);
    CHECK(world.fold->progress().inputs[0].lag <= 5s);
    world.log.records_left.reset();
    world.run_for(2s);
    CHECK(world.fold->progress().inputs[0].lag == 0s);
}

TEST_CASE("a record after an hour of silence is not an hour late") {
    FoldWorld world;
    world.start();
    world.run_for(1s);
    world.publish(kFirst, "a");
    world.run_for(1h);
    world.memory->hold_readers(kFirst, true);
    world.publish(kFirst, "b");
    world.run_for(15s);
    const auto progress = world.fold->progress();
    CHECK(progress.inputs[0].lag_records() == 1);
    CHECK(progress.inputs[0].lag > 0s);
    CHECK(progress.inputs[0].lag <= 16s);
}

TEST_CASE("committed positions are reported for lag tools, not too often, and renewed daily") {
    FoldWorld world;
    world.start_and_follow();
    for (int i = 0; i < 20; ++i) {
        world.publish(kFirst, "k");
        world.run_for(1s);
    }
    world.run_for(10s);
    CHECK(world.log.offsets_committed >= 3);
    CHECK(world.log.offsets_committed <= 8);
    core::Offset reported = -1;
    world.memory->committed("testers", {kFirst}, world.executor, [&](const auto& found) {
        REQUIRE(found);
        REQUIRE(found->size() == 1);
        reported = found->front().offset;
    });
    world.executor.run();
    CHECK(reported == world.fold->progress().inputs[0].position);

    const auto before = world.log.offsets_committed;
    world.run_for(23h);
    CHECK(world.log.offsets_committed == before);
    world.run_for(2h);
    CHECK(world.log.offsets_committed == before + 1);

    world.fold->report_offsets(false);
    world.publish(kFirst, "k");
    world.run_for(1min);
    CHECK(world.log.offsets_committed == before + 1);
}
