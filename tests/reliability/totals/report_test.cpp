#include "reliability/totals/report.hpp"

#include "reliability/milestone_texts.hpp"
#include "reliability/random_lives.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace reliability;
using test::at_ms;

namespace {

const Timestamp kStart = at_ms(1'795'305'600'123);  // 2026-11-22T00:00:00.123Z

History life(std::initializer_list<Reached> milestones) {
    History history{kStart, kStart + std::chrono::hours{2}};
    for (const auto& reached : milestones) {
        history.add(reached, kStart, kStart + std::chrono::hours{2});
    }
    return history;
}

History delivered_in(milliseconds whole) {
    return life({{Milestone::received, kStart},
                 {Milestone::stored, kStart + whole / 2},
                 {Milestone::retrieved, kStart + whole / 2},
                 {Milestone::delivered, kStart + whole}});
}

History expired_after(milliseconds whole) {
    return life({{Milestone::received, kStart}, {Milestone::expired, kStart + whole}});
}

}  // namespace

TEST_CASE("a report has the members of the reference's, in seconds") {
    Report report;
    report.add(delivered_in(milliseconds{1'500}));
    report.add(delivered_in(milliseconds{500}));
    report.add(expired_after(milliseconds{4'000}));
    CHECK(nlohmann::json::parse(report.json()) == nlohmann::json::parse(R"({
        "since": "2026-11-22T00:00:00.123Z", "longest": 1.5, "shortest": 0.5, "mean_time": 1.0,
        "success_count": 2, "fail_count": 1, "total_count": 3, "expired_count": 1,
        "withdrawn_count": 0,
        "milestones": {
            "received": {"count": 3, "total_time": 5.0, "average_time": 1.666},
            "stored": {"count": 2, "total_time": 0.0, "average_time": 0.0},
            "retrieved": {"count": 2, "total_time": 1.0, "average_time": 0.5},
            "delivered": {"count": 2, "total_time": 0.0, "average_time": 0.0},
            "expired": {"count": 1, "total_time": 0.0, "average_time": 0.0}}})"));
}

TEST_CASE("a report for people says the same") {
    Report report;
    report.add(delivered_in(milliseconds{1'500}));
    const auto text = report.markdown(day_of(kStart));
    CHECK(text ==
          "# Push reliability, 2026-11-22\n\n"
          "* Since: 2026-11-22T00:00:00.123Z\n* Messages: 1\n* Succeeded: 1\n* Failed: 0\n"
          "* Expired: 0\n* Withdrawn: 0\n* Longest: 1.500 s\n* Shortest: 1.500 s\n* Mean time: "
          "1.500 s\n\n"
          "| milestone | count | total time, s | average time, s |\n|---|---:|---:|---:|\n"
          "| received | 1 | 0.750 | 0.750 |\n| stored | 1 | 0.000 | 0.000 |\n"
          "| retrieved | 1 | 0.750 | 0.750 |\n| delivered | 1 | 0.000 | 0.000 |\n");
}

TEST_CASE("a report of nothing measures nothing") {
    CHECK(nlohmann::json::parse(Report{}.json()) == nlohmann::json::parse(R"({
        "since": null, "longest": 0.0, "shortest": 0.0, "mean_time": 0.0, "success_count": 0,
        "fail_count": 0, "total_count": 0, "expired_count": 0, "withdrawn_count": 0, "milestones": {}})"));
}

TEST_CASE("transmitted is a success, also if the client never acknowledged") {
    Report report;
    report.add(life({{Milestone::transmitted, kStart}, {Milestone::expired, kStart}}));
    report.add(life({{Milestone::bridge_transmitted, kStart}}));
    report.add(life({{Milestone::not_delivered, kStart}}));
    CHECK(report.success_count() == 2);
    CHECK(report.total_count() == 3);
}

TEST_CASE("a message that was replaced or deleted before it was delivered is no loss") {
    const auto end = GENERATE(Milestone::replaced, Milestone::deleted);
    Report report;
    report.add(life({{Milestone::received, kStart}, {Milestone::stored, kStart}, {end, kStart}}));
    report.add(life({{Milestone::transmitted, kStart}, {end, kStart}}));  // the client has it
    report.add(expired_after(milliseconds{100}));
    const auto json = nlohmann::json::parse(report.json());
    CHECK(json["withdrawn_count"] == 1);
    CHECK(json["success_count"] == 1);
    CHECK(json["fail_count"] == 1);
    CHECK(json["expired_count"] == 1);
    CHECK(json["total_count"] == 3);
    CHECK(Report::parse_sums(report.sums_json()) == report);
}

TEST_CASE("reports of parts add up to the report of the whole") {
    Report one;
    Report other;
    Report whole;
    for (int i = 0; i < 20; ++i) {
        const auto history =
            i % 3 == 0 ? expired_after(milliseconds{i * 100}) : delivered_in(milliseconds{i * 70});
        (i % 2 == 0 ? one : other).add(history);
        whole.add(history);
    }
    one.add(other);
    CHECK(one == whole);
    CHECK(Report::parse_sums(whole.sums_json()) == whole);
    CHECK(Report::parse_sums(Report{}.sums_json()) == Report{});
    CHECK_FALSE(Report::parse_sums("{}"));
    auto sums = nlohmann::json::parse(whole.sums_json());
    sums["total_ms"] = 1e300;
    CHECK_FALSE(Report::parse_sums(sums.dump()));
    CHECK_FALSE(Report::parse_sums("not JSON"));
}

TEST_CASE("days are UTC's and read back") {
    CHECK(to_string(day_of(kStart)) == "2026-11-22");
    CHECK(to_string(day_of(kStart - milliseconds{124})) == "2026-11-21");
    CHECK(parse_day("2026-11-22") == day_of(kStart));
    for (const auto* none : {"2026-02-30", "2026-1-2", "2026- 1- 2", "2026-11-2x", "+226-11-22",
                             "-226-11-22", "yesterday", ""}) {
        CAPTURE(none);
        CHECK_FALSE(parse_day(none));
    }
}
