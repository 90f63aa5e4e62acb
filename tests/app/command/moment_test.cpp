#include "app/command/moment.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using app::parse_moment;
using core::Timestamp;

namespace {

/// The host's time zone, as long as it lives.
class Zone {
public:
    explicit Zone(const char* name) {
        if (const char* before = std::getenv("TZ")) before_ = before;
        setenv("TZ", name, 1);
        tzset();
    }
    ~Zone() {
        before_.empty() ? unsetenv("TZ") : setenv("TZ", before_.c_str(), 1);
        tzset();
    }

private:
    std::string before_;
};

// 2026-11-22T10:00:00Z
const Timestamp kNow{1'795'341'600'000ms};

}  // namespace

TEST_CASE("moments with their zone are the same everywhere") {
    for (const auto* zone : {"UTC0", "CET-1", "EST5"}) {
        const Zone here{zone};
        CHECK(parse_moment("2026-11-22T10:00:00Z", kNow) == kNow);
        CHECK(parse_moment("2026-11-22t10:00:00.250z", kNow) == kNow + 250ms);
        CHECK(parse_moment("2026-11-22 12:00+02:00", kNow) == kNow);
        CHECK(parse_moment("2026-11-22T05:30:00-0430", kNow) == kNow);
        CHECK(parse_moment("2026-11-22 UTC", kNow) == kNow - 10h);
        CHECK(parse_moment("9:00 UTC", kNow) == kNow - 1h);
        CHECK(parse_moment("yesterday 10:00Z", kNow) == kNow - 24h);
        CHECK(parse_moment("@123", kNow) == Timestamp{123ms});
        CHECK(parse_moment("-15m", kNow) == kNow - 15min);
        CHECK(parse_moment("-2d", kNow) == kNow - 48h);
        CHECK(parse_moment("now", kNow) == kNow);
    }
}

TEST_CASE("moments without a zone are in that of the host") {
    const Zone here{"CET-1"};
    CHECK(parse_moment("11:00", kNow) == kNow);
    CHECK(parse_moment("10:59:30", kNow) == kNow - 30s);
    CHECK(parse_moment("today 0:00", kNow) == kNow - 11h);
    CHECK(parse_moment("today", kNow) == kNow - 11h);
    CHECK(parse_moment("yesterday", kNow) == kNow - 35h);
    CHECK(parse_moment("yesterday 15:00", kNow) == kNow - 20h);
    CHECK(parse_moment("2026-11-21", kNow) == kNow - 35h);
    CHECK(parse_moment("2026-11-22T11:00:00", kNow) == kNow);
    CHECK(parse_moment("2026-12-01 00:00", Timestamp{}) == kNow + 8 * 24h + 13h);
}

TEST_CASE("what is no moment is refused") {
    for (const auto* wrong : {"",
                              " ",
                              "tomorrow",
                              "2026",
                              "2026-13-01",
                              "2026-02-30",
                              "2026-11-22T",
                              "-",
                              "-5",
                              "@x",
                              "-5w",
                              "-10000000001s",
                              "-9223372036854775807d",
                              "--5m",
                              "2026-11-22T10:00:00.2Z",
                              "25:00",
                              "10",
                              "10:5",
                              "10:00:61",
                              "10:00 CET",
                              "10:00+2",
                              "10:00Zx",
                              "yesterday15",
                              "today 10:00 10:00"}) {
        CAPTURE(wrong);
        CHECK_FALSE(parse_moment(wrong, kNow));
    }
}
