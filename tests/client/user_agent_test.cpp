#include "client/user_agent.hpp"

#include "client/application_server.hpp"
#include "support/fake_push_server.hpp"
#include "support/temp_dir.hpp"
#include "support/test_socket.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::client;
using nlohmann::json;
using test::FakePushServer;
using namespace std::chrono_literals;

namespace {

constexpr auto kSoon = 10s;  // reached only by a failing test

UserAgentOptions options_to(const std::string& url) {
    UserAgentOptions options;
    options.url = parse_url(url).value();
    return options;
}

UserAgentOptions options_for(const FakePushServer& server) {
    auto options = options_to(server.ws_url());
    options.socket.tls.insecure = true;
    return options;
}

UserAgent connected(const UserAgentOptions& options, UserAgentState state = {}) {
    UserAgent agent{options, std::move(state)};
    REQUIRE(agent.connect());
    REQUIRE(agent.hello());
    return agent;
}

PushReply send(const Channel& channel, const std::string& text, const std::string& topic = "") {
    ApplicationServer sender{{.tls = {.insecure = true}}};
    return sender.send(channel.subscription(), {.text = text, .topic = topic}).value();
}

Notification next(UserAgent& agent) {
    auto notification = agent.next(kSoon);
    REQUIRE(notification);
    REQUIRE(*notification);
    return std::move(**notification);
}

}  // namespace

TEST_CASE("a push travels from the application server to the user agent") {
    const bool tls = GENERATE(false, true);
    FakePushServer server{{.tls = tls}};
    auto agent = connected(options_for(server));
    const auto channel = agent.register_channel().value();
    CHECK(send(channel, "ahoy").status == 201);

    const auto notification = next(agent);
    CHECK(notification.channel_id == channel.id);
    CHECK(notification.text == "ahoy");
    CHECK(notification.ack_code() == AckCode::delivered);
    CHECK(server.unacknowledged() == 1);
    REQUIRE(agent.ack(notification));
    REQUIRE(agent.ping());  // its answer comes after the ack was taken
    CHECK(server.unacknowledged() == 0);
}

TEST_CASE("aesgcm messages and messages without data arrive too") {
    FakePushServer server;
    auto agent = connected(options_for(server));
    const auto channel = agent.register_channel().value();
    ApplicationServer sender{{.vapid = P256Key::generate(), .scheme = VapidScheme::webpush}};
    REQUIRE(sender.send(channel.subscription(), {.text = "old", .encoding = Encoding::aesgcm}));
    REQUIRE(sender.send(channel.endpoint, {}));
    CHECK(next(agent).text == "old");
    const auto empty = next(agent);
    CHECK(empty.text == std::nullopt);
    CHECK(empty.problem.empty());
}

TEST_CASE("a certificate of an unknown authority is refused, unless it is allowed") {
    const FakePushServer server{{.tls = true}};
    auto options = options_for(server);
    options.socket.tls.insecure = false;
    const auto refused = UserAgent{options}.connect().error();
    CHECK(refused.fault == core::Fault::unavailable);
    CHECK_THAT(refused.message, Catch::Contains("TLS handshake"));

    const test::TempDir dir;
    std::ofstream{dir / "ca.pem"} << server.certificate();
    options.socket.tls.ca_file = dir / "ca.pem";
    options.url.host = "localhost";
    CHECK(UserAgent{options}.connect());
}

TEST_CASE("with its state a user agent comes back and gets what it missed") {
    const test::TempDir dir;
    FakePushServer server;
    auto options = options_for(server);
    options.state_file = dir / "state.json";
    Channel channel = [&] {
        auto agent = connected(options);
        return agent.register_channel().value();
    }();
    CHECK(send(channel, "while away").status == 201);

    UserAgent agent{options, load_state(*options.state_file).value()};
    REQUIRE(agent.connect());
    CHECK(agent.hello().value().kept);
    CHECK(next(agent).text == "while away");
}

TEST_CASE(
    "a version that was acknowledged before is reported as a duplicate, also after a restart") {
    const test::TempDir dir;
    FakePushServer server;
    server.deliver_twice();
    auto options = options_for(server);
    options.state_file = dir / "state.json";
    {
        auto agent = connected(options);
        const auto channel = agent.register_channel().value();
        send(channel, "twice");
        const auto first = next(agent);
        CHECK_FALSE(first.duplicate);
        CHECK(next(agent).duplicate);
        send(channel, "again");
        const auto unacknowledged = next(agent);
        REQUIRE(agent.ack(first));  // saves what was seen so far
    }
    auto agent = connected(options, load_state(*options.state_file).value());
    const auto again = next(agent);
    CHECK(again.text == "again");
    CHECK(again.duplicate);
}

TEST_CASE("a server that has forgotten the client makes it drop its channels") {
    FakePushServer server;
    auto agent = connected(options_for(server));
    REQUIRE(agent.register_channel());
    const auto uaid = agent.state().uaid;
    server.forget_clients();
    agent.close();
    REQUIRE(agent.connect());
    const auto hello = agent.hello().value();
    CHECK_FALSE(hello.kept);
    CHECK(hello.uaid != uaid);
    CHECK(agent.state().channels.empty());
}

TEST_CASE("after unregister the endpoint is gone") {
    FakePushServer server;
    auto agent = connected(options_for(server));
    const auto channel = agent.register_channel().value();
    REQUIRE(agent.unregister(channel.id));
    CHECK(agent.state().channels.empty());
    const auto reply = send(channel, "too late");
    CHECK(reply.status == 410);
    CHECK(reply.error->number == 106);
}

TEST_CASE("notifications that come before a reply are not lost") {
    FakePushServer server;
    auto agent = connected(options_for(server));
    const auto channel = agent.register_channel().value();
    send(channel, "first");
    send(channel, "second");
    REQUIRE(agent.register_channel());  // both are read before its reply
    CHECK(next(agent).text == "first");
    CHECK(next(agent).text == "second");
}

TEST_CASE("unexpected frames are skipped") {
    FakePushServer server;
    auto agent = connected(options_for(server));
    const auto channel = agent.register_channel().value();
    server.send_frame(R"({"messageType":"broadcast","broadcasts":{"a":"1"}})");
    server.send_frame(R"({"messageType":"something new"})");
    send(channel, "ahoy");
    CHECK(next(agent).text == "ahoy");
}

TEST_CASE("a message that cannot be read is acknowledged as such") {
    FakePushServer server;
    auto agent = connected(options_for(server));
    const auto channel = agent.register_channel().value();
    auto unknown = channel.subscription();
    unknown.keys = ReceiverKeys::generate().subscription();
    ApplicationServer sender{{}};
    REQUIRE(sender.send(unknown, {.text = "not for you"}));
    const auto notification = next(agent);
    CHECK(notification.text == std::nullopt);
    CHECK_FALSE(notification.problem.empty());
    REQUIRE(agent.ack(notification));
    REQUIRE(agent.ping());
    const auto frames = server.frames();
    const auto ack = std::ranges::find_if(frames, [](const std::string& frame) {
        return frame.find("\"ack\"") != std::string::npos;
    });
    REQUIRE(ack != frames.end());
    CHECK(json::parse(*ack)["updates"][0]["code"] == 101);
}

TEST_CASE("a lost connection is an error with a reason, and a new one works") {
    FakePushServer server;
    auto agent = connected(options_for(server));
    REQUIRE(agent.register_channel());
    server.drop_clients();
    const auto lost = agent.next(kSoon);
    REQUIRE_FALSE(lost);
    CHECK(lost.error().fault == core::Fault::unavailable);
    CHECK_FALSE(agent.open());
    REQUIRE(agent.connect());
    CHECK(agent.hello().value().kept);
}

TEST_CASE("a server that does not reply is given up on") {
    FakePushServer server;
    server.fall_silent();
    auto options = options_for(server);
    options.reply_timeout = 20ms;
    UserAgent agent{options};
    REQUIRE(agent.connect());
    const auto error = agent.hello().error();
    CHECK(error.fault == core::Fault::timed_out);
    CHECK(error.message == "no reply to hello");
}

TEST_CASE("a reply that is not JSON is an error") {
    FakePushServer server;
    auto agent = connected(options_for(server));
    server.send_frame("no JSON");
    CHECK(agent.next(kSoon).error().fault == core::Fault::corrupt);
}

TEST_CASE("waiting ends when another thread interrupts it") {
    FakePushServer server;
    auto agent = connected(options_for(server));
    const std::jthread other{[&] { agent.interrupt(); }};
    const auto nothing = agent.next(kSoon);
    REQUIRE(nothing);
    CHECK_FALSE(*nothing);
}

TEST_CASE("a closed port, or one of another service, is a clear error") {
    const test::RefusingPort closed;
    UserAgent nobody{options_to("ws://" + closed.address())};
    CHECK_THAT(nobody.connect().error().message, Catch::Contains("connect to 127.0.0.1"));

    const FakePushServer server;
    UserAgent tls_to_plain{options_to("wss://127.0.0.1:" + std::to_string(server.port()))};
    CHECK_THAT(tls_to_plain.connect().error().message, Catch::Contains("TLS handshake"));
}

TEST_CASE("a state file of a wrong form says what is wrong") {
    const test::TempDir dir;
    const auto file = dir / "state.json";
    CHECK(load_state(file).value().uaid.empty());
    const auto text = GENERATE("", "{}", R"({"version":2,"url":"","uaid":"","channels":[]})",
                               R"({"version":1,"url":"","uaid":"","channels":[{"id":"x"}]})");
    std::ofstream{file} << text;
    CAPTURE(text);
    const auto error = load_state(file).error();
    CHECK(error.fault == core::Fault::invalid);
    CHECK_THAT(error.message, Catch::Contains("state.json"));
}
