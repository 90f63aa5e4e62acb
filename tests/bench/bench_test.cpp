#include "bench/bench.hpp"

#include "bench/rate_search.hpp"
#include "support/captured_output.hpp"
#include "support/fake_push_server.hpp"
#include "support/temp_dir.hpp"

#include <fstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace beckon;
using nlohmann::json;
using test::CapturedOutput;
using test::FakePushServer;

TEST_CASE("bench measures what it is asked to, and reports a table or JSON") {
    const test::TempDir dir;
    const FakePushServer server;
    bench::BenchOptions options;
    options.url = server.ws_url();
    options.profiles = {"latency", "saturation", "drain"};
    options.connections = 3;
    options.senders = 2;
    options.rate = 100;
    options.duration_s = 0.1;
    options.warm_up_s = 0;
    options.drain_messages = 20;
    options.drain_clients = 4;
    options.pids = {"service=" + std::to_string(getpid())};
    options.json_file = dir / "bench.json";
    CapturedOutput output;
    CHECK(bench::run_bench(options) == 0);
    CHECK_THAT(output.out(), Catch::Contains("POST to frame") && Catch::Contains("cpu service"));
    std::ifstream file{*options.json_file};
    const auto report = json::parse(file);
    CHECK(report["latency"]["delivered"] == 10);
    CHECK(report["latency"]["post_to_frame"]["count"] == 10);
    CHECK(report["saturation"]["messages_per_s"] > 0);
    CHECK(report["saturation"]["cpu"]["processes"][0]["name"] == "service");
    CHECK(report["drain"]["messages"] == 80);
    CHECK(report["drain"]["messages_per_s"] > 0);
    CHECK_FALSE(report.contains("idle"));
}

TEST_CASE("bench finds the highest rate that a server sustains") {
    const FakePushServer server;
    bench::BenchOptions options;
    options.url = server.ws_url();
    options.profiles = {"sustained"};
    options.connections = 3;
    options.senders = 2;
    options.rate = 50;
    options.rate_max = 100;
    options.p99_ms = 20'000;  // whatever else the machine does
    options.duration_s = 0.2;
    options.warm_up_s = 0;
    CapturedOutput output;
    options.json = true;
    CHECK(bench::run_bench(options) == 0);
    const auto sustained = json::parse(output.out())["sustained"];
    REQUIRE(sustained["trials"].size() == 2);
    CHECK(sustained["trials"][0]["rate"] == 50);
    CHECK(sustained["rate"] == 100);
    CHECK(sustained["delivered"] == 20);
}

TEST_CASE("rates are doubled while the server keeps up, then bisected") {
    const auto tried = [](double first, double most, double limit) {
        bench::RateSearch search{first, most};
        std::vector<double> rates;
        while (const auto rate = search.next()) {
            rates.push_back(*rate);
            search.tried(*rate, *rate <= limit);
        }
        rates.push_back(search.best());  // the answer, at the end
        return rates;
    };
    CHECK(tried(1000, 64'000, 5'200) ==
          std::vector<double>{1000, 2000, 4000, 8000, 6000, 5000, 5500, 5250, 5000});
    CHECK(tried(1000, 3'000, 10'000) == std::vector<double>{1000, 2000, 3000, 3000});
    CHECK(tried(1000, 8'000, 400) ==
          std::vector<double>{1000, 500, 250, 375, 437.5, 406.25, 390.625, 390.625});
    CHECK(tried(1000, 8'000, 0).back() == 0);
}

TEST_CASE("bench fails when an accepted message does not arrive") {
    FakePushServer server;
    server.answer_next_post({201, {}, ""});
    bench::BenchOptions options;
    options.url = server.ws_url();
    options.profiles = {"latency"};
    options.connections = 1;
    options.senders = 1;
    options.rate = 100;
    options.duration_s = 0.05;
    options.warm_up_s = 0;
    options.patience_s = 0.1;
    CapturedOutput output;
    CHECK(bench::run_bench(options) == 1);
    CHECK_THAT(output.finish(), Catch::Contains("MISSING (201, but no frame): 1"));
}

TEST_CASE("bench refuses wrong options and says what is allowed") {
    bench::BenchOptions options;
    std::string expected;
    SECTION("profile") {
        options.profiles = {"speed"};
        expected = "idle, latency, saturation, drain or sustained";
    }
    SECTION("vapid") {
        options.vapid = "yes";
        expected = "none, sign, restrict";
    }
    SECTION("process") {
        options.pids = {"broker"};
        expected = "name=pid";
    }
    SECTION("rate") {
        options.rate = 0;
        expected = "--rate";
    }
    SECTION("URL") {
        options.url = "http://127.0.0.1/";
        expected = "ws://";
    }
    CapturedOutput output;
    CHECK(bench::run_bench(options) == 2);
    CHECK_THAT(output.finish(), Catch::Contains(expected));
}
