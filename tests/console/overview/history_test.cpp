#include "console/overview/history.hpp"

#include "console/cluster/processes.hpp"
#include "console/overview/overview_json.hpp"

#include <cmath>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

core::Timestamp at(core::Duration since) {
    return core::Timestamp{1'000'000s} + std::chrono::floor<std::chrono::milliseconds>(since);
}

/// The record of a process, as the log has it.
struct Told {
    cluster::ProcessRecord record;
    void to(Processes& processes, core::Timestamp heard) {
        const auto written = encode(record);
        core::RecordView view;
        view.key = written.key;
        if (written.value) view.value = *written.value;
        view.time = heard;
        processes.apply(view, heard);
    }
};

Told edge(const std::string& id, const std::string& name, core::Duration when,
          double delivered = 0) {
    Told told;
    told.record.role = "edge";
    told.record.id = id;
    told.record.name = name;
    told.record.started = at(0s);
    told.record.at = at(when);
    told.record.counters = {{"delivered", delivered}};
    return told;
}

}  // namespace

TEST_CASE("rates are those between a process's last two records") {
    Processes processes;
    edge("a", "edge-1:8080", 10s, 100).to(processes, at(10s));
    CHECK(processes.find("edge", "a")->rates.empty());
    edge("a", "edge-1:8080", 20s, 150).to(processes, at(20s));
    CHECK(processes.find("edge", "a")->rates.at("delivered") == 5);
    auto again = edge("a", "edge-1:8080", 30s, 10);  // it was started again, and counts from zero
    again.record.started = at(25s);
    again.to(processes, at(30s));
    CHECK(processes.find("edge", "a")->rates.empty());
}

TEST_CASE("a silent process is gone, and stays until the history window ends") {
    Processes processes;
    edge("a", "edge-1:8080", 0s).to(processes, at(0s));
    CHECK_FALSE(Processes::is_gone(*processes.find("edge", "a"), at(20s)));
    CHECK(Processes::is_gone(*processes.find("edge", "a"), at(26s)));
    processes.forget(at(1h), 2h);
    CHECK(processes.find("edge", "a"));
    processes.forget(at(3h), 2h);
    CHECK_FALSE(processes.find("edge", "a"));
}

TEST_CASE("a good-bye forgets a process, and so does one that took its place") {
    Processes processes;
    edge("a", "edge-1:8080", 0s).to(processes, at(0s));
    edge("b", "edge-2:8080", 0s).to(processes, at(0s));
    auto bye = edge("a", "edge-1:8080", 1s);
    bye.record.removed = true;
    bye.to(processes, at(1s));
    CHECK_FALSE(processes.find("edge", "a"));
    auto next = edge("c", "edge-2:8080", 60s);  // another data directory at the same address
    next.record.started = at(55s);
    next.to(processes, at(60s));
    processes.forget(at(61s), 24h);
    CHECK_FALSE(processes.find("edge", "b"));
    CHECK(processes.find("edge", "c"));
}

TEST_CASE("the number of processes is bounded, and the longest silent one goes") {
    Processes processes;
    for (std::size_t i = 0; i <= Processes::kProcessesMax; ++i) {
        edge(std::to_string(i), "edge", 0s).to(processes, at(std::chrono::seconds{i}));
    }
    CHECK(processes.all().size() == Processes::kProcessesMax);
    CHECK_FALSE(processes.find("edge", "0"));
}

TEST_CASE("a process's clock is compared with the log's") {
    Processes processes;
    edge("a", "edge-1:8080", 100s).to(processes, at(10s));
    CHECK(processes.find("edge", "a")->clock_off == 90s);
}

TEST_CASE("quantiles of buckets lie where most of the durations are") {
    std::map<std::string, double> rates;
    for (int i = 0; i < 17; ++i) rates["deliver_" + std::to_string(i)] = i < 5 ? 0 : 10;
    CHECK(quantile_ms(rates, 0.5) == Approx(3.75));  // the bucket from 2.5 to 5 ms
    CHECK(std::isnan(quantile_ms({}, 0.5)));
}

TEST_CASE("a point sums what living processes report; unknown values are null") {
    Installation all{.complete = true};
    all.processes.push_back({.role = "edge",
                             .name = "edge-1",
                             .gauges = {{"clients", 3}, {"disk_free", 10}, {"disk_size", 40}},
                             .rates = {{"delivered", 1.5}}});
    all.processes.push_back({.role = "edge", .name = "edge-2", .gauges = {{"clients", 4}}});
    all.processes.push_back(
        {.role = "edge", .name = "edge-3", .gone = true, .gauges = {{"clients", 50}}});
    History history;
    history.add(point_of(all, at(0s)));
    const auto json = history.json();
    CHECK(json["clients"] == nlohmann::json{7});
    CHECK(json["delivered"] == nlohmann::json{1.5});
    CHECK(json["disk_free_percent"] == nlohmann::json{25});
    CHECK(json["webhooks_failing"][0].is_null());
    CHECK(json.size() == core::kCountOf<Series> + 1);
}

TEST_CASE("the history keeps an hour, and says how much a series grew") {
    History history;
    Installation all{.complete = true};
    for (std::size_t i = 0; i < History::kPointsMax + 10; ++i) {
        all.dead = DeadFacts{.letters = i % 100};
        history.add(point_of(all, at(History::kEvery * static_cast<int>(i))));
    }
    CHECK(history.points().size() == History::kPointsMax);
    CHECK(history.json(1)["at"].size() == 1);
    CHECK(history.growth(Series::dead) == 359 - 3);  // it fell to zero three times
    static_assert(History::kPointsMax * History::kEvery == 1h);
}

TEST_CASE("the pages are JSON that the app understands") {
    Installation all{.complete = true};
    all.processes.push_back({.role = "edge",
                             .name = "edge-2",
                             .gone = true,
                             .silent = 3min,
                             .taken_over = {{"edge-1", 14}}});
    all.processes.push_back({.role = "edge", .name = "edge-1", .certificate_left = 20 * 24h});
    const auto nodes = nlohmann::json::parse(nodes_json(all));
    CHECK(nodes["processes"][0]["taken_over"][0]["partitions"] == 14);
    CHECK(nodes["processes"][1]["certificate_seconds"] == 20 * 24 * 3600);
    const auto overview = nlohmann::json::parse(overview_json(all, {}, History::kPointsMax));
    CHECK(overview["now"]["roles"][0] ==
          nlohmann::json{{"role", "edge"}, {"alive", 1}, {"all", 2}});
    CHECK(overview["now"]["certificate"]["name"] == "edge-1");
    CHECK(overview["now"]["canary"].is_null());
    const auto status = nlohmann::json::parse(status_json(judge(all)));
    CHECK(status["level"] == "bad");  // there is no endpoint
    CHECK(status["badges"] == nlohmann::json{{"nodes", "bad"}});
}
