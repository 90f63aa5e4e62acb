#include "reliability/home/milestone_home.hpp"

#include "reliability/home/partition_rows.hpp"
#include "reliability/milestone_texts.hpp"
#include "reliability/random_lives.hpp"
#include "reliability/totals/pages.hpp"
#include "reliability/totals/totals_view.hpp"
#include "support/memory_log.hpp"
#include "support/record_view.hpp"
#include "support/temp_dir.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace reliability;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

const core::NodeId kNode{"0123456789abcdef"};
constexpr log::TopicPartition kMilestones{log::Topic::kReliability, 0};
constexpr log::TopicPartition kTotals{log::Topic::kReliabilityTotals, 0};

/// One partition's home over a log in memory; its store may be kept or deleted between lives.
struct World {
    explicit World(unsigned seed = 1)
        : log(log::make_memory_log({.seed = seed, .partitions = 1, .clock = &clock})) {
        publisher = log->open_publisher(executor);
        start("store");
    }
    ~World() { stop(); }

    void start(const std::string& directory) {
        auto opened = MilestoneStore::open({.directory = files.path() / directory,
                                            .log_id = "log",
                                            .partitions = 1,
                                            .memory = {}});
        REQUIRE(opened);
        store = std::move(*opened);
        home =
            std::make_unique<MilestoneHome>(MilestoneHome::Options{.partition = 0, .node = kNode},
                                            context(), store->partition(0), [] {});
        home->serve(true);
    }
    void stop() {
        home.reset();
        store.reset();
    }
    fold::Fold::Context context() { return {*log, *publisher, executor, clock}; }

    void report(const std::string& id, std::vector<Milestone> reached,
                core::Duration ttl = hours{1}) {
        MilestonesReached event{
            .id = id,
            .expires = clock.wall() + std::chrono::duration_cast<std::chrono::milliseconds>(ttl),
            .source = "e",
            .reached = {}};
        for (const auto milestone : reached) event.reached.push_back({milestone, clock.wall()});
        publisher->publish(kMilestones, encode(event), [](const auto&) {});
    }
    void run_for(core::Duration span) {
        for (core::Duration done{}; done < span; done += seconds{1}) {
            executor.run_for(seconds{1});
            home->tick();
        }
        executor.run();
    }
    std::uint64_t count(Milestone milestone) const { return home->counts().counts[milestone]; }
    std::optional<Milestone> where(const std::string& id) const {
        const auto found = home->find(id);
        REQUIRE(found);
        return *found ? (**found).current() : std::nullopt;
    }
    template <class Event>
    std::vector<Event> reported() const {
        std::vector<Event> events;
        for (const auto& stored : log->records(kTotals)) {
            const test::ReadBack back{stored.record, stored.offset, stored.time};
            const auto event = decode_totals(*back);
            if (const auto* wanted = std::get_if<Event>(&event)) events.push_back(*wanted);
        }
        return events;
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    test::TempDir files;
    std::unique_ptr<log::MemoryLog> log;
    std::unique_ptr<log::Publisher> publisher;
    std::unique_ptr<MilestoneStore> store;
    std::unique_ptr<MilestoneHome> home;
};

std::string texts(const core::MilestoneCounts& counts) { return counts_page(counts, {}); }

}  // namespace

TEST_CASE("a home folds milestones and publishes the counts") {
    World world;
    world.report("a", {Milestone::received, Milestone::stored});
    world.report("b", {Milestone::received});
    world.run_for(seconds{5});
    CHECK(world.count(Milestone::stored) == 1);
    CHECK(world.count(Milestone::received) == 1);
    CHECK(world.where("a") == Milestone::stored);
    const auto reported = world.reported<PartitionCounts>();
    REQUIRE_FALSE(reported.empty());
    CHECK(reported.back().counts == world.home->counts().counts);
    world.run_for(seconds{30});
    CHECK(world.reported<PartitionCounts>().size() ==
          reported.size());  // nothing new, nothing published
}

TEST_CASE("a message whose TTL has ended expires, once and a minute later") {
    World world;
    world.report("a", {Milestone::received, Milestone::stored}, seconds{30});
    world.report(
        "b", {Milestone::received, Milestone::stored, Milestone::retrieved, Milestone::delivered},
        seconds{30});
    world.run_for(seconds{80});
    CHECK(world.where("a") == Milestone::stored);
    world.run_for(seconds{20});
    CHECK(world.where("a") == Milestone::expired);
    CHECK(world.where("b") == Milestone::delivered);
    world.run_for(minutes{2});
    std::size_t expired = 0;
    for (const auto& stored : world.log->records(kMilestones)) {
        expired += stored.record.value && stored.record.value->find("expired") != std::string::npos;
    }
    CHECK(expired == 1);
    CHECK(world.home->tally().refused.empty());
}

TEST_CASE("a standby publishes nothing") {
    World world;
    world.home->serve(false);
    world.report("a", {Milestone::received}, seconds{1});
    world.run_for(minutes{3});
    CHECK(world.where("a") == Milestone::received);
    CHECK(world.reported<PartitionCounts>().empty());
    world.home->serve(true);
    world.run_for(seconds{5});
    CHECK(world.where("a") == Milestone::expired);
}

TEST_CASE("after a restart the counts are those of before") {
    World world;
    for (int i = 0; i < 20; ++i) {
        world.report(std::to_string(i), {Milestone::received, Milestone::stored});
    }
    world.run_for(seconds{5});
    const auto before = texts(world.home->counts().counts);
    world.stop();
    world.start("store");
    world.run_for(seconds{5});
    CHECK(texts(world.home->counts().counts) == before);
    CHECK(world.home->tally().effects[Effect::advanced] == 40);
}

TEST_CASE("crashes at any point, then a rebuild from the topic: the same counts") {
    const auto seed = GENERATE(range(0U, 12U));
    CAPTURE(seed);
    World world{seed};
    test::RandomLives random{seed};
    for (int step = 0; step < 60; ++step) {
        for (std::size_t i = 0; i < 1 + random.below(8); ++i) {
            const auto id = "id-" + std::to_string(random.below(40));
            const auto life = random.below(6) == 0 ? random.nonsense(world.clock.wall())
                                                   : random.life(world.clock.wall());
            std::vector<Milestone> some;
            for (const auto& reached : life) {
                if (random.below(3) != 0) some.push_back(reached.milestone);
            }
            random.shuffle(some);
            if (!some.empty()) world.report(id, some, seconds{random.below(200)});
        }
        if (random.below(3) == 0) world.executor.step();
        if (random.below(4) == 0) {
            world.stop();
            world.executor.step();
            world.start("store");
        } else {
            world.run_for(seconds{1 + random.below(20)});
        }
    }
    world.run_for(minutes{6});  // everything has ended, and its end is folded
    const auto counts = world.home->counts();
    const auto tally = world.home->tally();
    std::uint64_t all = 0;
    for (const auto milestone : core::kAllMilestones) {
        all += counts.counts[milestone];
        if (!is_terminal(milestone)) CHECK(counts.counts[milestone] == 0);
    }
    CHECK(all <= 40);
    world.stop();
    world.start("another store");
    world.run_for(seconds{10});
    CHECK(texts(world.home->counts().counts) == texts(counts.counts));
    CHECK(flow_page(world.home->counts().flow) == flow_page(counts.flow));
    CHECK(world.home->tally() == tally);
}

TEST_CASE("ten minutes after midnight the report of the day is published") {
    World world;
    const auto midnight = day_of(world.clock.wall()) + std::chrono::days{1};
    world.report(
        "a", {Milestone::received, Milestone::stored, Milestone::retrieved, Milestone::delivered});
    world.report("b", {Milestone::received, Milestone::expired});
    world.report("c", {Milestone::received, Milestone::stored}, hours{48});
    world.run_for(seconds{5});
    world.executor.run_for(Timestamp{midnight} + minutes{9} - world.clock.wall());
    world.run_for(seconds{5});
    for (const auto& report : world.reported<PartitionReport>())
        CHECK(report.day < day_of(midnight) - std::chrono::days{1});
    world.executor.run_for(minutes{2});
    world.run_for(seconds{5});
    const auto reports = world.reported<PartitionReport>();
    REQUIRE_FALSE(reports.empty());
    CHECK(reports.back().day == day_of(midnight) - std::chrono::days{1});
    CHECK(reports.back().report.total_count() == 2);
    CHECK(reports.back().report.success_count() == 1);
    const auto removed = world.reported<ReportRemoved>();
    REQUIRE_FALSE(removed.empty());
    CHECK(removed.back().day == reports.back().day - MilestoneHome::kReportsKept);

    TotalsView view{kNode, world.context()};
    CHECK_FALSE(view.counts());
    world.run_for(seconds{5});
    REQUIRE(view.complete());
    REQUIRE(view.counts());
    CHECK(texts(*view.counts()) == texts(world.home->counts().counts));
    CHECK(view.report(reports.back().day) == reports.back().report);
    CHECK_FALSE(view.report(reports.back().day + std::chrono::days{3}));
}

TEST_CASE("a report that the log did not take is published once it does") {
    World world;
    const auto midnight = day_of(world.clock.wall()) + std::chrono::days{1};
    world.report("a", {Milestone::received, Milestone::expired});
    world.run_for(seconds{5});
    world.executor.run_for(Timestamp{midnight} + minutes{9} - world.clock.wall());
    world.executor.run_for(minutes{2});
    world.log->fail_next_publishes(5);  // of seven reports, and removals of old ones
    world.run_for(seconds{20});
    std::set<Day> days;
    for (const auto& report : world.reported<PartitionReport>()) days.insert(report.day);
    CHECK(days.size() == MilestoneHome::kReportsAtStart.count() + 1);
    CHECK(*days.rbegin() == day_of(midnight) - std::chrono::days{1});
}

// Verified to fail when only a tick lets histories be written.
TEST_CASE("histories that collect up to their bound are written at once, whatever the tick does") {
    World world;
    world.run_for(seconds{1});
    constexpr std::size_t kReported = MilestoneHome::kChangesMax + 10;
    for (std::size_t i = 0; i < kReported; ++i) {
        world.report(std::to_string(i), {Milestone::received});
        if (i % 10'000 == 0) world.executor.run();
    }
    world.executor.run();  // no tick
    world.stop();
    // Without these records of the log, histories that were not written would be lost.
    world.log->truncate_before(kMilestones, MilestoneHome::kChangesMax);
    world.start("store");
    world.run_for(seconds{2});
    CHECK(world.count(Milestone::received) == kReported);
    world.report("later", {Milestone::received});  // and there is space again
    world.run_for(seconds{2});
    CHECK(world.count(Milestone::received) == kReported + 1);
}

TEST_CASE("while the log is away nothing expires, and afterwards it does") {
    World world;
    world.report("a", {Milestone::received}, seconds{10});
    world.run_for(seconds{5});
    world.log->set_away(true);
    world.run_for(minutes{3});
    CHECK(world.where("a") == Milestone::received);
    world.log->set_away(false);
    world.run_for(seconds{30});
    CHECK(world.where("a") == Milestone::expired);
}

// A scan without `total_order_seek` asks the filter of the rows in memory for the message before,
// which is in a table, and finds nothing behind it.
TEST_CASE("the messages that ended on a day are found page by page, whatever is in a table yet") {
    const test::TempDir files;
    const Timestamp when{hours{24 * 20'000}};
    const std::string first(20, 'a');
    const std::string second(20, 'b');
    for (const auto& id : {first, second}) {  // opening a store puts what it has into tables
        const auto store = MilestoneStore::open(
            {.directory = files.path(), .log_id = "log", .partitions = 1, .memory = {}});
        REQUIRE(store);
        const auto rows = (*store)->partition(0);
        PartitionFold fold{[&](std::string_view one) { return rows->find(one); }};
        const auto record = encode(MilestonesReached{
            .id = id,
            .expires = when + hours{1},
            .source = "e",
            .reached = {{Milestone::received, when}, {Milestone::expired, when}}});
        fold.fold(*test::ReadBack{record, 0, when});
        REQUIRE(rows->commit(fold, {.next = 1, .caught_up = when, .youngest = when}));
        if (id == first) continue;
        CHECK(rows->ended_on(day_of(when), "", 1).value() == std::vector{first});
        CHECK(rows->ended_on(day_of(when), first, 1).value() == std::vector{second});
    }
}
