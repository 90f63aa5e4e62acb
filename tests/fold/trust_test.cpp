#include "fold/opening.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::fold;

namespace {

core::Timestamp at(std::int64_t seconds) { return core::Timestamp{std::chrono::seconds{seconds}}; }

}  // namespace

TEST_CASE("a checkpoint is trusted only within the log, at its end or caught up recently") {
    struct Row {
        const char* why;
        core::Offset next;
        std::int64_t caught_up_s;
        bool trusted;
    };
    // The log holds [100, 200); now is 10,000 s; tombstones are kept for 2,000 s.
    const Row row = GENERATE(values<Row>({
        {"below the log's start: records are gone that it never read", 99, 9'999, false},
        {"at the start, recent", 100, 9'999, true},
        {"in the middle, recent", 150, 9'999, true},
        {"in the middle, just within half of the retention", 150, 9'001, true},
        {"in the middle, exactly half of it", 150, 9'000, false},
        {"in the middle, long ago", 150, 0, false},
        {"in the middle, never caught up", 150, -1'790'000'000, false},
        {"at the end, however long ago", 200, 0, true},
        {"above the end: another log, or one that lost records", 201, 9'999, false},
        {"caught up in the future, a clock stepped back", 150, 10'500, true},
    }));
    CAPTURE(row.why);
    const core::Checkpoint checkpoint{.next = row.next, .caught_up = at(row.caught_up_s)};
    CHECK(is_trusted(checkpoint, 100, 200, at(10'000), std::chrono::seconds{2'000}) == row.trusted);
}

TEST_CASE("the checkpoint of an empty log is its end") {
    CHECK(is_trusted({}, 0, 0, at(0), std::chrono::hours{24}));
    CHECK_FALSE(is_trusted({.next = 5}, 0, 0, at(0), std::chrono::hours{24}));
}
