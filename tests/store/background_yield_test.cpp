// What the threads of a database do for those that answer somebody.
#include "rocks/options.hpp"

#include <memory>
#include <thread>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;

namespace {

const rocks::YieldBudget::Time kStart{1h};

rocks::YieldBudget full_budget() {
    return rocks::YieldBudget{{.every = 100us, .share = 0.3, .saved_max = 10ms}};
}

}  // namespace

TEST_CASE("a background thread yields once in a while, not at each block") {
    auto budget = full_budget();
    CHECK(budget.allows(kStart, kStart + 100us));
    CHECK_FALSE(budget.allows(kStart + 100us, kStart + 199us));
    CHECK(budget.allows(kStart + 100us, kStart + 200us));
}

TEST_CASE("what yields cost is a share of the time: beyond it background threads go on working") {
    auto budget = full_budget();
    auto now = kStart;
    auto waited = 0ms;
    while (now < kStart + 10s) {  // each time others have the processor for 3 ms
        const auto worked_from = now;
        now += 200us;
        if (!budget.allows(worked_from, now)) continue;
        budget.spend(3ms);
        now += 3ms;
        waited += 3ms;
    }
    CHECK(waited >= 2'900ms);
    CHECK(waited <= 3'020ms);
}

TEST_CASE("a table that is written yields between two blocks") {
    int yields = 0;
    const auto factory = rocks::yields_between_blocks([&] { ++yields; });
    const std::unique_ptr<rocksdb::TablePropertiesCollector> table{
        factory->CreateTablePropertiesCollector({})};
    for (int i = 1; i <= 3; ++i) {
        std::this_thread::sleep_for(1ms);
        table->BlockAdd(16'384, 0, 0);
        CHECK(yields == i);
    }
}
