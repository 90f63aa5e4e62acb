#include "store/rows/schema.hpp"
#include "support/home_world.hpp"

#include <set>
#include <string>
#include <tuple>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using store::Rotation;
using test::HomeWorld;
using Push = HomeWorld::Push;

// A home over the ends of months: its clock is driven there.

namespace {

constexpr std::uint32_t kHour = 3'600;
constexpr std::uint32_t kDay = 24 * kHour;

struct World : HomeWorld {
    explicit World(Rotation by, std::size_t window = 10) : HomeWorld({.delivery_window = window}) {
        rotation = by;
        serve();
        std::tie(client, channel) = subscribed();
    }

    std::string send(std::uint32_t ttl_s) {
        const auto version = push(client, channel, Push{.ttl_s = ttl_s});
        run();
        return version;
    }
    void go_to(core::Timestamp when) {
        clock.advance(when - clock.wall());
        run();
    }
    core::Timestamp end_of_month() const { return store::month_end(store::month_of(clock.wall())); }
    /// Drops past months, as an edge does every hour. It sends a message first, since the log's
    /// time follows its records; returns its version.
    std::string drop() {
        auto version = send(kHour);
        store->drop_past_months(home->log_now().value_or(core::Timestamp{}), clock.wall());
        run();
        return version;
    }
    void restart(Rotation by) {
        crash();
        rotation = by;
        serve();
    }
    /// Connects the client, which acknowledges nothing, and returns the versions that it gets.
    std::set<std::string> versions_at_connect() {
        const auto session = connect(client);
        run(2s);
        const auto got = take_versions(session);
        hang_up(session);
        std::set<std::string> out{got.begin(), got.end()};
        CHECK(out.size() == got.size());
        return out;
    }

    core::Uaid client;
    core::ChannelId channel;
};

}  // namespace

TEST_CASE(
    "over three month ends living messages arrive, and expired ones do not, wherever a crash comes",
    "[home][rotation]") {
    const auto by = GENERATE(Rotation::monthly, Rotation::daily, Rotation::off);
    const auto crash_at = GENERATE(0, 1, 2, 3);  // 0: none
    CAPTURE(static_cast<int>(by), crash_at);
    World world{by, 100};
    std::set<std::string> long_lived;
    for (int month = 0; month < 3; ++month) {
        const auto end = world.end_of_month();
        world.go_to(end - 2h);
        world.send(kHour);
        auto living = long_lived;
        living.insert(world.send(10 * kDay));
        living.insert(*long_lived.insert(world.send(100 * kDay)).first);
        if (crash_at == 1) world.restart(by);
        // In the middle of a drain: sent, not acknowledged, and the month ends.
        const auto session = world.connect(world.client);
        world.run(2s);
        CHECK(world.take_versions(session).size() == living.size() + 1);
        world.go_to(end + 2h);
        if (crash_at == 2) world.restart(by);
        living.insert(world.drop());
        if (crash_at == 3) world.restart(by);
        if (crash_at < 2) world.hang_up(session);
        CHECK(world.versions_at_connect() == living);
        world.go_to(end + 24h * 12);
        CHECK(world.versions_at_connect() == long_lived);
    }
    CHECK(world.records_in(log::Topic::kSubscriptions,
                           core::to_hex(world.client) + "/" + core::to_dashed(world.channel)) == 1);
}

TEST_CASE(
    "a client that comes while its month is dropped gets its living messages, wherever a crash "
    "comes",
    "[home][rotation]") {
    const auto steps = GENERATE(range(0, 20));
    const bool drops_first = GENERATE(false, true);
    CAPTURE(steps, drops_first);
    World world{Rotation::monthly, 100};
    const auto end = world.end_of_month();
    world.go_to(end - 2h);
    world.send(kHour);
    std::set<std::string> living{world.send(10 * kDay)};
    world.go_to(end + 1h);
    living.insert(world.send(kHour));
    const auto drop = [&] {
        const auto now = world.home->log_now();
        REQUIRE(now);
        CHECK(world.store->drop_past_months(*now, world.clock.wall()).size() == 1);
    };
    world.hello(world.client);
    if (drops_first) drop();
    for (int i = 0; i < steps; ++i) world.executor.step();
    if (!drops_first) drop();
    world.restart(Rotation::monthly);
    CHECK(world.versions_at_connect() == living);
}

TEST_CASE("another rotation at a restart loses nothing, and brings nothing back",
          "[home][rotation]") {
    const auto from = GENERATE(Rotation::monthly, Rotation::daily, Rotation::off);
    const auto to = GENERATE(Rotation::monthly, Rotation::daily, Rotation::off);
    CAPTURE(static_cast<int>(from), static_cast<int>(to));
    World world{from};
    std::set<std::string> waiting;
    for (const auto ttl : {kHour, kDay, 40 * kDay, 300 * kDay}) waiting.insert(world.send(ttl));
    const auto acked = world.send(kDay);
    const auto session = world.connect(world.client);
    world.ack(session, acked);
    world.run();
    world.restart(to);
    CHECK(world.versions_at_connect() == waiting);
    waiting.insert(world.send(2 * kDay));  // folding goes on
    world.restart(from);
    CHECK(world.versions_at_connect() == waiting);
}
