#include "support/client_frames.hpp"
#include "support/front_alone.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using test::frame;
using test::FrontAlone;
using test::with_channel;

// The frames that a front refuses, and what the client is told.
// tests/edge/home/home_protocol_test.cpp has those that a home answers.

namespace {

constexpr auto kChannel = test::kSomeChannel;
constexpr edge::Closing closing_with(std::uint16_t code, std::string_view reason) {
    return {static_cast<edge::CloseCode>(code), reason};
}
constexpr auto kJson = closing_with(1011, "Json");
constexpr auto kSm = closing_with(1011, "SM");

struct Row {
    std::string sent;
    edge::Closing closing;
};

}  // namespace

TEST_CASE("a first frame that is a hello attaches the client") {
    for (const auto& sent : {frame("hello"), frame("hello", R"("uaid":null,"channelIDs":null)"),
                             frame("hello", R"("uaid":"","use_webpush":false)"),
                             frame("hello", R"("uaid":"nonsense","what":{"ever":[1]})"),
                             frame("hello", R"("channelIDs":[],"broadcasts":{})"),
                             frame("hello", R"("channelIDs":["11112222333344445555666677778888"])"),
                             frame("hello", R"("broadcasts":{"a":"1"})")}) {
        CAPTURE(sent);
        FrontAlone world;
        edge::Client client;
        world.front.opened(client);
        world.front.text(client, sent);
        REQUIRE(world.homes.got.size() == 1);
        CHECK(std::holds_alternative<edge::Attach>(world.homes.got[0]));
        CHECK(world.sockets.closed == 0);
    }
}

TEST_CASE("any other first frame closes the connection") {
    const std::vector<Row> rows = {
        {frame("hello", R"("channelIDs":["x"])"), kJson},
        {frame("hello", R"("channelIDs":[1])"), kJson},
        {frame("hello", R"("channelIDs":{})"), kJson},
        {frame("hello", R"("broadcasts":[])"), kJson},
        {frame("hello", R"("broadcasts":{"a":1})"), kJson},
        {frame("hello", R"("uaid":5)"), kJson},
        {frame("hello", R"("uaid":"","uaid":"")"), kJson},
        {"", kJson},
        {"nonsense", kJson},
        {"[]", kJson},
        {"{}", kSm},
        {frame("ping"), kSm},
        {frame("HELLO"), kJson},
        {frame("ack", R"("updates":[])"), kSm},
        {frame("broadcast_subscribe", R"("broadcasts":{})"), kSm},
        {with_channel("register"), kSm},
    };
    for (const auto& [sent, closing] : rows) {
        CAPTURE(sent);
        FrontAlone world;
        edge::Client client;
        world.front.opened(client);
        world.front.text(client, sent);
        CHECK(world.sockets.last_closing == closing);
        CHECK(world.homes.got.empty());
        CHECK(world.counted.refused_frames->Value() == 1);
    }
}

TEST_CASE("a later frame that is none, or a second hello, closes the connection") {
    const std::vector<Row> rows = {
        {with_channel("register", R"(,"key":5)"), kJson},
        {with_channel("register", R"(,"channelID":"x")"), kJson},
        {frame("register"), kJson},
        {frame("register", R"("channelID":5)"), kJson},
        {frame("register", R"("channelID":"nonsense")"), kSm},
        {frame("register", R"("channelID":"11112222333344445555666677778888")"), kSm},
        {frame("register", R"("channelID":"AAAA2222-3333-4444-5555-666677778888")"), kSm},
        {with_channel("unregister", R"(,"code":4294967296)"), kJson},
        {with_channel("unregister", R"(,"code":-1)"), kJson},
        {with_channel("unregister", R"(,"code":1.5)"), kJson},
        {frame("unregister", R"("channelID":"x")"), kJson},
        {frame("unregister"), kJson},
        {frame("ack", R"("updates":[{"channelID":")" + std::string{kChannel} +
                          R"(","version":"unknown","code":65536}])"),
         kJson},
        {frame("ack", R"("updates":[{"channelID":"x","version":"unknown"}])"), kJson},
        {frame("ack", R"("updates":[{"version":"unknown"}])"), kJson},
        {frame("ack", R"("updates":[5])"), kJson},
        {frame("ack", R"("updates":{})"), kJson},
        {frame("ack"), kJson},
        {frame("nack", R"("version":"unknown","code":2147483648)"), kJson},
        {frame("nack", R"("version":5)"), kJson},
        {frame("nack"), kJson},
        {frame("broadcast_subscribe", R"("broadcasts":{"a":1})"), kJson},
        {frame("broadcast_subscribe"), kJson},
        {frame("hello"), kSm},
        {frame("nonsense"), kJson},
        {R"({"messageType":5})", kJson},
        {R"({"x":1})", kJson},
        {R"({"messageType":"ping","messageType":"ping"})", kJson},
        {"", kJson},
        {"nonsense", kJson},
        {"{}{}", kJson},
        {"[]", kJson},
        {"\"ping\"", kJson},
        {"{\"messageType\":\"ping\",\"x\":\"\xff\"}", kJson},
    };
    for (const auto& [sent, closing] : rows) {
        CAPTURE(sent);
        FrontAlone world;
        const bool waits = GENERATE(true, false);  // for the answer to its hello
        auto& client = waits ? world.hello("{}") : world.identified("{}");
        world.homes.got.clear();
        world.front.text(client, sent);
        CHECK(world.sockets.last_closing == closing);
        REQUIRE(world.homes.got.size() == 1);
        CHECK(std::holds_alternative<edge::Detach>(world.homes.got[0]));
        CHECK(world.counted.refused_frames->Value() == 1);
    }
}

TEST_CASE("a frame reaches the home as one command") {
    FrontAlone world;
    auto& client = world.identified("{}");
    const core::ChannelId channel{*core::parse_uuid(kChannel)};
    const auto passed = [&](const std::string& sent) {
        world.front.text(client, sent);
        return std::get<edge::FromClient>(world.homes.got.back()).command;
    };
    CHECK(passed(with_channel("register", R"(,"key":"BA==")")) ==
          edge::ClientCommand{edge::Register{channel, "BA=="}});
    CHECK(passed(R"({"\u006dessageType":"\u0072egister","channelID":")" + std::string{kChannel} +
                 R"("})") == edge::ClientCommand{edge::Register{channel, std::nullopt}});
    CHECK(passed(with_channel("unregister", R"(,"code":201)")) ==
          edge::ClientCommand{edge::Unregister{channel, 201}});
    CHECK(passed(frame("ack", R"("updates":[{"channelID":")" + std::string{kChannel} +
                                  R"(","version":"v1"}])")) ==
          edge::ClientCommand{edge::Ack{{{channel, "v1", 100}}}});
    CHECK(passed(frame("nack", R"("version":"v1","code":301)")) ==
          edge::ClientCommand{edge::Nack{"v1", 301}});
    CHECK(passed("{}") == edge::ClientCommand{edge::Ping{}});
    CHECK(passed(frame("ping")) == edge::ClientCommand{edge::Ping{}});
}

// An escaped register is one too: by its text alone a front took it for another frame, and a home
// that went before it had answered was the end of it.
TEST_CASE("a register whose name is escaped is repeated at the next home") {
    FrontAlone world;
    auto& client = world.identified("{}");
    world.front.text(client, R"({"messageType":"\u0072e\u0067ister","channelID":")" +
                                 std::string{kChannel} + R"("})");
    world.front.peer_lost(edge::NodeNumber{});
    for (int i = 0; i < 100 && !std::holds_alternative<edge::Attach>(world.homes.got.back()); ++i) {
        world.front.tick();
    }
    REQUIRE(std::holds_alternative<edge::Attach>(world.homes.got.back()));
    world.answer(client);
    REQUIRE(std::holds_alternative<edge::FromClient>(world.homes.got.back()));
    CHECK(std::holds_alternative<edge::Register>(
        std::get<edge::FromClient>(world.homes.got.back()).command));
}
