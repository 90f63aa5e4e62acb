#include "core/logger.hpp"
#include "sim/sim_world.hpp"

#include <cstdlib>

#include <catch2/catch.hpp>

using beckon::sim::SimWorld;

namespace {

unsigned number(const char* name, unsigned otherwise) {
    const char* asked = std::getenv(name);
    return asked ? static_cast<unsigned>(std::strtoul(asked, nullptr, 10)) : otherwise;
}

/// More at night: BECKON_SIM_SEEDS=5000. One of them: BECKON_SIM_FIRST=630 BECKON_SIM_SEEDS=1.
unsigned seeds(unsigned otherwise) { return number("BECKON_SIM_SEEDS", otherwise); }
unsigned first_seed() { return number("BECKON_SIM_FIRST", 0); }

void run(SimWorld& world, bool clients_return) {
    world.misbehave();
    world.calm_down(clients_return);
    world.check();
    CHECK(world.broken == std::vector<std::string>{});
}

}  // namespace

TEST_CASE("every 201 is delivered to a client that acknowledges, or still pending", "[sim]") {
    beckon::core::configure_logging(beckon::core::LogLevel::error, beckon::core::LogFormat::text);
    SimWorld::Tally sum;
    for (unsigned seed = first_seed(); seed < first_seed() + seeds(80); ++seed) {
        CAPTURE(seed);  // a failure shows all that is needed to run it again
        SimWorld world{seed};
        run(world, seed % 3 != 0);
        sum.answered_201 += world.tally.answered_201;
        sum.received += world.tally.received;
        sum.crashes += world.tally.crashes;
        sum.registered += world.tally.registered;
    }
    // The runs were about something.
    CHECK(sum.answered_201 > 30 * seeds(80));
    CHECK(sum.received > 25 * seeds(80));
    CHECK(sum.registered > 5 * seeds(80));
    CHECK(sum.crashes > seeds(80));
}

TEST_CASE("whatever clocks do, a message lives as long as its sender asked for", "[sim][clock]") {
    beckon::core::configure_logging(beckon::core::LogLevel::error, beckon::core::LogFormat::text);
    SimWorld::Tally sum;
    for (unsigned seed = first_seed(); seed < first_seed() + seeds(60); ++seed) {
        CAPTURE(seed);
        SimWorld world{seed, SimWorld::Clocks::hostile};
        run(world, seed % 3 != 0);
        sum.answered_201 += world.tally.answered_201;
        sum.received += world.tally.received;
        sum.steps += world.tally.steps;
    }
    CHECK(sum.answered_201 > 30 * seeds(60));
    CHECK(sum.received > 20 * seeds(60));
    CHECK(sum.steps > 2 * seeds(60));
}
