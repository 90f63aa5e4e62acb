#include "support/front_alone.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using World = test::FrontAlone;

namespace {

/// What its homes heard last was that a client shall be attached.
bool was_attached(const World& world) {
    return std::holds_alternative<edge::Attach>(world.homes.got.back());
}

edge::SessionId last_attached(const World& world) {
    return std::get<edge::Attach>(world.homes.got.back()).session;
}

}  // namespace

TEST_CASE("what a former home still says of a client that is attached elsewhere reaches nobody",
          "[edge][front]") {
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
