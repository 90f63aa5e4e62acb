#include "ingest/ingest_world.hpp"

#include <iterator>
#include <set>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

// Routing, monitoring, CORS and the error table.

using namespace beckon;
using namespace beckon::test;
using nlohmann::json;

namespace {

TestRequest ask_for(const std::string& method, const std::string& target) {
    return {.method = method, .target = target};
}

}  // namespace

TEST_CASE("every path has its methods; others are 405 with Allow, or 404") {
    IngestWorld world;
    struct Row {
        std::string target;
        std::string allow;  ///< empty: 404
    };
    const std::vector<Row> rows{
        {"/wpush/v1/abc", "POST"},
        {"/wpush/v2/abc", "POST"},
        {"/wpush/v3/abc", "POST"},
        {"/wpush/abc", "POST"},
        {"/m/abc", "DELETE"},
        {"/v1/fcm/app/registration", "POST"},
        {"/v1/fcm/app/registration/x", "DELETE, GET, PUT"},
        {"/v1/fcm/app/registration/x/subscription", "POST"},
        {"/v1/fcm/app/registration/x/subscription/y", "DELETE"},
        {"/status", "GET"},
        {"/health", "GET"},
        {"/__heartbeat__", "GET"},
        {"/__lbheartbeat__", "GET"},
        {"/__version__", "GET"},
        {"/errors", "GET"},
        {"/__milestones__", "GET"},
        {"/metrics", "GET"},
        {"/__error__", "GET"},
        {"/v1/err", "GET"},
        {"/status?x=y", "GET"},
        {"/status?x=/", "GET"},
        {"/v1/fcm/app/registration/", "POST"},
        {"/v1/fcm/app/registration/x/", "DELETE, GET, PUT"},
        {"/v1/fcm/app/registration/x/?y", "DELETE, GET, PUT"},
        {"/v1/fcm/app/registration/x/subscription/", "POST"},
        {"/v1/fcm/app/registration/x/subscription/y/", "DELETE"},
        {"/", ""},
        {"", ""},
        {"*", ""},
        {"/wpush", ""},
        {"/wpush/", ""},
        {"/wpush/v1/", ""},
        {"/wpush/v1/abc/", ""},
        {"/wpush/v1/abc/def", ""},
        {"/wpush//abc", ""},
        {"/m", ""},
        {"/m/", ""},
        {"/m/a/b", ""},
        {"/status/", ""},
        {"/Status", ""},
        {"/v1/fcm/app/registration//", ""},
        {"/v1/fcm/app/registration/x//", ""},
        {"/v1/fcm/app/registration/x/channel", ""},
        {"/v1/fcm/app/registration/x/subscription/y/z", ""},
        {"/v1//app/registration", ""},
        {"/v2/fcm/app/registration", ""},
        {"http://push.example.com", ""},
        {"status", ""},
    };
    for (const auto& row : rows) {
        CAPTURE(row.target);
        for (const std::string method :
             {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"}) {
            CAPTURE(method);
            const auto reply = world.ask(ask_for(method, row.target));
            if (row.allow.find(method) != std::string::npos) {
                CHECK(reply.status != 405);
                continue;
            }
            if (row.allow.empty()) {
                CHECK(reply == error(404, "null", "Not Found", "There is nothing at this path."));
            } else {
                HttpReply expected;
                expected.status = 405;
                expected.add("Allow", row.allow);
                expected.add("Vary", std::string{IngestWorld::kVary});
                CHECK(reply == expected);
            }
        }
    }
}

TEST_CASE("the monitoring routes") {
    IngestWorld world;
    const auto get = [&](const std::string& target) { return world.ask(ask_for("GET", target)); };
    HttpReply as_json;
    as_json.add("Content-Type", "application/json");
    as_json.add("Vary", std::string{IngestWorld::kVary});
    const auto body = [&](const std::string& target) {
        const auto reply = get(target);
        CHECK(reply.status == 200);
        CHECK(reply.headers == as_json.headers);
        return json::parse(reply.body);
    };
    HttpReply empty;
    empty.add("Vary", std::string{IngestWorld::kVary});

    CHECK(get("/__lbheartbeat__") == empty);
    CHECK(body("/status") == json{{"status", "OK"}, {"version", "1.2.3"}});
    CHECK(body("/__version__") ==
          json{{"version", "1.2.3"}, {"commit", "abc"}, {"source", "here"}, {"build", ""}});
    const json healthy{
        {"status", "OK"},
        {"version", "1.2.3"},
        {"router_table", {{"status", "OK"}}},
        {"message_table", {{"status", "OK"}}},
        {"routers", {{"apns", false}, {"fcm", false}}},
        {"bridged_delivery",
         {{"status", "NOT OK"},
          {"cause", "messages of bridged clients get 503: no retry role delivers them"}}},
        {"reliability", {{"Ok", "NO_TRACKING_KEYS"}}},
        {"request_count", 1}};
    CHECK(body("/health") == healthy);
    CHECK(body("/__heartbeat__") == healthy);
    world.health_.set_ready("log", false, "no broker");
    auto unhealthy = healthy;
    unhealthy["status"] = "ERROR";
    unhealthy["message_table"] = json{{"status", "NOT OK"}, {"cause", "log: no broker"}};
    CHECK(body("/health") == unhealthy);
    CHECK(body("/__heartbeat__") == unhealthy);
    CHECK(get("/__lbheartbeat__") == empty);
    CHECK(body("/status") == json{{"status", "OK"}, {"version", "1.2.3"}});
    const auto teapot = error(418, "999", "I'm a teapot", "An error on purpose, to test alerting.");
    CHECK(get("/__error__") == teapot);
    CHECK(get("/v1/err") == teapot);
}

TEST_CASE("pages of any origin may read replies and refusals") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto sent = IngestWorld::post(target.path).with("Origin", "https://app.example");
    CHECK(world.ask(sent).header("Access-Control-Allow-Origin") == "https://app.example");
    CHECK(world.ask(sent).header("Access-Control-Expose-Headers") == "Location, Link, TTL");
    CHECK(world.ask(sent.without("TTL")).header("Access-Control-Allow-Origin") ==
          "https://app.example");
}

TEST_CASE("the first of repeated headers counts, unreadable ones are absent") {
    ingest::RequestHeaders headers;
    headers.add("ttl", "1");
    headers.add("TTL", "2");
    headers.add("Topic", "a\x80");
    headers.add("Topic", "b");
    headers.add("Urgency", "a\tb");
    headers.add("X-Other", "x");
    headers.add("X-Forwarded-For", "one");
    headers.add("X-Forwarded-For", "two");
    using ingest::HeaderName;
    CHECK(headers.get(HeaderName::ttl) == "1");
    CHECK_FALSE(headers.get(HeaderName::topic));
    CHECK(headers.get(HeaderName::urgency) == "a\tb");
    CHECK_FALSE(headers.get(HeaderName::origin));
    CHECK(headers.get(HeaderName::x_forwarded_for) == "two");
}

TEST_CASE("a reply on the wire") {
    HttpReply reply;
    reply.status = 201;
    reply.add("TTL", "5");
    std::string out;
    const auto write = [&out](const ingest::HttpReply& what, const net::ReplyForm& form = {}) {
        out.clear();
        ingest::append_reply(out, what, form);
        const auto date = out.find("Date: ");
        REQUIRE(date != std::string::npos);
        out.erase(date, out.find("\r\n", date) + 2 - date);
    };
    write(reply);
    CHECK(out == "HTTP/1.1 201 Created\r\nTTL: 5\r\nContent-Length: 0\r\n\r\n");
    reply.status = 204;
    write(reply, {.close = true});
    CHECK(out == "HTTP/1.1 204 No Content\r\nTTL: 5\r\nConnection: close\r\n\r\n");
    write({200, {}, "body"});
    CHECK(out == "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody");
    write({404, {}, "body"}, {.head = true});
    CHECK(out == "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n");
}

TEST_CASE("every problem has a status, an errno, a text and a label of its own") {
    IngestWorld world;
    const auto page = world.ask(ask_for("GET", "/errors"));
    CHECK(page.status == 200);
    CHECK(page.header("Content-Type") == "text/plain; charset=utf-8");
    std::set<std::string> labels;
    for (const auto problem : core::kValuesOf<ingest::Problem>) {
        CAPTURE(to_string(problem));
        CHECK(labels.insert(std::string{to_string(problem)}).second);
        const auto reply = ingest::error_reply({problem, {}, 0});
        if (problem == ingest::Problem::method_not_allowed) continue;
        const auto object = json::parse(reply.body);
        CHECK(object.size() == 5);
        CHECK(object["code"] == reply.status);
        CHECK((object["errno"].is_number() || object["errno"].is_null()));
        CHECK(object["error"] == std::string{ingest::reason_phrase(reply.status)});
        CHECK(object["error"] != "Unknown");
        CHECK(object["message"].get<std::string>().size() > 10);
        CHECK(object["more_info"] == "/errors");
        const auto code = object["errno"].is_null() ? "null" : object["errno"].dump();
        const auto row = std::to_string(reply.status) + "     " + code +
                         std::string(7 - code.size(), ' ') + object["message"].get<std::string>();
        CHECK(page.body.find("\n" + row + "\n") != std::string::npos);
        CHECK(reply.header("Retry-After").has_value() ==
              (reply.status == 503 || reply.status == 429));
        CHECK(reply.header("Cache-Control").has_value() == (reply.status == 410));
    }
}

TEST_CASE("an error is JSON whatever its detail says") {
    for (const std::string detail : {"an object \"a\"", "a\\b", "line\nend", "\xff"}) {
        CAPTURE(detail);
        const auto reply = ingest::error_reply({ingest::Problem::bad_json, detail, 0});
        const auto object = json::parse(reply.body, nullptr, false);
        REQUIRE(object.is_object());
        CHECK(object["message"] == (detail == "\xff" ? "\xef\xbf\xbd" : detail));
    }
}

TEST_CASE("the answer to a sender after each failure of a publish") {
    using core::Fault;
    using ingest::Problem;
    const auto of = [](Fault fault) { return ingest::publish_failure({fault, "why"}).problem; };
    CHECK(of(Fault::unavailable) == Problem::not_saved);
    CHECK(of(Fault::timed_out) == Problem::not_saved);
    CHECK(of(Fault::full) == Problem::not_saved);
    CHECK(of(Fault::too_large) == Problem::body_too_large);
    CHECK(of(Fault::corrupt) == Problem::not_saved_for_good);
    for (const auto fault : {Fault::not_found, Fault::unauthorized}) {  // topics or rights are gone
        CHECK(ingest::publish_failure({fault, ""}) == ingest::Failure{Problem::not_saved, {}, 60});
        CHECK(ingest::log_failure({fault, ""}) == ingest::Failure{Problem::busy, {}, 60});
    }
    const core::Error disk{Fault::full, "the log's disk is full: no space left on device"};
    CHECK(ingest::publish_failure(disk).problem == Problem::disk_full);
    CHECK(ingest::log_failure(disk).problem == Problem::disk_full);
    CHECK(ingest::log_failure({Fault::full, ""}).problem == Problem::busy);
    CHECK(ingest::log_failure({Fault::unavailable, ""}).problem == Problem::busy);
    CHECK(ingest::log_failure({Fault::corrupt, ""}).problem == Problem::internal);
}

TEST_CASE("Retry-After follows the fault") {
    using ingest::Problem;
    const auto of = [](Problem problem) {
        return std::string{ingest::error_reply({problem, {}, 0}).header("Retry-After").value()};
    };
    CHECK(of(Problem::not_saved) == "10");
    CHECK(of(Problem::not_ready) == "10");
    CHECK(of(Problem::disk_full) == "600");
    CHECK(of(Problem::not_bridged) == "3600");
    CHECK(ingest::error_reply({Problem::busy, {}, 7}).header("Retry-After") == "7");
}

TEST_CASE("where messages of bridged clients are delivered /health says so") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto health = json::parse(world.ask(ask_for("GET", "/health")).body);
    CHECK(health["routers"] == json{{"apns", true}, {"fcm", true}});
    CHECK(health["bridged_delivery"] == json{{"status", "OK"}});
}

TEST_CASE("requests are counted by route and status, refusals by problem") {
    IngestWorld world;
    const auto target = world.subscribed();
    world.ask(IngestWorld::post(target.path));
    world.ask(IngestWorld::post(target.path).without("TTL"));
    const auto text = world.registry_.text();
    CHECK(text.find(R"(beckon_ingest_requests_total{route="send",status="201"} 1)") !=
          std::string::npos);
    CHECK(text.find(R"(beckon_ingest_requests_total{route="send",status="400"} 1)") !=
          std::string::npos);
    CHECK(text.find(R"(beckon_ingest_refused_total{problem="bad_ttl"} 1)") != std::string::npos);
    CHECK(text.find("beckon_ingest_publish_waiting_messages 0") != std::string::npos);
}

namespace {

struct FixedCounts final : core::MilestoneCountsSource {
    std::optional<core::MilestoneCounts> counts() const override { return fixed; }
    std::optional<core::MilestoneCounts> fixed;
};

}  // namespace

TEST_CASE("the counts of tracked messages are JSON, or OpenMetrics on request") {
    FixedCounts source;
    IngestWorld world{{.milestone_counts = &source}};
    const auto get = [&](const std::string& target, const std::string& accept) {
        return world.ask(TestRequest{.method = "GET", .target = target}.with("Accept", accept));
    };
    constexpr auto kOpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    CHECK(json::parse(get("/__milestones__", "*/*").body) == json{{"error", "No data"}});
    CHECK(get("/metrics", "*/*").body == "# EOF\n");

    source.fixed.emplace();
    (*source.fixed)[core::Milestone::stored] = 12;
    (*source.fixed)[core::Milestone::errored] = 1;  // with ends that the original diagram lacks
    (*source.fixed)[core::Milestone::replaced] = 20;
    (*source.fixed)[core::Milestone::deleted] = 300;
    const auto counts = get("/__milestones__", "*/*");
    CHECK(counts.header("Content-Type") == "application/json");
    CHECK(json::parse(counts.body).size() == core::kMilestones - 2);
    CHECK(json::parse(counts.body)["stored"] == 12);
    CHECK(json::parse(counts.body)["delivered"] == 0);
    CHECK(json::parse(counts.body)["errored"] == 321);
    const auto metrics = get("/metrics", "*/*");
    CHECK(metrics.header("Content-Type") == kOpenMetrics);
    CHECK(
        metrics.body.starts_with("# HELP autopush_reliability Count of messages at given states."
                                 "\n# TYPE autopush_reliability gauge\n"));
    CHECK(metrics.body.find("autopush_reliability{state=\"stored\"} 12\n") != std::string::npos);
    CHECK(metrics.body.find("{state=\"errored\"} 321\n") != std::string::npos);
    CHECK(metrics.body.find("replaced") == std::string::npos);
    CHECK(metrics.body.ends_with("# EOF\n"));
    CHECK(get("/__milestones__", "application/openmetrics-text;version=1.0.0") == metrics);
}

TEST_CASE("the health page names tracked keys by their first characters") {
    IngestWorld world{{.tracked_names = {"BAbcdefg", "BHijklmn"}}};
    const auto health = json::parse(world.ask(ask_for("GET", "/health")).body);
    CHECK(health["reliability"] == json{{"Ok", "OK: BAbcdefg,BHijklmn"}});
}
