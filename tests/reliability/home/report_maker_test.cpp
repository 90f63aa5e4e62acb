#include "reliability/home/report_maker.hpp"

#include "reliability/home/milestone_home.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <optional>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace reliability;
using std::chrono::hours;
using std::chrono::seconds;

namespace {

constexpr core::Partition kPartitions = 3;

/// A log in memory with milestones, and the maker of its reports.
struct World {
    World() : log(log::make_memory_log({.seed = 1, .partitions = kPartitions, .clock = &clock})) {
        publisher = log->open_publisher(executor);
    }
    void report(const std::string& id, std::vector<Milestone> reached) {
        MilestonesReached event{
            .id = id, .expires = clock.wall() + hours{1}, .source = "e", .reached = {}};
        for (const auto milestone : reached) event.reached.push_back({milestone, clock.wall()});
        publisher->publish({log::Topic::kReliability, core::partition_of(id, kPartitions)},
                           encode(event), [](const auto&) {});
        executor.run();
    }
    void make(Day day) {
        made.reset();
        maker = std::make_unique<ReportMaker>(day, kPartitions, *log, executor,
                                              [this](const core::Result<Report>& report) {
                                                  made = report;
                                                  maker.reset();  // as its owner does
                                              });
        executor.run_for(seconds{1});
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log;
    std::unique_ptr<log::Publisher> publisher;
    std::unique_ptr<ReportMaker> maker;
    std::optional<core::Result<Report>> made;
};

const std::vector<Milestone> kDelivered{Milestone::received, Milestone::stored,
                                        Milestone::retrieved, Milestone::delivered};

}  // namespace

TEST_CASE("a report is made again from the topic, of the messages that ended on its day") {
    World world;
    const auto day = day_of(world.clock.wall());
    world.report("a", kDelivered);
    world.report("b", {Milestone::received, Milestone::errored});
    world.report("c", {Milestone::received, Milestone::stored});  // lives
    world.executor.run_for(hours{24});
    world.report("d", kDelivered);  // the day after

    world.make(day);
    REQUIRE(world.made);
    REQUIRE(*world.made);
    CHECK((*world.made)->success_count() == 1);
    CHECK((*world.made)->total_count() == 2);
    CHECK((*world.made)->stay(Milestone::received).count == 2);
    world.make(day_of(world.clock.wall()));
    CHECK((*world.made)->total_count() == 1);
    world.make(day - std::chrono::days{1});
    CHECK(**world.made == Report{});
}

TEST_CASE("milestones that came in several records, and more than a turn takes, are one report") {
    World world;
    const auto day = day_of(world.clock.wall());
    constexpr int kMessages = 2'500;
    for (int i = 0; i < kMessages; ++i) {
        const auto id = std::to_string(i);
        world.report(id, {Milestone::received});
        world.report(id, {Milestone::stored, Milestone::retrieved});
        world.report(id, {Milestone::delivered});
    }
    world.make(day);
    REQUIRE(world.made);
    REQUIRE(*world.made);
    CHECK((*world.made)->success_count() == kMessages);
    CHECK((*world.made)->stay(Milestone::stored).count == kMessages);
}

TEST_CASE("while the log is away no report is made, and the asker receives the reason") {
    World world;
    world.report("a", kDelivered);
    world.log->set_away(true);
    world.make(day_of(world.clock.wall()));
    world.executor.run_for(seconds{60});
    REQUIRE(world.made);
    CHECK_FALSE(*world.made);
    CHECK(world.made->error().retryable());
}
