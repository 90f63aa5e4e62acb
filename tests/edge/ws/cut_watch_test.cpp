#include "edge/ws/ws_connection.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using beckon::core::MonoTime;
using beckon::edge::CutWatch;

TEST_CASE("connections that are cut at the same age are noticed once an hour") {
    CutWatch watch;
    MonoTime now{};
    for (std::size_t i = 1; i < CutWatch::kSamples; ++i) CHECK_FALSE(watch.lost(60'200ms, now));
    CHECK(watch.lost(60'100ms, now) == 60s);
    CHECK_FALSE(watch.lost(60'100ms, now + 30min));
    CHECK(watch.lost(60'100ms, now + 61min) == 60s);
}

TEST_CASE("connections that end at various ages, or very young, do not point to a proxy") {
    CutWatch watch;
    for (int i = 0; i < 200; ++i) {
        CHECK_FALSE(watch.lost(std::chrono::seconds{10 + i * 7 % 97}, MonoTime{}));
    }
    for (int i = 0; i < 200; ++i) CHECK_FALSE(watch.lost(1s, MonoTime{}));
}
