#include "core/shown_clock.hpp"

#include "support/manual_clock.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;

// Fails where an age is the host's time minus the log's: eight days for a record of a moment ago.
TEST_CASE("ages are shown by the log's time where the host's clock is wrong") {
    for (const std::chrono::milliseconds wrong : {192h, -192h}) {
        test::ManualClock host;
        core::ShownClock shown{host};
        const auto appended = host.wall();
        host.step_wall(wrong);
        CHECK(shown.wall() == host.wall());  // nothing else is known
        shown.learn(appended);
        CHECK(shown.wall() == appended);
        host.advance(10s);
        CHECK(shown.wall() - appended == 10s);
        CHECK(shown.mono() == host.mono());
    }
}
