#include "support/client_frames.hpp"
#include "support/home_world.hpp"

#include <regex>

#include <catch2/catch.hpp>

using namespace beckon;
using test::frame;
using test::Received;
using test::ServingHome;
using test::with_channel;

// Every command of the protocol with its members, as a client sees it: what it sends, and all that
// it receives. tests/edge/front/front_protocol_test.cpp has the frames that a front refuses.

namespace {

constexpr auto kChannel = test::kSomeChannel;

std::string channel_frame(std::string_view type, int status, std::string_view rest = {}) {
    return R"({"messageType":")" + std::string{type} + R"(","channelID":")" +
           std::string{kChannel} + R"(","status":)" + std::to_string(status) + std::string{rest} +
           "}";
}
const std::string kRegistered = channel_frame("register", 200, R"(,"pushEndpoint":"<url>")");
const std::string kUnregistered = channel_frame("unregister", 200);

/// With names in place of the parts that differ each time.
Received plain(Received received, const core::Uaid& uaid) {
    static const std::regex url{R"(https://push\.example\.org/wpush/[A-Za-z0-9_-]{66,87})"};
    for (auto& frame : received) {
        const auto at = frame.find(core::to_hex(uaid));
        if (at != std::string::npos) frame.replace(at, 32, "<uaid>");
        frame = std::regex_replace(frame, url, "<url>");
    }
    return received;
}

struct Row {
    std::string sent;
    Received received;
};

}  // namespace

TEST_CASE("every command, and all that the client receives") {
    ServingHome world;
    const std::string bad_key =
        channel_frame("register", 400, R"(,"pushEndpoint":"Failed to generate endpoint")");
    const std::vector<Row> rows = {
        // pings
        {"{}", {"{}"}},
        {" { } ", {"{}"}},
        {frame("ping"), {"{}"}},
        {frame("ping", R"("x":1)"), {"{}"}},
        // register
        {with_channel("register"), {kRegistered}},
        {with_channel("register", R"(,"key":null,"x":[])"), {kRegistered}},
        {with_channel("register", R"(,"key":"AAECAwQ")"), {kRegistered}},
        {with_channel("register", R"(,"key":"AAECAwQ=")"), {kRegistered}},
        {with_channel("register", R"(,"key":"a+b/")"), {bad_key}},
        // unregister
        {with_channel("unregister"), {kUnregistered}},
        {with_channel("unregister", R"(,"code":201)"), {kUnregistered}},
        {with_channel("unregister", R"(,"code":null)"), {kUnregistered}},
        {with_channel("unregister", R"(,"code":4294967295)"), {kUnregistered}},
        {frame("unregister", R"("channelID":"11112222333344445555666677778888")"), {kUnregistered}},
        // ack
        {frame("ack", R"("updates":[])"), {}},
        {frame("ack", R"("updates":[{"channelID":")" + std::string{kChannel} +
                          R"(","version":"unknown"}])"),
         {}},
        {frame("ack", R"("updates":[{"channelID":")" + std::string{kChannel} +
                          R"(","version":"unknown","code":65535}])"),
         {}},
        // nack
        {frame("nack", R"("version":"unknown")"), {}},
        {frame("nack", R"("version":"unknown","code":-2147483648)"), {}},
    };
    for (const auto& [sent, received] : rows) {
        CAPTURE(sent);
        const auto number = world.connect();
        world.take(number);
        world.send_frame(number, sent);
        world.run();
        CHECK(plain(world.take(number), world.uaid(number)) == received);
    }
}
