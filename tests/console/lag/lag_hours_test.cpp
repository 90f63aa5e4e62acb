#include "console/lag/lag_hours.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

LagPage page_at(int seconds, int groups, core::Offset lag) {
    LagPage page{.at = core::Timestamp{std::chrono::seconds{seconds}}};
    for (int g = 0; g < groups; ++g) {
        for (core::Partition p = 0; p < 2; ++p) {
            LagRow row;
            row.group = "g" + std::to_string(g);
            row.where = {"t", p};
            row.facts.lag = lag;
            page.rows.push_back(std::move(row));
        }
    }
    return page;
}

}  // namespace

TEST_CASE("the lag of an hour is kept by group and topic, a point each half minute") {
    LagHours hours;
    CHECK(hours.add(page_at(0, 1, 5)));
    CHECK_FALSE(hours.add(page_at(5, 1, 6)));
    for (int i = 1; i <= 130; ++i) CHECK(hours.add(page_at(i * 30, 1, i)));
    const auto json = nlohmann::json::parse(hours.json());
    CHECK(json["at"].size() == LagHours::kPointsMax);
    CHECK(json["groups"][0]["records"].size() == LagHours::kPointsMax);
    CHECK(json["groups"][0]["records"].back() == 260);  // of both partitions
    static_assert(LagHours::kPointsMax * LagHours::kEvery == 1h);
}

TEST_CASE("groups come late, go, and are bounded") {
    LagHours hours;
    hours.add(page_at(0, 1, 1));
    hours.add(page_at(30, 2, 1));
    auto json = nlohmann::json::parse(hours.json());
    CHECK(json["groups"][1]["records"] == nlohmann::json{nullptr, 2});
    hours.add(page_at(60, static_cast<int>(LagHours::kPairsMax) + 9, 1));
    json = nlohmann::json::parse(hours.json());
    CHECK(json["groups"].size() == LagHours::kPairsMax);
    hours.add(page_at(90, 1, 1));
    CHECK(nlohmann::json::parse(hours.json())["groups"].size() == 1);
}
