#include "support/front_alone.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using test::known;
using World = test::FrontAlone;

TEST_CASE("the answer to hello has the versions that differ") {
    World world;
    world.front.broadcasts(known({{"a", "1"}, {"b", "2"}}));
    CHECK(world.sent_at_hello("{}") == "{}}");
    CHECK(world.sent_at_hello(R"({"a":"1"})") == "{}}");
    CHECK(world.sent_at_hello(R"({"a":"0","b":"0"})") == R"({"a":"1","b":"2"}})");
    CHECK(world.sent_at_hello(R"({"x":"0"})") == R"({"errors":{"x":"Broadcast not found"}}})");
}

TEST_CASE("broadcast_subscribe is answered here, or not at all") {
    World world;
    world.front.broadcasts(known({{"a", "1"}}));
    auto& client = world.identified("{}");
    world.sockets.take();
    world.homes.got.clear();
    const auto ask = [&](const std::string& broadcasts) {
        world.front.text(
            client, R"({"messageType":"broadcast_subscribe","broadcasts":)" + broadcasts + "}");
        return world.sockets.take();
    };
    using Frames = std::vector<std::string>;
    CHECK(ask(R"({"a":"1"})").empty());
    CHECK(ask(R"({"a":"0"})") == Frames{edge::broadcast_frame(R"("a":"1")")});
    CHECK(ask(R"({"x":"0"})") ==
          Frames{edge::broadcast_frame(R"("errors":{"x":"Broadcast not found"})")});
    CHECK(world.homes.got.empty());

    SECTION("escaped, it is the same frame") {
        world.front.text(
            client,
            R"({"messageType":"\u0062roa\u0064cast_subscribe","\u0062roa\u0064casts":{"a":"0"}})");
        CHECK(world.sockets.take() == Frames{edge::broadcast_frame(R"("a":"1")")});
    }
    SECTION("malformed, it closes the connection") {
        world.front.text(client, R"({"messageType":"broadcast_subscribe"})");
        CHECK(world.sockets.last_closing == edge::closing::kMalformed);
    }
}

TEST_CASE("a change is sent to its followers, and to nobody else") {
    World world;
    world.front.broadcasts(known({{"a", "1"}, {"b", "1"}}));
    auto& one = world.identified(R"({"a":"1"})");
    world.identified(R"({"b":"1"})");
    world.identified("{}");
    auto& gone = world.identified(R"({"a":"1"})");
    world.front.gone(gone);
    world.sockets.take();
    world.front.broadcasts(known({{"a", "2"}, {"b", "1"}}));
    CHECK(!world.front.wants_tick());  // a few get it at once
    REQUIRE(world.sockets.sent.size() == 1);
    CHECK(world.sockets.sent[0] == std::pair{&one, edge::broadcast_frame(R"("a":"2")")});
}

TEST_CASE("a change while the hello waits for its answer is sent with it") {
    World world;
    world.front.broadcasts(known({{"a", "1"}}));
    auto& client = world.hello(R"({"a":"1"})");
    world.front.broadcasts(known({{"a", "2"}}));
    world.front.tick();
    CHECK(world.sockets.sent.empty());
    world.answer(client);
    const auto frames = world.sockets.take();
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].ends_with(R"("broadcasts":{"a":"2"}})"));
}

TEST_CASE("versions that come after the hello are sent then, and denied to nobody before") {
    World world;
    CHECK(world.sent_at_hello(R"({"a":"1","x":"1"})") == "{}}");
    world.front.broadcasts(known({{"a", "2"}}));
    world.front.tick();
    CHECK(world.sockets.take() == std::vector{edge::broadcast_frame(R"("a":"2")")});
}

TEST_CASE("10,000 clients are notified in under a second, no tick too many") {
    constexpr int kClients = 10'000;
    World world;
    world.front.broadcasts(known({{"a", "1"}}));
    for (int i = 0; i < kClients; ++i) world.identified(R"({"a":"1"})");
    world.sockets.take();
    world.front.broadcasts(known({{"a", "2"}}));
    int ticks = 0;
    std::size_t reported = world.sockets.take().size();
    CHECK(reported == edge::Front::kNotifyBudget);
    for (; world.front.wants_tick(); ++ticks) {
        world.front.tick();
        const auto now = world.sockets.take().size();
        CHECK(now <= edge::Front::kNotifyBudget);
        reported += now;
    }
    CHECK(reported == kClients);
    CHECK(ticks * edge::Front::kTick < 1s);
}
