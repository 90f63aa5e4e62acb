#include "fold/standstill.hpp"

#include "support/manual_clock.hpp"

#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using fold::Answer;

namespace {

/// A loop that may stand still for four seconds, and the read barriers that were asked for.
struct Loop {
    Loop() { standstill.turned(); }

    void stood_still_for(core::Duration time, bool following = true) {
        clock.advance(time);
        standstill.look(following);
        standstill.turned();
    }

    test::ManualClock clock;
    std::vector<Answer> asked;
    fold::Standstill standstill{4s, clock,
                                [this](Answer answer) { asked.push_back(std::move(answer)); }};
};

}  // namespace

TEST_CASE("a loop that turns in time is trusted", "[fold][standstill]") {
    Loop loop;
    for (int i = 0; i < 10; ++i) loop.stood_still_for(4s);
    CHECK_FALSE(loop.standstill.suspect());
    CHECK(loop.asked.empty());
}

TEST_CASE("a standstill is over once read barriers have passed", "[fold][standstill]") {
    Loop loop;
    loop.stood_still_for(5s);
    CHECK(loop.standstill.suspect());
    loop.stood_still_for(1s);
    REQUIRE(loop.asked.size() == 1);  // one question at a time
    loop.asked[0]({});
    CHECK_FALSE(loop.standstill.suspect());
}

TEST_CASE("read barriers that do not pass are asked for again", "[fold][standstill]") {
    Loop loop;
    loop.stood_still_for(5s);
    loop.asked[0](core::fail(core::Fault::timed_out, "no read barrier"));
    CHECK(loop.standstill.suspect());
    loop.stood_still_for(1s);
    REQUIRE(loop.asked.size() == 2);
    loop.asked[1]({});
    CHECK_FALSE(loop.standstill.suspect());
}

TEST_CASE("a fold that does not follow yet proves a standstill otherwise", "[fold][standstill]") {
    Loop loop;
    loop.stood_still_for(5s, false);
    CHECK(loop.standstill.suspect());
    CHECK(loop.asked.empty());
    loop.standstill.proven();
    CHECK_FALSE(loop.standstill.suspect());
}
