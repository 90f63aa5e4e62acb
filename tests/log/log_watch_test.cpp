#include "log/log_watch.hpp"

#include "support/manual_clock.hpp"
#include "support/test_executor.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using core::Fault;
using log::LogWatch;

namespace {

const core::Error kDiskFull{Fault::full, "the log's disk is full"};
const core::Error kNoBroker{Fault::unavailable, "no broker"};

/// A log that answers as a test sets it, or not at all.
struct World {
    World() { watch.start(); }

    void answer(const std::optional<core::Error>& error, const LogWatch::Answer& to) {
        if (silent) return held.push_back(to);
        if (error) return to(core::fail(*error));
        to({});
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::optional<core::Error> reaching;
    std::optional<core::Error> writing;
    bool silent = false;
    std::vector<LogWatch::Answer> held;  ///< what is not answered yet
    int writes = 0;
    std::vector<std::string> reports;
    LogWatch watch{{.grace = 3s, .interval = 1s},
                   executor,
                   clock,
                   {[this](const LogWatch::Answer& to) { answer(reaching, to); },
                    [this](const LogWatch::Answer& to) {
                        ++writes;
                        answer(writing, to);
                    }},
                   [this](std::string_view why) { reports.emplace_back(why); }};
};

}  // namespace

TEST_CASE("a log that works is not written to and not spoken of") {
    World world;
    world.executor.run_for(60s);
    world.watch.published(std::nullopt);
    CHECK(world.reports.empty());
    CHECK(world.writes == 0);
}

TEST_CASE("a log that cannot be reached is reported after a grace, and its return at once") {
    World world;
    world.reaching = kNoBroker;
    world.executor.run_for(2s);
    CHECK(world.reports.empty());
    world.executor.run_for(4s);
    CHECK(world.reports == std::vector<std::string>{"no broker"});
    world.reaching.reset();
    world.executor.run_for(2s);
    CHECK(world.reports == std::vector<std::string>{"no broker", ""});
}

// Verified to fail when the failure begins with the answer instead of the query.
TEST_CASE("a query that is refused late is no end of the failure") {
    World world;
    world.silent = true;
    world.executor.run_for(5s);
    CHECK(world.reports == std::vector<std::string>{"the log does not answer"});
    world.silent = false;
    world.reaching = kNoBroker;
    REQUIRE(world.held.size() == 1);
    world.held.front()(core::fail(kNoBroker));
    world.executor.run_for(5s);
    CHECK(world.reports == std::vector<std::string>{"the log does not answer", "no broker"});
}

TEST_CASE("a blip is not reported") {
    World world;
    for (int i = 0; i < 10; ++i) {
        world.watch.published(kNoBroker);
        world.executor.run_for(500ms);
        world.watch.published(std::nullopt);
        world.executor.run_for(500ms);
    }
    CHECK(world.reports.empty());
}

TEST_CASE("a log that can be reached and takes nothing is reported with its reason") {
    World world;
    world.writing = kDiskFull;
    world.watch.published(kDiskFull);
    world.executor.run_for(10s);
    CHECK(world.reports == std::vector<std::string>{"the log's disk is full"});
    CHECK(world.writes > 5);
    world.writing.reset();  // it notices by itself: nobody sends to a process that is not ready
    world.executor.run_for(2s);
    CHECK(world.reports == std::vector<std::string>{"the log's disk is full", ""});
    const auto asked = world.writes;
    world.executor.run_for(10s);
    CHECK(world.writes == asked);
}

TEST_CASE("a log that does not answer is reported") {
    World world;
    world.silent = true;
    world.executor.run_for(10s);
    CHECK(world.reports == std::vector<std::string>{"the log does not answer"});
}

TEST_CASE("an answer that got lost is not waited for for ever") {
    World world;
    world.silent = true;
    world.executor.run_for(10s);
    world.silent = false;
    world.executor.run_for(30s);
    CHECK(world.reports == std::vector<std::string>{"the log does not answer", ""});
    CHECK(world.held.size() == 1);
}

TEST_CASE("a record that the log refuses says nothing about the log") {
    World world;
    world.writing = kDiskFull;
    for (int i = 0; i < 10; ++i) {
        world.watch.published(core::Error{Fault::too_large, "too large"});
        world.executor.run_for(1s);
    }
    CHECK(world.reports.empty());
}
