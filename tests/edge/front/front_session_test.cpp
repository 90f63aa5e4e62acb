#include "support/front_alone.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using World = test::FrontAlone;

namespace {

/// The last message to its homes attaches a client.
bool was_attached(const World& world) {
    return std::holds_alternative<edge::Attach>(world.homes.got.back());
}

edge::SessionId last_attached(const World& world) {
    return std::get<edge::Attach>(world.homes.got.back()).session;
}

}  // namespace

TEST_CASE("messages of a former home for a client that is attached elsewhere are dropped") {
    World world;
    auto& client = world.identified("{}");
    const auto former = last_attached(world);
    world.sockets.take();

    world.front.peer_lost(edge::NodeNumber{});
    for (int ticks = 0; ticks < 100 && !was_attached(world); ++ticks) world.front.tick();
    REQUIRE(was_attached(world));
    const auto now = last_attached(world);
    world.front.receive(edge::ToClient{.session = former, .text = "late"});
    world.front.receive(edge::CloseClient{.session = former, .reason = "late"});
    CHECK(world.sockets.take().empty());
    CHECK(world.sockets.closed == 0);

    world.front.receive(
        edge::Attached{.session = now, .uaid = client.uaid, .stamp = {2, 1}, .persisted = true});
    world.front.receive(edge::ToClient{.session = now, .text = "x"});
    CHECK(world.sockets.take() == std::vector<std::string>{"x"});
}

TEST_CASE("a hello has its answer where a link is lost right after the client was attached") {
    World world;
    auto& client = world.hello("{}");
    world.answer(client);
    world.front.peer_lost(edge::NodeNumber{});
    CHECK(world.sockets.take() == std::vector{edge::hello_frame(client.uaid)});

    for (int ticks = 0; ticks < 100 && !was_attached(world); ++ticks) world.front.tick();
    REQUIRE(was_attached(world));
    CHECK(std::get<edge::Attach>(world.homes.got.back()).again);
    world.answer(client);
    CHECK(world.sockets.take().empty());
}

namespace {

/// A client whose register had no answer when its home let it go, asking for the next home.
edge::Client& asks_again_with_a_register(World& world) {
    auto& client = world.identified("{}");
    world.front.text(client, R"({"messageType":"register","channelID":")" +
                                 core::to_dashed(core::ChannelId{core::random_uuid4()}) + R"("})");
    edge::CloseClient released;
    released.session = std::get<edge::FromClient>(world.homes.got.back()).session;
    released.kind = edge::CloseClient::Kind::released;
    world.front.receive(std::move(released));
    for (int i = 0; i < 100 && !was_attached(world); ++i) world.front.tick();
    REQUIRE(was_attached(world));
    return client;
}

}  // namespace

TEST_CASE(
    "a client whose frames cannot be repeated because the route to its next home is full is "
    "closed") {
    World world;
    const auto& client = asks_again_with_a_register(world);
    world.homes.frames = edge::Sent::full;
    world.answer(client);
    CHECK(world.sockets.closed == 1);
}

TEST_CASE(
    "frames that cannot be repeated because the next home has gone too are repeated at the one "
    "after") {
    World world;
    const auto& client = asks_again_with_a_register(world);
    world.homes.frames = edge::Sent::away;
    const auto before = world.homes.got.size();
    world.answer(client);
    CHECK(world.sockets.closed == 0);
    for (int i = 0; i < 100 && world.homes.got.size() == before; ++i) world.front.tick();
    REQUIRE(world.homes.got.size() == before + 1);
    REQUIRE(was_attached(world));
    world.homes.frames = edge::Sent::yes;
    world.answer(client);
    REQUIRE(std::holds_alternative<edge::FromClient>(world.homes.got.back()));
    CHECK(std::holds_alternative<edge::Register>(
        std::get<edge::FromClient>(world.homes.got.back()).command));
}
