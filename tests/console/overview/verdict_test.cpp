#include "console/overview/verdict.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

ProcessFacts process(const std::string& role, const std::string& name) {
    return {.role = role, .name = name, .uptime = 24h, .gauges = {}};
}

/// Three edges, two endpoints, a canary: all is well.
Installation installation() {
    Installation all{.complete = true};
    for (const auto* name : {"edge-1", "edge-2", "edge-3"}) {
        all.processes.push_back(process("edge", name));
    }
    all.processes.push_back(process("endpoint", "endpoint-1"));
    all.processes.push_back(process("endpoint", "endpoint-2"));
    all.processes.push_back(process("retry", "retry-1"));
    all.canary.emplace();
    for (const auto* name : {"ws://edge-1/", "ws://edge-2/", "ws://edge-3/"}) {
        all.canary->edges.push_back({.edge = name, .state = CanaryFacts::State::well, .took = 4ms});
    }
    all.webhooks = WebhookFacts{.total = 5};
    all.dead = DeadFacts{.letters = 12};
    all.tiers = TierFacts{.waiting = 3};
    return all;
}

ProcessFacts& named(Installation& all, const std::string& name) {
    return *std::find_if(all.processes.begin(), all.processes.end(),
                         [&](const auto& one) { return one.name == name; });
}

/// The one thing that is wrong.
Finding only(const Installation& all) {
    const auto verdict = judge(all);
    REQUIRE(verdict.findings.size() == 1);
    CHECK(verdict.level == verdict.findings[0].level);
    CHECK(verdict.sentence.find(verdict.findings[0].what) != std::string::npos);
    CHECK_FALSE(verdict.findings[0].todo.empty());
    return verdict.findings[0];
}

}  // namespace

TEST_CASE("all is well: the sentence says what the canary measures") {
    const auto verdict = judge(installation());
    CHECK(verdict.level == Level::ok);
    CHECK(verdict.sentence == "Push works: 3 of 3 edges answer in 4.0 ms.");
    CHECK(verdict.findings.empty());
}

TEST_CASE("a dead edge is named, with those that took its partitions over") {
    auto all = installation();
    auto& edge = named(all, "edge-2");
    edge.gone = true;
    edge.ready = false;
    edge.silent = 3min + 20s;
    edge.taken_over = {{"edge-1", 8}, {"edge-3", 6}};
    const auto found = only(all);
    CHECK(found.what ==
          "Edge edge-2 has been gone for 3 min; edge-1 and edge-3 took over its 14 partitions.");
    CHECK(found.level == Level::warning);
    CHECK(found.section == "a-node-is-gone");
    CHECK(found.page == "nodes");
}

TEST_CASE("no endpoint: nobody can send, and the sentence begins with that") {
    auto all = installation();
    for (auto& one : all.processes) one.gone = one.role == "endpoint";
    const auto found = only(all);
    CHECK(found.level == Level::bad);
    CHECK(found.what ==
          "No endpoint is alive: nobody can send (it was endpoint-1 and endpoint-2).");
    for (auto& edge : all.canary->edges) {
        edge.state = CanaryFacts::State::failing;
        edge.failed_at = CanaryStep::post;
    }
    CHECK(judge(all).sentence.starts_with("Push does not work. No endpoint is alive"));
    all.canary.reset();
    CHECK(judge(all).sentence.starts_with("Push does not work. No endpoint is alive"));
    std::erase_if(all.processes, [](const auto& one) { return one.role == "endpoint"; });
    CHECK(judge(all).findings[0].what == "No endpoint is alive: nobody can send.");
}

TEST_CASE("where no broker answers the console, it judges no process") {
    auto all = installation();
    all.canary.reset();
    all.lag_problem = "no broker answers";
    CHECK(only(all).what == "The lag is not known.");
    CHECK(only(all).todo.find("no broker answers") != std::string::npos);
    all.log_problem = "Connect to ipv4#10.0.0.1:9092 failed";
    for (auto& one : all.processes) one.gone = true;
    named(all, "edge-1").warnings = {"clock: wrong"};
    all.homeless = {{"edge", {1, 2}}};
    const auto found = only(all);
    CHECK(found.what ==
          "The brokers do not answer the console, so it knows nothing of the processes.");
    CHECK(found.todo.find(all.log_problem) != std::string::npos);
    CHECK(found.level == Level::bad);
    CHECK(found.section == "the-brokers-do-not-answer");
    CHECK(judge(all).sentence.starts_with("Push does not work. The brokers do not answer"));
}

TEST_CASE("processes that the log does not answer are one finding, without the client's words") {
    auto all = installation();
    for (const auto* name : {"edge-1", "endpoint-2"}) {
        named(all, name).ready = false;
        named(all, name).faults = {"log: Connect to ipv4#10.0.0.1:9092 failed"};
    }
    named(all, "edge-1").faults.emplace_back("edge: partition 1 is stuck");
    const auto found = only(all);
    CHECK(found.what == "The log does not answer edge-1 (edge) and endpoint-2 (endpoint).");
    CHECK(found.todo.find("Connect to") != std::string::npos);
    CHECK(found.level == Level::bad);
}

TEST_CASE("the log of a standalone has no brokers") {
    Installation all{.complete = true, .standalone = true};
    all.processes.push_back(process("standalone", "home"));
    all.processes[0].ready = false;
    all.processes[0].faults = {"log: IO error"};
    CHECK(only(all).what == "home (standalone) is not ready: log: IO error.");
}

TEST_CASE("one warning of several processes is one finding") {
    auto all = installation();
    named(all, "edge-1").warnings = {"links: edge-9 is refused", "topics: notifications is wrong"};
    named(all, "retry-1").warnings = {"topics: notifications is wrong"};
    const auto findings = judge(all).findings;
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].what ==
          "edge-1 (edge) and retry-1 (retry) warn: topics: notifications is wrong.");
    CHECK(findings[0].level == Level::bad);
    CHECK(findings[0].section == "a-log-topic-is-wrong");
    CHECK(findings[1].what == "edge-1 (edge) warns: links: edge-9 is refused.");
    CHECK(findings[1].level == Level::warning);
}

TEST_CASE("a hanging webhook is named by its receiver and the reason") {
    auto all = installation();
    all.webhooks->failing = {{.id = "id",
                              .origin = "https://hooks.example.org",
                              .why = "timed out",
                              .owner = "shop",
                              .since = "2026-11-20T08:00:00Z"}};
    const auto found = only(all);
    CHECK(found.what ==
          "1 webhook fails: https://hooks.example.org of the owner shop (webhook id: timed out, "
          "since 2026-11-20T08:00:00Z).");
    CHECK(found.page == "webhooks/id");
    all.webhooks->failing.resize(7, all.webhooks->failing[0]);
    CHECK(only(all).what.ends_with("and 4 more."));
    CHECK(only(all).page == "webhooks");
}

TEST_CASE("a disk that fills is a warning, a full one is bad") {
    auto all = installation();
    auto& gauges = named(all, "edge-3").gauges;
    gauges = {{"disk_free", 3e9}, {"disk_size", 100e9}};
    CHECK(only(all).what == "The disk of edge-3 (edge) is filling: 3.0 GB of 100.0 GB are free.");
    CHECK(only(all).level == Level::warning);
    gauges["disk_free"] = 20e6;
    CHECK(only(all).what == "The disk of edge-3 (edge) is full: 20 MB of 100.0 GB are free.");
    CHECK(only(all).level == Level::bad);
    CHECK(only(all).section == "a-disk-is-full");
    gauges = {{"disk_free", 40e9}, {"disk_size", 4e12}};  // little of a large disk is enough
    CHECK(judge(all).findings.empty());
}

TEST_CASE("a small disk is full where a start would wait, and not before") {
    auto all = installation();
    auto& gauges = named(all, "edge-3").gauges;
    gauges = {{"disk_free", 600e6}, {"disk_size", 1e9}};
    CHECK(judge(all).findings.empty());
    gauges["disk_free"] = 450e6;
    CHECK(only(all).what == "The disk of edge-3 (edge) is filling: 450 MB of 1.0 GB are free.");
    CHECK(only(all).level == Level::warning);
    gauges = {{"disk_free", 431e6}, {"disk_size", 440e6}};
    CHECK(judge(all).findings.empty());
    gauges = {{"disk_free", 60e6}, {"disk_size", 1e9}};
    CHECK(only(all).what == "The disk of edge-3 (edge) is full: 60 MB of 1.0 GB are free.");
    CHECK(only(all).level == Level::bad);
}

TEST_CASE("a wrong clock says by how much, and which way") {
    auto all = installation();
    named(all, "endpoint-1").clock_off = -48h;
    CHECK(only(all).what ==
          "The clock of endpoint-1 (endpoint) is 2 d behind the brokers' clocks.");
    CHECK(only(all).level == Level::bad);
    named(all, "endpoint-1").warnings = {"clock: this host's clock is 172800 s behind"};
    CHECK(only(all).what.starts_with("The clock of"));
    named(all, "endpoint-1").warnings.clear();
    named(all, "endpoint-1").clock_off = 20s;
    CHECK(judge(all).findings.empty());
}

TEST_CASE("a partition without a home is named, unless its whole role is away") {
    auto all = installation();
    all.homeless = {{"edge", {7}}};
    CHECK(only(all).what == "1 partition of edge has no home: 7.");
    CHECK(only(all).level == Level::bad);
    all.homeless = {{"edge", {1, 2, 3, 4, 5}}};
    CHECK(only(all).what == "5 partitions of edge have no home: 1, 2, 3 and 2 more.");
    for (auto& one : all.processes) one.gone = one.role == "edge";
    CHECK(only(all).what.starts_with("No edge is alive: no client is connected"));
}

TEST_CASE("a hot partition is a warning that names its home") {
    auto all = installation();
    all.hot = {{.role = "edge", .partition = 7, .home = "edge-2", .load = 12'000}};
    const auto found = only(all);
    CHECK(found.what ==
          "Partition 7 of edge at edge-2 gets several times the records of the others: 12000 per "
          "second.");
    CHECK(found.level == Level::warning);
    CHECK(found.section == "a-hot-partition");
    CHECK(found.page == "nodes");
}

TEST_CASE("a certificate warns two weeks ahead, and is bad once it has expired") {
    auto all = installation();
    named(all, "edge-1").certificate_left = 10 * 24h;
    CHECK(only(all).what == "The certificate of edge-1 (edge) expires in 10 d.");
    named(all, "edge-1").certificate_left = -3h;
    CHECK(only(all).what == "The certificate of edge-1 (edge) expired 3 h ago.");
    CHECK(only(all).level == Level::bad);
}

TEST_CASE("without a canary the sentence does not claim that push works") {
    auto all = installation();
    all.canary.reset();
    const auto verdict = judge(all);
    CHECK(verdict.level == Level::ok);
    CHECK(verdict.sentence ==
          "Nothing is known to be wrong; no canary measures whether push works.");
}

TEST_CASE("a canary that fails at one edge or at all") {
    auto all = installation();
    auto& edges = all.canary->edges;
    edges[1].state = CanaryFacts::State::failing;
    edges[1].why = "the connection ended: refused";
    CHECK(judge(all).sentence ==
          "Push works in part: 2 of 3 edges answer in 4.0 ms. A push through ws://edge-2/ fails: "
          "the connection ended: refused.");
    for (auto& edge : edges) {
        edge.state = CanaryFacts::State::failing;
        edge.why = "refused";
    }
    CHECK(judge(all).sentence.starts_with("Push does not work: no edge answers the canary."));
    CHECK(only(all).what ==
          "Pushes through ws://edge-1/, ws://edge-2/ and ws://edge-3/ fail: refused.");
}

TEST_CASE("a canary that fails says at which step, and does not accuse the edge of others") {
    auto all = installation();
    const auto fail_at = [&](CanaryStep step) {
        for (auto& edge : all.canary->edges) {
            edge.state = CanaryFacts::State::failing;
            edge.failed_at = step;
            edge.why = "why";
        }
        return judge(all).sentence;
    };
    CHECK(fail_at(CanaryStep::post)
              .starts_with("Whether push works is not known: the canary's POST does not get to "
                           "the endpoint."));
    CHECK(only(all).todo.find("certificate") != std::string::npos);
    CHECK(fail_at(CanaryStep::accept)
              .starts_with("Push does not work: the endpoint does not accept"));
    CHECK(fail_at(CanaryStep::receive).starts_with("Push does not work: no edge delivers"));
    all.canary->edges[0].failed_at = CanaryStep::subscribe;
    CHECK(judge(all).sentence.starts_with("Push does not work: no message of the canary arrives."));
}

TEST_CASE("a process that is not ready says why; a young one may take its time") {
    auto all = installation();
    auto& edge = named(all, "edge-1");
    edge.ready = false;
    edge.faults = {"edge: restoring partitions 3, 4"};
    CHECK(only(all).what == "edge-1 (edge) is not ready: edge: restoring partitions 3, 4.");
    CHECK(only(all).level == Level::bad);
    edge.uptime = 5s;
    CHECK(only(all).level == Level::warning);
    edge.faults.emplace_back("process: starting");
    CHECK(only(all).what.ends_with("restoring partitions 3, 4; process: starting."));
}

TEST_CASE("a full disk stands before what follows from it, and in its place") {
    auto all = installation();
    auto& edge = named(all, "edge-1");
    edge.gauges = {{"disk_free", 0}, {"disk_size", 100e9}};
    edge.ready = false;
    edge.faults = {"edge: partition 2 is stuck: committing the state fails: full: IO error",
                   "log: the log's disk is full"};
    CHECK(only(all).what == "The disk of edge-1 (edge) is full: 0 MB of 100.0 GB are free.");
    edge.faults.emplace_back("bridges: no answer");
    const auto findings = judge(all).findings;
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].section == "a-disk-is-full");
    CHECK(findings[1].what == "edge-1 (edge) is not ready: bridges: no answer.");
    edge.gauges.clear();
    CHECK(only(all).what.find("is stuck") != std::string::npos);
}

TEST_CASE("one webhook or delivery has a sentence in the singular") {
    auto all = installation();
    all.webhooks->disabled = 2;
    CHECK(only(all).what.starts_with("2 webhooks are disabled, since their receivers failed"));
    CHECK(only(all).todo.starts_with("Enable each again when its receiver works"));
    all.webhooks->disabled = 0;
    all.dead->of_this_hour = 1;
    CHECK(only(all).what == "1 delivery became a dead letter in the last hour.");
    all.dead->of_this_hour = 2;
    CHECK(only(all).what == "2 deliveries became dead letters in the last hour.");
}

TEST_CASE("a group that stands, one that loses records, and deliveries that are late") {
    auto all = installation();
    all.groups = {{.group = "beckon.edge", .status = Status::stopped}};
    CHECK(only(all).what == "The group beckon.edge is STOPPED.");
    all.groups = {{.group = "orders", .status = Status::stalled, .owners = {"app-1"}}};
    CHECK(only(all).what == "The group orders is STALLED (app-1).");
    all.groups = {{.group = "orders", .status = Status::slow, .loss = Loss::now}};
    CHECK(only(all).what == "The group orders has lost records unread.");
    all.groups = {{.group = "orders", .status = Status::slow}};
    CHECK(judge(all).findings.empty());
    all.tiers = TierFacts{.waiting = 40, .due = 12, .overdue = 3min};
    CHECK(only(all).what == "12 deliveries are tried late, by 3 min.");
}

TEST_CASE("the worst comes first, and the sentence counts what it leaves out") {
    auto all = installation();
    all.dead->of_this_hour = 2;
    all.webhooks->disabled = 1;
    named(all, "edge-2").gone = true;
    named(all, "edge-1").certificate_left = -1h;
    named(all, "retry-1").warnings = {"key ring: it is older than the log's"};
    const auto verdict = judge(all);
    REQUIRE(verdict.findings.size() == 5);
    CHECK(verdict.findings[0].level == Level::bad);
    CHECK(verdict.findings[0].what.starts_with("The certificate of edge-1"));
    CHECK(verdict.sentence.ends_with("2 more things are wrong."));
}

TEST_CASE("a standalone needs no other process") {
    Installation all{.complete = true, .standalone = true};
    all.processes.push_back(process("standalone", "home"));
    CHECK(judge(all).findings.empty());
    CHECK(judge(Installation{}).sentence == "The console is still reading the log.");
}
