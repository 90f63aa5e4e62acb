#include "edge/protocol/frames.hpp"

#include <catch2/catch.hpp>

using namespace beckon::edge;
using namespace beckon::core;

namespace {

const ChannelId kChannel{*parse_uuid("deadbeef-0000-4000-8000-0123456789ab")};

NotificationAccepted message() {
    NotificationAccepted out;
    out.channel = kChannel;
    out.message_id = "gAAAAAB=";
    return out;
}

}  // namespace

TEST_CASE("hello, register, unregister and ping replies have exactly the documented members") {
    CHECK(hello_frame(Uaid{*parse_uuid("0123456789abcdef0123456789abcdef")}) ==
          R"({"messageType":"hello","uaid":"0123456789abcdef0123456789abcdef","status":200,)"
          R"("use_webpush":true,"broadcasts":{}})");
    CHECK(register_frame(kChannel, 200, "https://push.example/wpush/x") ==
          R"({"messageType":"register","channelID":"deadbeef-0000-4000-8000-0123456789ab",)"
          R"("status":200,"pushEndpoint":"https://push.example/wpush/x"})");
    CHECK(unregister_frame(kChannel, 500) ==
          R"({"messageType":"unregister","channelID":"deadbeef-0000-4000-8000-0123456789ab",)"
          R"("status":500})");
    CHECK(ping_frame() == "{}");
}

TEST_CASE("a message with a body carries data and its encoding headers") {
    auto m = message();
    m.body = "\xff\xfe?";
    m.encoding = "aesgcm";
    m.encryption = "salt=abc";
    m.crypto_key = R"(dh="x\y")";
    CHECK(notification_frame(m) ==
          R"({"messageType":"notification","channelID":"deadbeef-0000-4000-8000-0123456789ab",)"
          R"("version":"gAAAAAB=","data":"__4_","headers":{"encoding":"aesgcm",)"
          R"("encryption":"salt=abc","crypto_key":"dh=\"x\\y\""}})");
}

TEST_CASE("a message without a body has neither data nor headers") {
    auto m = message();
    m.encoding = "aes128gcm";
    m.reliability_id = "r1";
    CHECK(notification_frame(m) ==
          R"({"messageType":"notification","channelID":"deadbeef-0000-4000-8000-0123456789ab",)"
          R"("version":"gAAAAAB=","reliability_id":"r1"})");
}

TEST_CASE("a tracked message that waited says that it was retrieved") {
    const auto m = message();
    beckon::store::MessageView waited;
    waited.channel = m.channel;
    waited.message_id = m.message_id;
    const auto untracked = notification_frame(waited);
    CHECK(untracked == notification_frame(m));
    waited.reliability_id = "r1";
    CHECK(notification_frame(waited) ==
          untracked.substr(0, untracked.size() - 1) +
              R"(,"reliability_id":"r1","reliable_state":"retrieved"})");
}

TEST_CASE("bytes that a text frame may not hold are escaped") {
    std::string out;
    append_json_string(out, "a\n\x7f\xe9\"");
    CHECK(out == R"("a\u000a\u007f\u00e9\"")");
}
