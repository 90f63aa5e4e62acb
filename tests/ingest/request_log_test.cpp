#include "core/log_names.hpp"
#include "ingest/call/refused_sends.hpp"
#include "ingest/ingest_world.hpp"
#include "ingest/registration/registration.hpp"
#include "support/captured_output.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

// A reader of the logs must not be able to send, to change a registration or to read a message.

using namespace beckon;
using namespace beckon::test;
using nlohmann::json;

namespace {

/// Everything that is logged, at every level, while `work` runs.
template <class Work>
std::string logged(Work work) {
    CapturedStream output{stderr, STDERR_FILENO};
    core::configure_logging(core::LogLevel::debug, core::LogFormat::json);
    work();
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    return output.finish();
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

}  // namespace

TEST_CASE("a request's log line has the request and its outcome") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto text = logged([&] { world.ask(IngestWorld::post_data(target.path)); });
    REQUIRE(count(text, "\n") == 2);
    const auto end = text.find('\n');
    CHECK(json::parse(text.substr(0, end))["event"] == "message_accepted");
    const auto line = json::parse(text.substr(end));
    CHECK(line["event"] == "request");
    CHECK(line["method"] == "POST");
    CHECK(line["route"] == "send");
    CHECK(line["status"] == 201);
    CHECK(line["body_bytes"] == 10);
    CHECK(line["peer"] == "192.0.2.7");
    CHECK(line["client"] == core::log_name(target.uaid));
    CHECK(line["problem"] == "-");
}

TEST_CASE("a refused POST is logged with its client and the problem, and found by its URL") {
    IngestWorld world;
    const auto target = world.subscribed(true);  // bound to a VAPID key
    const auto text = logged([&] { world.ask(IngestWorld::post_data(target.path)); });
    const auto line = json::parse(text);
    CHECK(line["status"] == 401);
    CHECK(line["problem"] == "unauthorized");
    CHECK(line["client"] == core::log_name(target.uaid));
    world.ask(IngestWorld::post_data(target.path));

    const auto now = world.shared_->clock.wall();
    const auto refused = world.shared_->refused->since(now);
    REQUIRE(refused.size() == 1);
    CHECK(refused[0].endpoint == cluster::refused_name(target.path.substr(7)));
    CHECK(refused[0].status == 401);
    CHECK(refused[0].problem == "unauthorized");
    CHECK(refused[0].message == "This endpoint requires VAPID authorization.");
    CHECK(refused[0].count == 2);
    CHECK(world.shared_->refused->since(now + std::chrono::hours{2}).empty());
}

TEST_CASE("a sender that causes many refusals displaces those of few others") {
    ingest::RefusedSends sends;
    const auto add = [&](const std::string& address, int url) {
        sends.add(*net::parse_address(address),
                  {.endpoint = cluster::refused_name(std::to_string(url)), .message = "no"});
    };
    for (int i = 0; i < 1'000; ++i) {
        add("198.51." + std::to_string(i / 250) + "." + std::to_string(i % 250), i);
    }
    const auto before = sends.since({});
    CHECK(before.size() == ingest::RefusedSends::kGroups * ingest::RefusedSends::kOfGroup);
    for (int i = 1'000; i < 3'000; ++i) add("203.0.113.1", i);
    std::size_t kept = 0;
    for (const auto& one : sends.since({})) {
        kept += static_cast<std::size_t>(std::count(before.begin(), before.end(), one));
    }
    CHECK(kept == before.size() - ingest::RefusedSends::kOfGroup);
}

TEST_CASE("no log line of any route, good or refused, holds a secret") {
    IngestWorld world{{.failed_vapid_per_minute = 2, .bridged_delivery = true}};
    const auto target = world.subscribed();
    const auto bound = world.subscribed(true);
    const auto unknown = world.new_target();
    const std::string bridge_token = "bridge-token-0123456789";
    const auto registration = [](const std::string& method, const std::string& tail,
                                 const std::string& body) {
        return TestRequest{.method = method,
                           .target = "/v1/fcm/my-app/registration" + tail,
                           .headers = {{"Content-Type", "application/json"}},
                           .body = body};
    };
    const auto body = json{{"token", bridge_token}, {"key", world.key_text()}}.dump();
    std::vector<std::string> secrets{target.path.substr(7),
                                     bound.path.substr(7),
                                     unknown.path.substr(7),
                                     bridge_token,
                                     world.key_text(),
                                     "ciphertext",
                                     "eyJ",  // how every JWT begins
                                     "first auth key"};
    std::size_t requests = 0;
    const auto ask = [&](const TestRequest& request) {
        ++requests;
        return world.ask(request);
    };

    const auto lines = logged([&] {
        const auto good = IngestWorld::post_data(target.path);
        const auto vapid = world.vapid_header();
        auto forged = world.jwt(world.claims());
        forged[forged.size() - 40] = forged[forged.size() - 40] == 'A' ? 'B' : 'A';
        const auto wrong = world.vapid_header(forged);
        const auto accepted = ask(good.with("Authorization", vapid));
        const auto location = *accepted.header("Location");
        const auto message = std::string{location.substr(IngestWorld::kOrigin.size())};
        secrets.push_back(message.substr(3));
        ask(good.with("Authorization", vapid).to(bound.path));
        ask(good.to(bound.path));
        ask(good.to(unknown.path));
        ask(good.to("/wpush/v1/" + target.path.substr(7)));
        ask(good.to(target.path + "/"));
        ask(good.without("TTL"));
        ask(good.with("Topic", "a b"));
        ask(good.without("Content-Encoding"));
        for (int i = 0; i < 3; ++i) ask(good.with("Authorization", wrong));  // 401, then 429
        auto too_large = good;
        too_large.body_too_large = true;
        ask(too_large);
        ask({.method = "GET", .target = target.path});
        ask({.method = "OPTIONS", .target = target.path});
        ask({.method = "DELETE", .target = message});
        ask({.method = "DELETE", .target = "/m/" + target.path.substr(7)});

        const auto made = json::parse(ask(registration("POST", "", body)).body);
        const auto uaid = made["uaid"].get<std::string>();
        const auto secret = made["secret"].get<std::string>();
        secrets.push_back(secret);
        secrets.push_back(made["endpoint"].get<std::string>().substr(IngestWorld::kOrigin.size()));
        secrets.push_back(uaid);
        secrets.push_back(core::to_hex(*core::parse_uuid(uaid)));
        for (const std::string& authorization : {"Bearer " + secret, secret, "Bearer x" + secret}) {
            const auto with = [&](const TestRequest& request) {
                ask(request.with("Authorization", authorization));
            };
            with(registration("GET", "/" + uaid, ""));
            with(registration("PUT", "/" + uaid, body));
            with(registration("PUT", "/" + uaid, R"({"token":"bridge-token-0123456789 "})"));
            with(registration("POST", "/" + uaid + "/subscription", body));
            with(registration("DELETE", "/" + uaid + "/subscription/" + uaid, ""));
        }
        ask(good.to(made["endpoint"].get<std::string>().substr(IngestWorld::kOrigin.size()))
                .with("Authorization", vapid));
        world.log_->set_away(true);
        ask(good);
        ask({.method = "DELETE", .target = message});
        ask(registration("POST", "", body));
        world.log_->set_away(false);
        ask(registration("DELETE", "/" + uaid, "").with("Authorization", "Bearer " + secret));
        ask({.method = "GET", .target = "/__error__?token=" + target.path.substr(7)});
        ask({.method = "GET", .target = "/health"});
    });
    CHECK(count(lines, R"("event":"request")") == requests);
    CHECK(count(lines, R"("status":429)") >= 1);
    CHECK(count(lines, R"("status":503)") == 3);
    secrets.push_back(core::to_hex(target.uaid));
    secrets.push_back(core::to_dashed(target.uaid));
    for (const auto& secret : secrets) {
        CAPTURE(secret);
        CHECK(count(lines, secret) == 0);
    }
}
