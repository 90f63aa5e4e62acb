#include "endpoint_world.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;

TEST_CASE("a POST over a socket is answered 201 when the log has it", "[endpoint]") {
    EndpointWorld world;
    const auto path = world.subscribed();
    auto socket = world.connect();
    REQUIRE(world.wait_ready());
    REQUIRE(socket.send(EndpointWorld::post(path, "ciphertext")));
    const auto reply = socket.read_reply();
    CHECK(reply.status == 201);
    CHECK(reply.head.find("\r\nLocation: http://127.0.0.1:") != std::string::npos);
    CHECK(reply.head.find("\r\nTTL: 60\r\n") != std::string::npos);
    CHECK(world.messages() == 1);
}
