// Fetches that bring much are some milliseconds apart.
#include "log/kafka/fetch_pace.hpp"

#include <catch2/catch.hpp>

using beckon::log::kafka::pause_after;
using namespace std::chrono_literals;

namespace {
constexpr std::size_t kFull = 64 * 1024;
}

TEST_CASE("an answer with one small record is followed by a fraction of a millisecond") {
    CHECK(pause_after(0, kFull) == 0us);
    CHECK(pause_after(768, kFull) == 250us);
}

TEST_CASE("the pause grows with what an answer brings, up to its bound") {
    CHECK(pause_after(3 * 1024, kFull) == 1ms);
    CHECK(pause_after(9 * 1024, kFull) == 3ms);
    CHECK(pause_after(12 * 1024, kFull) == 4ms);
    CHECK(pause_after(kFull - 1, kFull) == 4ms);
}

TEST_CASE("a full answer is followed by no pause, as a restore brings them") {
    CHECK(pause_after(kFull, kFull) == 0us);
    CHECK(pause_after(100 * kFull, kFull) == 0us);
}
