#include "retry/home/tiers/done_tracker.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

using beckon::core::Offset;
using beckon::retry::DoneTracker;
using beckon::retry::Finished;

TEST_CASE("the low watermark stands at the oldest open record", "[retry][done]") {
    DoneTracker tracker;
    for (const int offset : {0, 1, 2, 3}) tracker.open(offset);
    CHECK(tracker.finished() == Finished{.low = 0, .above = {}});
    tracker.finish(2);
    CHECK(tracker.finished() == Finished{.low = 0, .above = {{2, 3}}});
    tracker.finish(0);
    CHECK(tracker.finished() == Finished{.low = 1, .above = {{2, 3}}});
    tracker.finish(1);
    CHECK(tracker.finished() == Finished{.low = 3, .above = {}});
}

TEST_CASE("offsets that no record has count as finished", "[retry][done]") {
    DoneTracker tracker;
    tracker.open(10);
    tracker.read_up_to(100);
    CHECK(tracker.finished() == Finished{.low = 10, .above = {{11, 100}}});
    tracker.finish(10);
    CHECK(tracker.finished() == Finished{.low = 100, .above = {}});
}

TEST_CASE("deliveries that an earlier owner finished stay finished", "[retry][done]") {
    DoneTracker tracker{{.low = 5, .above = {{7, 9}, {12, 13}}}};
    CHECK(tracker.is_finished(4));
    CHECK_FALSE(tracker.is_finished(5));
    CHECK(tracker.is_finished(7));
    CHECK(tracker.is_finished(8));
    CHECK_FALSE(tracker.is_finished(9));
    tracker.open(5);
    tracker.open(6);
    tracker.finish(5);
    CHECK(tracker.finished() == Finished{.low = 6, .above = {{7, 9}, {12, 13}}});
    tracker.finish(6);
    CHECK(tracker.finished() == Finished{.low = 9, .above = {{12, 13}}});
}

TEST_CASE("a record is finished once", "[retry][done]") {
    DoneTracker tracker;
    tracker.open(0);
    CHECK(tracker.finish(0));
    CHECK_FALSE(tracker.finish(0));
    CHECK_FALSE(tracker.finish(7));
}

TEST_CASE("an owner that goes on from another's record opens exactly the unfinished deliveries",
          "[retry][done]") {
    const auto seed = GENERATE(range(0u, 100u));
    CAPTURE(seed);
    std::mt19937 random{seed};
    constexpr int kEnd = 60;
    std::set<int> unfinished;
    for (int offset = 0; offset < kEnd; ++offset) unfinished.insert(offset);
    Finished known;
    for (int owner = 0; owner < 5; ++owner) {
        DoneTracker tracker{known};
        std::vector<int> open;
        const int until = static_cast<int>(known.low) + static_cast<int>(random() % 40);
        for (int offset = static_cast<int>(known.low); offset < std::min(until, kEnd); ++offset) {
            CHECK(tracker.is_finished(offset) == !unfinished.contains(offset));
            if (!unfinished.contains(offset)) continue;
            tracker.open(offset);
            open.push_back(offset);
        }
        std::shuffle(open.begin(), open.end(), random);
        open.resize(open.size() / 2);
        for (const int offset : open) {
            tracker.finish(offset);
            unfinished.erase(offset);
        }
        known = tracker.finished();
        Offset above = 0;
        for (const auto& range : known.above) above += range.end - range.begin;
        CHECK(tracker.finished_above() == above);
        CHECK(tracker.low() == known.low);
    }
    const DoneTracker last{known};
    for (int offset = 0; offset < kEnd; ++offset) {
        CHECK(last.is_finished(offset) == !unfinished.contains(offset));
    }
}
