#include "edge/link/link_connection.hpp"

#include "support/manual_clock.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace edge::link;
using namespace std::chrono_literals;
using core::Fault;

namespace {

const core::NodeId kA{"000000000000000a"};
const core::NodeId kB{"000000000000000b"};

LinkConnection::Options options(const core::NodeId& self,
                                std::optional<core::NodeId> expected = std::nullopt) {
    return {.self = {.node = self, .log_id = "log"}, .expected = std::move(expected)};
}

/// Two ends, whose bytes the test passes on.
struct Pair {
    test::ManualClock clock;
    LinkConnection a{options(kA, kB), clock.mono()};
    LinkConnection b{options(kB), clock.mono()};
    edge::Messages at_a;
    edge::Messages at_b;

    core::Result<void> to_b(const std::string& bytes, std::string& reply) {
        return b.receive(bytes, clock.mono(), reply, at_b);
    }
    core::Result<void> to_a(const std::string& bytes, std::string& reply) {
        return a.receive(bytes, clock.mono(), reply, at_a);
    }
    void greet() {
        std::string from_a;
        std::string from_b;
        REQUIRE(a.opening().empty());
        REQUIRE(to_a(b.opening(), from_a));
        REQUIRE(to_b(from_a, from_b));
        REQUIRE(from_b.empty());
    }
};

std::string bytes_of(const Frame& frame) {
    std::string out;
    REQUIRE(append_frame(out, frame));
    return out;
}

}  // namespace

TEST_CASE("two ends know each other once both have greeted") {
    Pair p;
    CHECK(!p.a.peer());
    p.greet();
    CHECK(p.a.peer() == kB);
    CHECK(p.b.peer() == kA);
}

TEST_CASE("a message carries the session of the front that sent it") {
    Pair p;
    p.greet();
    std::string reply;
    const edge::SessionId session{.front = kA, .shard = 1, .number = 9};
    REQUIRE(p.to_b(bytes_of(edge::ToHome{edge::Detach{session, {}}}), reply));
    REQUIRE(p.at_b.to_homes.size() == 1);
    CHECK(std::get<edge::Detach>(p.at_b.to_homes[0]).session == session);
    REQUIRE(p.to_a(bytes_of(edge::ToFront{edge::ToClient{session, "hi"}}), reply));
    REQUIRE(p.at_a.to_fronts.size() == 1);
    CHECK(std::get<edge::ToClient>(p.at_a.to_fronts[0]).session == session);
}

TEST_CASE("a link refuses a peer that is not who it should be") {
    Pair p;
    std::string reply;
    const auto refused = [&](Greeting greeting) {
        const auto result = p.to_a(bytes_of(greeting), reply);
        REQUIRE(!result);
        return result.error().fault;
    };
    CHECK(refused({.node = kB, .log_id = "another"}) == Fault::unauthorized);
    CHECK(refused({.node = core::NodeId{"000000000000000c"}, .log_id = "log"}) ==
          Fault::unauthorized);
    CHECK(refused({.version_lowest = 4, .version_highest = 5, .node = kB, .log_id = "log"}) ==
          Fault::conflict);
    CHECK(!p.a.peer());
    CHECK(p.to_b(bytes_of(Greeting{.node = kB, .log_id = "log"}), reply).error().fault ==
          Fault::unauthorized);
}

TEST_CASE("a node that reaches another node than it meant sends nothing to it") {
    Pair p;
    std::string reply;
    CHECK(p.a.opening().empty());
    CHECK_FALSE(p.to_a(
        bytes_of(Greeting{.node = core::NodeId{"000000000000000c"}, .log_id = "log"}), reply));
    CHECK(reply.empty());
}

TEST_CASE("nothing is taken from a peer before its greeting") {
    Pair p;
    std::string reply;
    const auto early = p.to_b(bytes_of(Ping{1}), reply);
    REQUIRE(!early);
    CHECK(early.error().fault == Fault::invalid);
    CHECK(reply.empty());
}

TEST_CASE("a peer that greets twice breaks the format") {
    Pair p;
    p.greet();
    std::string reply;
    CHECK(p.to_a(p.b.opening(), reply).error().fault == Fault::invalid);
}

TEST_CASE("a silent peer is asked and then given up") {
    Pair p;
    p.greet();
    std::string out;
    p.clock.advance(500ms);
    REQUIRE(p.a.tick(p.clock.mono(), out));
    CHECK(out.empty());
    p.clock.advance(500ms);
    REQUIRE(p.a.tick(p.clock.mono(), out));
    CHECK(out == bytes_of(Ping{1}));

    SECTION("an answer keeps the link") {
        p.clock.advance(2999ms);
        std::string reply;
        REQUIRE(p.to_b(out, reply));
        CHECK(reply == bytes_of(Pong{1}));
        REQUIRE(p.to_a(reply, out));
        p.clock.advance(3999ms);
        CHECK(p.a.tick(p.clock.mono(), out));
    }
    SECTION("silence ends the link") {
        p.clock.advance(2999ms);
        REQUIRE(p.a.tick(p.clock.mono(), out));
        p.clock.advance(1ms);
        CHECK(p.a.tick(p.clock.mono(), out).error().fault == Fault::timed_out);
    }
}

TEST_CASE("the time in which a node does not read is no silence of its peer") {
    Pair p;
    p.greet();
    std::string out;
    for (int i = 0; i < 20; ++i) {
        p.clock.advance(500ms);
        p.a.not_reading(p.clock.mono());
        REQUIRE(p.a.tick(p.clock.mono(), out));
    }
    CHECK(out.starts_with(bytes_of(Ping{1}) + bytes_of(Ping{2})));  // the peer hears it
    p.clock.advance(3999ms);
    REQUIRE(p.a.tick(p.clock.mono(), out));
    p.clock.advance(1ms);
    CHECK(p.a.tick(p.clock.mono(), out).error().fault == Fault::timed_out);
}

TEST_CASE("a peer that never greets is given up") {
    Pair p;
    std::string out;
    p.clock.advance(2999ms);
    REQUIRE(p.a.tick(p.clock.mono(), out));
    p.clock.advance(1ms);
    CHECK(p.a.tick(p.clock.mono(), out).error().fault == Fault::timed_out);
    CHECK(out.empty());
}
