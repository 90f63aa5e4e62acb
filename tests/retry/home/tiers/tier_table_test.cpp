#include "retry/home/tiers/tier_table.hpp"

#include "log/topics_admin.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using beckon::retry::TierTable;
using Delays = std::vector<std::chrono::seconds>;

namespace {

std::string fault_of(Delays delays) { return TierTable::from(std::move(delays)).error().message; }

}  // namespace

TEST_CASE("steps with equal delays share the tier of the first of them", "[retry][tiers]") {
    const auto table = TierTable::from({0s, 60s, 600s, 86'400s, 86'400s, 86'400s});
    REQUIRE(table);
    CHECK(table->tiers() == std::vector{0, 1, 2, 3});
    CHECK(table->tier_of(5) == 3);
    CHECK(table->steps() == 6);
    CHECK(table->total() == 259'860s);
}

TEST_CASE("the tiers that an installation has by default are a table", "[retry][tiers]") {
    const auto table = TierTable::from(beckon::log::default_tiers());
    REQUIRE(table);
    CHECK(table->text() == "0s 5s 60s 300s 1800s 7200s 21600s 43200s 86400s");
    CHECK(table->tiers().size() == 9);
}

TEST_CASE("a failure goes to the next step, or to the first that is long enough",
          "[retry][tiers]") {
    const auto table = *TierTable::from({0s, 5s, 60s, 300s});
    CHECK(table.next(0) == 1);
    CHECK(table.next(0, 30s) == 2);
    CHECK(table.next(0, 60s) == 2);
    CHECK(table.next(1, 1s) == 2);      // never a shorter delay than the next one
    CHECK(table.next(0, 9'999s) == 3);  // none is so long: the longest
    CHECK(table.next(3) == std::nullopt);
}

TEST_CASE("a broken tier table is refused and shown", "[retry][tiers]") {
    CHECK(fault_of({}) == "the tier table ``: it has no delay");
    CHECK(fault_of({5s}) == "the tier table `5s`: its first delay is not 0");
    CHECK(fault_of({0s, 60s, 5s}) ==
          "the tier table `0s 60s 5s`: delay 2 is shorter than the one before it");
    CHECK(fault_of({0s, 700'000s}) ==
          "the tier table `0s 700000s`: its longest delay is above 604800s");
    CHECK(fault_of(Delays(40, 0s)).ends_with("it has 40 delays, at most 32 are possible"));
}
