#include "edge/partition_load.hpp"

#include "support/manual_clock.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using edge::PartitionLoad;

TEST_CASE("the load of a partition is the pace of its offsets") {
    test::ManualClock clock;
    PartitionLoad load;
    load.measured({{1, 100}}, clock.mono());
    CHECK(load.rates().empty());
    clock.advance(10s);
    load.measured({{1, 600}}, clock.mono());
    load.measured({{2, 7}}, clock.mono());
    CHECK(load.rates() == std::map<core::Partition, std::uint64_t>{{1, 50}});
    clock.advance(10s);
    load.measured({{1, 600}, {2, 0}}, clock.mono());  // 2 was restored
    CHECK(load.rates() == std::map<core::Partition, std::uint64_t>{{1, 0}, {2, 0}});
}

TEST_CASE("the load of a partition that has left is forgotten") {
    test::ManualClock clock;
    PartitionLoad load;
    for (int i = 0; i < 2; ++i) {
        load.measured({{1, i * 10}}, clock.mono());
        clock.advance(10s);
        static_cast<void>(load.rates());
    }
    CHECK(load.rates().empty());
    load.measured({{1, 1000}}, clock.mono());
    CHECK(load.rates().empty());
}
