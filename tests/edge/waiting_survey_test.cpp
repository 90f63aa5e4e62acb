#include "edge/waiting_survey.hpp"

#include "ops/metrics.hpp"
#include "store/edge_fixture.hpp"
#include "support/faulty_disk.hpp"
#include "support/test_executor.hpp"

#include <chrono>
#include <limits>
#include <set>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::edge;

using store::test::at;
using store::test::EdgeFixture;

namespace {

/// An edge's store with one partition (3), and the survey of its waiting messages.
struct SurveyWorld {
    SurveyWorld() { clock.advance(std::chrono::seconds{100}); }
    WaitingSurvey survey() {
        return {store.store(), executor, [this] { return clock.wall() + ahead; }, metrics,
                [this] { return served; }};
    }
    static store::EdgeStoreOptions on(test::FaultyDisk& disk) {
        store::EdgeStoreOptions options;
        options.env = disk.env();
        return options;
    }
    double messages() const { return metrics.messages->Value(); }
    double oldest() const { return metrics.oldest_seconds->Value(); }

    test::FaultyDisk disk;
    EdgeFixture store{on(disk)};
    test::ManualClock clock;
    std::chrono::milliseconds ahead{0};  ///< of the host's clock: the log's
    test::SimExecutor executor{clock};
    ops::Metrics registry;
    WaitingMetrics metrics{registry};
    std::set<core::Partition> served{1, 3, 7};
};

}  // namespace

TEST_CASE("partitions that wait are logged, and logged again after a while") {
    SurveyWorld world;
    const auto survey = world.survey();
    CHECK(world.messages() == 0);
    world.store.put(70, "m1");
    world.store.put(80, "m2");
    world.store.commit();
    world.executor.run_for(std::chrono::seconds{6});
    CHECK(world.messages() == 2);
    CHECK(world.oldest() >= 30);
    CHECK(world.oldest() < 40);

    world.store.add_tombstone("m1");
    world.store.add_tombstone("m2");
    world.store.commit();
    world.executor.run_for(std::chrono::seconds{6});
    CHECK(world.messages() == 0);
    CHECK(world.oldest() == 0);
}

TEST_CASE("partitions that are served elsewhere are not counted") {
    SurveyWorld world;
    world.store.put(70, "m1");
    world.store.commit();
    world.served = {1, 7};
    const auto survey = world.survey();
    world.executor.run_for(std::chrono::seconds{6});
    CHECK(world.messages() == 0);
    world.served = {3};
    world.executor.run_for(std::chrono::seconds{6});
    CHECK(world.messages() == 1);
}

TEST_CASE("more than a piece is counted over several turns") {
    SurveyWorld world;
    const int many = WaitingSurvey::kPieceRows + 1;
    for (int i = 0; i < many; ++i) world.store.put(i, "m" + std::to_string(i));
    world.store.commit();
    const auto survey = world.survey();
    world.executor.run();
    CHECK(world.messages() == 0);  // the first piece is not all
    world.executor.run_for(4 * WaitingSurvey::kPieceEvery);
    CHECK(world.messages() == many);
}

// Verified to fail when a partition that cannot be read counts as 0.
TEST_CASE("the last count of a partition that cannot be read stays in the sum") {
    SurveyWorld world;
    world.store.put(70, "m1");
    world.store.put(80, "m2");
    world.store.commit();
    world.store.reopen();  // into tables
    const auto survey = world.survey();
    world.executor.run_for(std::chrono::seconds{1});
    CHECK(world.messages() == 2);

    world.disk.fail(test::FaultyDisk::Call::read, std::numeric_limits<int>::max(), ".sst");
    world.executor.run_for(std::chrono::seconds{6});
    CHECK(world.disk.struck() > 0);
    CHECK(world.messages() == 2);
    CHECK(world.oldest() >= 30);

    world.disk.heal();
    world.store.add_tombstone("m1");
    world.store.add_tombstone("m2");
    world.store.commit();
    world.executor.run_for(std::chrono::seconds{6});
    CHECK(world.messages() == 0);
}
