#include "fold/stall_watch.hpp"

#include "support/manual_clock.hpp"

#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using fold::Answer;

namespace {

/// A loop that may stall for four seconds, and the read barriers that were asked for.
struct Loop {
    Loop() { stall_watch.turned(); }

    void stood_still_for(core::Duration time, bool following = true) {
        clock.advance(time);
        stall_watch.update(following);
        stall_watch.turned();
    }

    test::ManualClock clock;
    std::vector<Answer> asked;
    fold::StallWatch stall_watch{4s, clock,
                                 [this](Answer answer) { asked.push_back(std::move(answer)); }};
};

}  // namespace

TEST_CASE("a loop that turns in time is trusted") {
    Loop loop;
    for (int i = 0; i < 10; ++i) loop.stood_still_for(4s);
    CHECK_FALSE(loop.stall_watch.stalled());
    CHECK(loop.asked.empty());
}

TEST_CASE("a stall is over once read barriers have passed") {
    Loop loop;
    loop.stood_still_for(5s);
    CHECK(loop.stall_watch.stalled());
    loop.stood_still_for(1s);
    REQUIRE(loop.asked.size() == 1);  // one query at a time
    loop.asked[0]({});
    CHECK_FALSE(loop.stall_watch.stalled());
}

TEST_CASE("read barriers that do not pass are asked for again") {
    Loop loop;
    loop.stood_still_for(5s);
    loop.asked[0](core::fail(core::Fault::timed_out, "no read barrier"));
    CHECK(loop.stall_watch.stalled());
    loop.stood_still_for(1s);
    REQUIRE(loop.asked.size() == 2);
    loop.asked[1]({});
    CHECK_FALSE(loop.stall_watch.stalled());
}

TEST_CASE("a fold that does not follow yet proves the end of a stall otherwise") {
    Loop loop;
    loop.stood_still_for(5s, false);
    CHECK(loop.stall_watch.stalled());
    CHECK(loop.asked.empty());
    loop.stall_watch.proven();
    CHECK_FALSE(loop.stall_watch.stalled());
}
