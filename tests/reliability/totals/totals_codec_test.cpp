#include "reliability/milestone_texts.hpp"
#include "reliability/random_lives.hpp"
#include "reliability/totals/totals.hpp"
#include "support/record_view.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace reliability;
using test::at_ms;

namespace {

TotalsEvent read_back(const core::Record& record) {
    const test::ReadBack back{record};
    return decode_totals(*back);
}

PartitionCounts some_counts() {
    PartitionCounts event{
        .partition = 7, .at = at_ms(1'790'000'000'000), .counts = {}, .flow = {}, .refused = {}};
    event.counts[Milestone::stored] = 3;
    event.flow[{Milestone::received, Milestone::stored}].add(milliseconds{17});
    event.flow[{Milestone::received, Milestone::stored}].add(milliseconds{7'000});
    event.refused[{Milestone::accepted, Milestone::retrieved}] = 2;
    return event;
}

}  // namespace

TEST_CASE("encoded totals decode to the same ones") {
    CHECK(std::get<PartitionCounts>(read_back(encode(some_counts()))) == some_counts());
    PartitionReport report{.day = *parse_day("2026-11-22"), .partition = 3, .report = {}};
    History history{at_ms(10), at_ms(9)};
    history.add({Milestone::delivered, at_ms(5)}, at_ms(10), at_ms(9));
    report.report.add(history);
    CHECK(std::get<PartitionReport>(read_back(encode(report))) == report);
    const ReportRemoved removed{.day = *parse_day("2026-10-22"), .partition = 3};
    CHECK(std::get<ReportRemoved>(read_back(encode(removed))) == removed);
}

TEST_CASE("a record of another form is not decoded as totals") {
    const auto none = [](core::Record record) {
        return std::holds_alternative<NotTotals>(read_back(record));
    };
    auto counts = encode(some_counts());
    for (const auto* value :
         {"", "{}", "[]", R"({"at":1,"counts":{},"flow":[{}],"refused":[]})",
          R"({"at":1e300,"counts":{},"flow":[],"refused":[]})",
          R"({"at":1,"counts":{"received":-1},"flow":[],"refused":[]})",
          R"({"at":1,"counts":{},"flow":[],"refused":[{"from":"x","to":"y"}]})"}) {
        auto bad = counts;
        bad.value = value;
        CHECK(none(bad));
    }
    for (const auto* key : {"counts/", "counts/x", "counts/-1", "counts/70000", "report/",
                            "report/2026-11-22", "report/2026-13-22/1", "!barrier/x", ""}) {
        auto bad = counts;
        bad.key = key;
        CHECK(none(bad));
    }
    auto null = counts;
    null.value = std::nullopt;
    CHECK(none(null));
}
