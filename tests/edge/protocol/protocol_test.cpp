#include "edge/protocol/protocol.hpp"

#include <string>
#include <type_traits>

#include <catch2/catch.hpp>

using namespace beckon::edge;
using beckon::core::ChannelId;
using beckon::core::parse_uuid;
using beckon::core::Uaid;

namespace {

const ChannelId kChannel{*parse_uuid("deadbeef-0000-4000-8000-0123456789ab")};
const Uaid kUaid{*parse_uuid("0123456789abcdef0123456789abcdef")};

/// The frame, or what is wrong with it.
template <class T>
T parsed(std::string_view text) {
    static FrameParser parser;
    const auto frame = parser.parse(text);
    INFO(text);
    if (!frame) FAIL("refused: " << to_string(frame.error()));
    if constexpr (std::is_constructible_v<ClientCommand, T>) {
        REQUIRE(std::holds_alternative<ClientCommand>(*frame));
        REQUIRE(std::holds_alternative<T>(std::get<ClientCommand>(*frame)));
        return std::get<T>(std::get<ClientCommand>(*frame));
    } else {
        REQUIRE(std::holds_alternative<T>(*frame));
        return std::get<T>(*frame);
    }
}

std::string fault(std::string_view text) {
    FrameParser parser;
    const auto frame = parser.parse(text);
    return frame ? "accepted" : std::string{to_string(frame.error())};
}

}  // namespace

TEST_CASE("a hello may offer a uaid in any of the four notations") {
    for (const char* text :
         {"0123456789abcdef0123456789ABCDEF", "01234567-89ab-cdef-0123-456789abcdef",
          "{01234567-89ab-cdef-0123-456789abcdef}",
          "urn:uuid:01234567-89ab-cdef-0123-456789abcdef"}) {
        const auto frame = parsed<Hello>(R"({"messageType":"hello","uaid":")" + std::string{text} +
                                         R"(","use_webpush":true})");
        CHECK(frame.uaid == kUaid);
    }
}

TEST_CASE("a hello without a usable uaid asks for a new one") {
    for (const char* text :
         {R"({"messageType":"hello"})", R"({"messageType":"hello","uaid":null})",
          R"({"messageType":"hello","uaid":""})", R"({"messageType":"hello","uaid":"abc"})",
          R"({"uaid":"","channelIDs":null,"broadcasts":null,"messageType":"hello"})"}) {
        CHECK(parsed<Hello>(text) == Hello{});
    }
}

TEST_CASE("the channelIDs of a hello are checked for form and otherwise ignored") {
    CHECK(parsed<Hello>(
              R"({"messageType":"hello","channelIDs":["deadbeef0000400080000123456789ab"]})") ==
          Hello{});
}

TEST_CASE("Firefox' frames are understood") {
    const auto hello = parsed<Hello>(
        R"({"messageType":"hello","broadcasts":{"remote-settings/monitor_changes":"\"17\""},"use_webpush":true})");
    CHECK(hello.broadcasts == BroadcastList{{"remote-settings/monitor_changes", "\"17\""}});
    CHECK(
        parsed<Register>(
            R"({"channelID":"deadbeef-0000-4000-8000-0123456789ab","messageType":"register","key":"BA=="})") ==
        Register{kChannel, "BA=="});
    CHECK(
        parsed<Unregister>(
            R"({"channelID":"deadbeef-0000-4000-8000-0123456789ab","messageType":"unregister","code":201})") ==
        Unregister{kChannel, 201});
    CHECK(
        parsed<Ack>(
            R"({"messageType":"ack","updates":[{"channelID":"deadbeef-0000-4000-8000-0123456789ab","version":"v1","code":102}]})") ==
        Ack{{{kChannel, "v1", 102}}});
    CHECK(parsed<Nack>(R"({"messageType":"nack","version":"v1","code":301})") == Nack{"v1", 301});
    CHECK(parsed<BroadcastSubscribe>(
              R"({"messageType":"broadcast_subscribe","broadcasts":{"a":"1"}})") ==
          BroadcastSubscribe{{{"a", "1"}}});
    for (const char* ping : {"{}", " { } ", R"({"messageType":"ping"})"}) {
        CHECK(parsed<Ping>(ping) == Ping{});
    }
}

TEST_CASE("optional members may be left out or null") {
    CHECK(
        parsed<Register>(
            R"({"messageType":"register","channelID":"deadbeef-0000-4000-8000-0123456789ab","key":null})") ==
        Register{kChannel, std::nullopt});
    CHECK(parsed<Unregister>(
              R"({"messageType":"unregister","channelID":"DEADBEEF0000400080000123456789AB"})") ==
          Unregister{kChannel, 200});
    CHECK(parsed<Nack>(R"({"messageType":"nack","version":"v"})") == Nack{"v", 0});
    CHECK(parsed<Ack>(R"({"messageType":"ack","updates":[]})") == Ack{});
}

TEST_CASE("members that a message does not know are ignored") {
    CHECK(parsed<Hello>(R"({"messageType":"hello","code":"x","updates":7,"other":[{}]})") ==
          Hello{});
}

TEST_CASE("each kind of bad frame is named") {
    const auto [text, expected] = GENERATE(table<std::string, std::string>({
        {"", "not_json"},
        {"hello", "not_json"},
        {R"({"messageType":"hello"} x)", "not_json"},
        {R"({"messageType":"hello","other":tru})", "not_json"},
        {"{\"messageType\":\"hello\",\"other\":\"\xff\"}", "not_json"},
        {R"({"messageType":"hello")", "not_json"},
        {"[]", "not_an_object"},
        {"7", "not_an_object"},
        {R"({"uaid":""})", "no_message_type"},
        {R"({"messageType":"Hello"})", "unknown_type"},
        {R"({"messageType":7})", "mistyped_field"},
        {R"({"messageType":null})", "mistyped_field"},
        {R"({"messageType":"hello","uaid":7})", "mistyped_field"},
        {R"({"messageType":"hello","uaid":null,"uaid":null})", "duplicate_field"},
        {R"({"messageType":"hello","messageType":"hello"})", "duplicate_field"},
        {R"({"messageType":"hello","channelIDs":"x"})", "mistyped_field"},
        {R"({"messageType":"hello","channelIDs":["x"]})", "bad_uuid"},
        {R"({"messageType":"hello","channelIDs":[1]})", "mistyped_field"},
        {R"({"messageType":"hello","broadcasts":[]})", "mistyped_field"},
        {R"({"messageType":"hello","broadcasts":{"a":1}})", "mistyped_field"},
        {R"({"messageType":"register"})", "missing_field"},
        {R"({"messageType":"register","channelID":"DEADBEEF-0000-4000-8000-0123456789AB"})",
         "bad_channel_id"},
        {R"({"messageType":"register","channelID":"deadbeef000040008000012345678ab"})",
         "bad_channel_id"},
        {R"({"messageType":"register","channelID":"deadbeef-0000-4000-8000-0123456789ab","key":1})",
         "mistyped_field"},
        {R"({"messageType":"unregister","channelID":"x"})", "bad_uuid"},
        {R"({"messageType":"unregister","channelID":"deadbeef-0000-4000-8000-0123456789ab","code":-1})",
         "mistyped_field"},
        {R"({"messageType":"ack"})", "missing_field"},
        {R"({"messageType":"ack","updates":{}})", "mistyped_field"},
        {R"({"messageType":"ack","updates":[1]})", "mistyped_field"},
        {R"({"messageType":"ack","updates":[{"version":"v"}]})", "missing_field"},
        {R"({"messageType":"ack","updates":[{"channelID":"x","version":"v"}]})", "bad_uuid"},
        {R"({"messageType":"ack","updates":[{"channelID":"deadbeef-0000-4000-8000-0123456789ab","version":1}]})",
         "mistyped_field"},
        {R"({"messageType":"ack","updates":[{"channelID":"deadbeef-0000-4000-8000-0123456789ab","version":"v","code":65536}]})",
         "mistyped_field"},
        {R"({"messageType":"ack","updates":[{"channelID":"deadbeef-0000-4000-8000-0123456789ab","version":"v","code":1.5}]})",
         "mistyped_field"},
        {R"({"messageType":"nack"})", "missing_field"},
        {R"({"messageType":"nack","version":"v","code":2147483648})", "mistyped_field"},
        {R"({"messageType":"broadcast_subscribe"})", "missing_field"},
    }));
    INFO(text);
    CHECK(fault(text) == expected);
}

TEST_CASE("a deeply nested frame is refused, not followed") {
    CHECK(fault(std::string(60'000, '[')) == "not_json");
}

TEST_CASE("every fault closes with 1011 and the reference's reason") {
    CHECK(closing_for(FrameFault::not_json) == Closing{CloseCode::internal, "Json"});
    CHECK(closing_for(FrameFault::duplicate_field) == Closing{CloseCode::internal, "Json"});
    CHECK(closing_for(FrameFault::bad_channel_id) == Closing{CloseCode::internal, "SM"});
}
