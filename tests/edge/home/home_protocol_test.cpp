#include "support/home_world.hpp"

#include <regex>

#include <catch2/catch.hpp>

using namespace beckon;
using test::HomeWorld;
using test::Received;

// Every message of the protocol with its members, as a client sees it: what it sends, and all that
// it receives.

namespace {

constexpr std::string_view kChannel = "11112222-3333-4444-5555-666677778888";
const std::string kHello =
    R"({"messageType":"hello","uaid":"<uaid>","status":200,"use_webpush":true,"broadcasts":{}})";
const std::string kJson = "closed 1011 Json";
const std::string kSm = "closed 1011 SM";

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

/// The members behind `messageType`.
std::string frame(std::string_view type, std::string_view members = {}) {
    return R"({"messageType":")" + std::string{type} + '"' + (members.empty() ? "" : ",") +
           std::string{members} + "}";
}
std::string with_channel(std::string_view type, std::string_view more = {}) {
    return frame(type, R"("channelID":")" + std::string{kChannel} + '"' + std::string{more});
}

}  // namespace

TEST_CASE("every first frame, and all that the client receives", "[edge][home][protocol]") {
    HomeWorld world;
    world.serve();
    const std::vector<Row> rows = {
        {frame("hello"), {kHello}},
        {frame("hello", R"("uaid":null,"channelIDs":null,"broadcasts":null)"), {kHello}},
        {frame("hello", R"("uaid":"","use_webpush":false)"), {kHello}},
        {frame("hello", R"("uaid":"nonsense","what":{"ever":[1]})"), {kHello}},
        {frame("hello", R"("channelIDs":[],"broadcasts":{})"), {kHello}},
        {frame("hello", R"("channelIDs":["11112222333344445555666677778888"])"), {kHello}},
        {frame("hello", R"("broadcasts":{"a":"1"})"), {kHello}},
        {frame("hello", R"("channelIDs":["x"])"), {kJson}},
        {frame("hello", R"("channelIDs":[1])"), {kJson}},
        {frame("hello", R"("channelIDs":{})"), {kJson}},
        {frame("hello", R"("broadcasts":[])"), {kJson}},
        {frame("hello", R"("broadcasts":{"a":1})"), {kJson}},
        {frame("hello", R"("uaid":5)"), {kJson}},
        {frame("hello", R"("uaid":"","uaid":"")"), {kJson}},
        {"", {kJson}},
        {"nonsense", {kJson}},
        {"[]", {kJson}},
        {"{}", {kSm}},
        {frame("ping"), {kSm}},
        {frame("HELLO"), {kJson}},
        {frame("ack", R"("updates":[])"), {kSm}},
        {with_channel("register"), {kSm}},
    };
    for (const auto& [sent, received] : rows) {
        CAPTURE(sent);
        const auto number = world.attach(core::Uaid{core::random_uuid4()}, false, sent);
        world.run();
        CHECK(plain(world.take(number), world.uaid(number)) == received);
    }
}

TEST_CASE("every later frame, and all that the client receives", "[edge][home][protocol]") {
    HomeWorld world;
    world.serve();
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
        {with_channel("register", R"(,"key":5)"), {kJson}},
        {with_channel("register", R"(,"channelID":"x")"), {kJson}},
        {frame("register"), {kJson}},
        {frame("register", R"("channelID":5)"), {kJson}},
        {frame("register", R"("channelID":"nonsense")"), {kSm}},
        {frame("register", R"("channelID":"11112222333344445555666677778888")"), {kSm}},
        {frame("register", R"("channelID":"AAAA2222-3333-4444-5555-666677778888")"), {kSm}},
        // unregister
        {with_channel("unregister"), {kUnregistered}},
        {with_channel("unregister", R"(,"code":201)"), {kUnregistered}},
        {with_channel("unregister", R"(,"code":null)"), {kUnregistered}},
        {with_channel("unregister", R"(,"code":4294967295)"), {kUnregistered}},
        {with_channel("unregister", R"(,"code":4294967296)"), {kJson}},
        {with_channel("unregister", R"(,"code":-1)"), {kJson}},
        {with_channel("unregister", R"(,"code":1.5)"), {kJson}},
        {frame("unregister", R"("channelID":"11112222333344445555666677778888")"), {kUnregistered}},
        {frame("unregister", R"("channelID":"x")"), {kJson}},
        {frame("unregister"), {kJson}},
        // ack
        {frame("ack", R"("updates":[])"), {}},
        {frame("ack", R"("updates":[{"channelID":")" + std::string{kChannel} +
                          R"(","version":"unknown"}])"),
         {}},
        {frame("ack", R"("updates":[{"channelID":")" + std::string{kChannel} +
                          R"(","version":"unknown","code":65535}])"),
         {}},
        {frame("ack", R"("updates":[{"channelID":")" + std::string{kChannel} +
                          R"(","version":"unknown","code":65536}])"),
         {kJson}},
        {frame("ack", R"("updates":[{"channelID":"x","version":"unknown"}])"), {kJson}},
        {frame("ack", R"("updates":[{"version":"unknown"}])"), {kJson}},
        {frame("ack", R"("updates":[5])"), {kJson}},
        {frame("ack", R"("updates":{})"), {kJson}},
        {frame("ack"), {kJson}},
        // nack
        {frame("nack", R"("version":"unknown")"), {}},
        {frame("nack", R"("version":"unknown","code":-2147483648)"), {}},
        {frame("nack", R"("version":"unknown","code":2147483648)"), {kJson}},
        {frame("nack", R"("version":5)"), {kJson}},
        {frame("nack"), {kJson}},
        // broadcast_subscribe: its front answers it
        {frame("broadcast_subscribe", R"("broadcasts":{"a":"1"})"), {}},
        {frame("broadcast_subscribe", R"("broadcasts":{"a":1})"), {kJson}},
        {frame("broadcast_subscribe"), {kJson}},
        // nothing of all this
        {frame("hello"), {kSm}},
        {frame("nonsense"), {kJson}},
        {R"({"messageType":5})", {kJson}},
        {R"({"x":1})", {kJson}},
        {R"({"messageType":"ping","messageType":"ping"})", {kJson}},
        {"", {kJson}},
        {"nonsense", {kJson}},
        {"{}{}", {kJson}},
        {"[]", {kJson}},
        {"\"ping\"", {kJson}},
        {"{\"messageType\":\"ping\",\"x\":\"\xff\"}", {kJson}},
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
