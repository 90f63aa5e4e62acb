#include "tools/push/push.hpp"

#include "client/user_agent.hpp"
#include "support/captured_output.hpp"
#include "support/fake_push_server.hpp"
#include "support/temp_dir.hpp"
#include "tools/demo/demo.hpp"
#include "tools/push/listen.hpp"

#include <fstream>
#include <future>
#include <sstream>
#include <thread>
#include <type_traits>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using nlohmann::json;
using test::CapturedOutput;
using test::FakePushServer;

namespace {

tools::DemoOptions demo_at(const FakePushServer& server) {
    return {.url = server.ws_url(), .insecure = true, .timeout = 10s};
}

/// A subscription of a client that is away.
client::Subscription subscribe(const FakePushServer& server) {
    client::UserAgent agent{{.url = client::parse_url(server.ws_url()).value()}};
    REQUIRE(agent.connect());
    REQUIRE(agent.hello());
    return agent.register_channel().value().subscription();
}

tools::PushOptions push_to(const client::Subscription& subscription) {
    return {.target = client::to_json(subscription), .message = "ahoy"};
}

template <class Options>
int quietly(int (*tool)(const Options&), const std::type_identity_t<Options>& options) {
    const CapturedOutput quiet;
    return tool(options);
}

}  // namespace

TEST_CASE("the demo shows every step and succeeds") {
    const bool tls = GENERATE(false, true);
    const FakePushServer server{{.tls = tls}};
    CapturedOutput output;
    CHECK(tools::run_demo(demo_at(server)) == 0);
    const auto text = output.finish();
    for (const char* step : {"connect", "hello", "register", "POST to 201", "POST to frame",
                             "decrypt", "ack", "unregister", "while you were away"}) {
        CHECK_THAT(text, Catch::Contains(step));
    }
    CHECK(server.unacknowledged() == 0);
}

TEST_CASE("the demo as JSON is one object with all steps") {
    const FakePushServer server;
    auto options = demo_at(server);
    options.json = true;
    CapturedOutput output;
    CHECK(tools::run_demo(options) == 0);
    const auto report = json::parse(output.out());
    CHECK(report["ok"] == true);
    CHECK(report["steps"].size() == 14);
}

TEST_CASE("the demo fails when a POST is refused, or a frame does not come") {
    FakePushServer server;
    auto options = demo_at(server);
    options.timeout = 50ms;
    options.json = true;
    CapturedOutput output;
    SECTION("refused") {
        server.answer_next_post({503, {}, ""});
        CHECK(tools::run_demo(options) == 1);
        CHECK_THAT(json::parse(output.out())["problem"].get<std::string>(), Catch::Contains("503"));
    }
    SECTION("accepted, but lost") {
        server.answer_next_post({201, {{"Location", "/m/1"}}, ""});
        CHECK(tools::run_demo(options) == 1);
        CHECK(json::parse(output.out())["problem"] == "the message did not arrive");
    }
}

TEST_CASE("listen prints the subscription, then each message, and stops after count") {
    const test::TempDir dir;
    FakePushServer server;
    tools::ListenOptions options{.url = server.ws_url(),
                                 .state_file = dir / "state.json",
                                 .count = 1,
                                 .timeout = 1ms};  // nothing waits, so time runs out
    std::string first;
    {
        CapturedOutput output;
        CHECK(tools::run_listen(options) == 1);
        first = output.out();
    }
    const auto subscription = client::parse_subscription(first).value();
    CHECK(quietly(tools::run_push, push_to(subscription)) == 0);

    options.timeout = 10s;
    CapturedOutput output;
    CHECK(tools::run_listen(options) == 0);
    CHECK(output.out() == first + "ahoy\n");
}

TEST_CASE("push reads the state that listen writes") {
    const test::TempDir dir;
    FakePushServer server;
    const auto file = dir / "me.json";
    CHECK(quietly(tools::run_listen,
                  {.url = server.ws_url(), .state_file = file, .timeout = 1ms}) == 1);
    CHECK(quietly(tools::run_push, {.target = file, .message = "Hello"}) == 0);
    CHECK(server.unacknowledged() == 1);
}

TEST_CASE("a second listen with the same state says so and ends") {
    const test::TempDir dir;
    FakePushServer server;
    const tools::ListenOptions options{
        .url = server.ws_url(), .state_file = dir / "me.json", .count = 1, .timeout = 10s};
    const CapturedOutput quiet;
    auto first = std::async(std::launch::async, [&] { return tools::run_listen(options); });
    const auto until = std::chrono::steady_clock::now() + 10s;
    const auto subscribed = [&] {
        const auto state = client::load_state(*options.state_file);
        return state && !state->channels.empty();
    };
    while (!subscribed()) {
        REQUIRE(std::chrono::steady_clock::now() < until);
        std::this_thread::yield();
    }
    CHECK(tools::run_listen(options) == 2);
    CHECK(tools::run_push({.target = *options.state_file, .message = "enough"}) == 0);
    CHECK(first.get() == 0);
}

TEST_CASE("a certificate that is not trusted names the options that help") {
    const FakePushServer server{{.tls = true}};
    CapturedOutput output;
    auto demo = demo_at(server);
    demo.insecure = false;
    CHECK(tools::run_demo(demo) == 1);
    CHECK_THAT(output.finish(), Catch::Contains("--ca-file") && Catch::Contains("--insecure"));
}

TEST_CASE("listen with JSON prints each event as a line") {
    const test::TempDir dir;
    FakePushServer server;
    CapturedOutput output;
    CHECK(tools::run_listen({.url = server.ws_url(), .count = 1, .timeout = 1ms, .json = true}) ==
          1);
    std::istringstream lines{output.out()};
    std::string line;
    std::getline(lines, line);
    CHECK(json::parse(line)["event"] == "connected");
    std::getline(lines, line);
    CHECK(json::parse(line)["event"] == "subscribed");
    CHECK(json::parse(line)["subscription"]["keys"].contains("p256dh"));
}

TEST_CASE("listen does not mix up servers, keys and files") {
    const test::TempDir dir;
    CapturedOutput output;
    CHECK(tools::run_listen({.url = "http://127.0.0.1/"}) == 2);
    CHECK(tools::run_listen({.url = "ws://127.0.0.1:1/", .vapid = "no key and no file"}) == 2);
    const auto file = dir / "state.json";
    REQUIRE(client::save_state(file, {"ws://other:8080/", "x", {}}));
    CHECK(tools::run_listen({.url = "ws://127.0.0.1:1/", .state_file = file}) == 2);
    CHECK_THAT(output.finish(), Catch::Contains("belongs to the server ws://other:8080/"));
}

TEST_CASE("push says what an answer means, and its exit code follows") {
    FakePushServer server;
    const auto to = subscribe(server);
    CapturedOutput output;
    CHECK(tools::run_push(push_to(to)) == 0);
    CHECK_THAT(output.finish(), Catch::Contains("201: accepted") && Catch::Contains("/m/v0"));

    CapturedOutput again;
    server.answer_next_post({410, {}, ""});
    CHECK(tools::run_push(push_to(to)) == 1);
    CHECK_THAT(again.finish(), Catch::Contains("410: the subscription is gone"));
}

TEST_CASE("push makes a key file on demand and signs with it") {
    const test::TempDir dir;
    FakePushServer server;
    auto options = push_to(subscribe(server));
    options.vapid_file = dir / "vapid.json";
    CHECK(quietly(tools::run_push, options) == 0);
    CHECK(std::filesystem::exists(*options.vapid_file));
    CHECK(server.requests().back().headers.at("authorization").starts_with("vapid t="));
}

TEST_CASE("push reads a file, a URL, and takes a message back") {
    const test::TempDir dir;
    FakePushServer server;
    const auto to = subscribe(server);
    auto options = push_to(to);
    options.target = dir / "subscription.json";
    std::ofstream{options.target} << client::to_json(to);
    CHECK(quietly(tools::run_push, options) == 0);

    CHECK(quietly(tools::run_push, {.target = to.endpoint}) == 0);
    CHECK(server.unacknowledged() == 2);

    const auto message = "http://127.0.0.1:" + std::to_string(server.port()) + "/m/v0";
    CHECK(quietly(tools::run_push, {.target = message, .remove = true}) == 0);
    CHECK(server.unacknowledged() == 1);
}

TEST_CASE("push refuses wrong options and says what is allowed") {
    FakePushServer server;
    auto options = push_to(subscribe(server));
    std::string expected;
    SECTION("text without keys") {
        options.target = "http://127.0.0.1:1/wpush/x";
        expected = "needs the subscription's keys";
    }
    SECTION("no such file") {
        options.target = "/does/not/exist";
        expected = "the target must be";
    }
    SECTION("too long") {
        options.message = std::string(5000, 'x');
        expected = "one push message holds 3993";
    }
    CapturedOutput output;
    CHECK(tools::run_push(options) == 2);
    CHECK_THAT(output.finish(), Catch::Contains(expected));
}
