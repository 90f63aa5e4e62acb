#include "edge/edge.hpp"

#include "edge/installation.hpp"
#include "edge/switchboard/switchboard.hpp"
#include "support/faulty_disk.hpp"
#include "support/ws_client.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <pthread.h>

using namespace beckon;
using namespace std::chrono_literals;
using nlohmann::json;
using test::Installation;
using test::WsClient;

namespace {

json next_json(WsClient& client) {
    const auto event = client.next_message();
    REQUIRE(event.is_text());
    return json::parse(event.payload);
}

/// Says hello; the UAID of the answer.
std::string hello(WsClient& client, std::string_view uaid = {}) {
    REQUIRE(client.upgrade());
    json frame{{"messageType", "hello"}, {"use_webpush", true}};
    if (!uaid.empty()) frame["uaid"] = uaid;
    client.text(frame.dump());
    return next_json(client).at("uaid");
}

std::string subscribe(WsClient& client, std::string_view channel) {
    client.text(json{{"messageType", "register"}, {"channelID", channel}}.dump());
    const auto answer = next_json(client);
    REQUIRE(answer.at("status") == 200);
    return answer.at("pushEndpoint");
}

void ack(WsClient& client, std::string_view channel, std::string_view version) {
    client.text(
        json{{"messageType", "ack"}, {"updates", {{{"channelID", channel}, {"version", version}}}}}
            .dump());
}

constexpr std::string_view kChannel = "11111111-2222-4333-8444-555555555555";

/// The host's clocks. A test can hold up the control thread of an edge in them, as a disk would.
class HeldClock final : public core::Clock {
public:
    core::Timestamp wall() const override {
        wait();
        return host_.wall();
    }
    core::MonoTime mono() const override {
        wait();
        return host_.mono() + ahead_.load();
    }
    /// A minute and more passes at once.
    void pass_a_minute() { ahead_ = 61s; }
    void hold(bool held) {
        const std::scoped_lock lock{mutex_};
        held_ = held;
        changed_.notify_all();
    }

private:
    void wait() const {
        std::array<char, 16> name{};
        pthread_getname_np(pthread_self(), name.data(), name.size());
        if (std::string_view{name.data()} != "edge-control") return;
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return !held_; });
    }

    const core::SystemClock host_{};
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    bool held_ = false;
    std::atomic<core::Duration> ahead_{core::Duration::zero()};
};

/// Waits until the reported health is as `is` wants it.
bool eventually(Installation& here, const std::function<bool(const ops::Health::Report&)>& is) {
    return here.executor.eventually([&] { return is(here.health.report()); });
}

/// Why the edge is not ready; empty: it is.
std::string why_not_ready(const ops::Health::Report& report) {
    const auto fault = report.faults.find("edge");
    return fault == report.faults.end() ? std::string{} : fault->second;
}

}  // namespace

TEST_CASE("a push travels from the log to a client and its ack back") {
    Installation here;
    auto edge = here.start();
    WsClient client{edge->port()};
    hello(client);
    const auto endpoint = subscribe(client, kChannel);
    CHECK(endpoint.starts_with("https://push.test/wpush/"));
    const auto id = here.send(endpoint, "secret");
    const auto notification = next_json(client);
    CHECK(notification.at("messageType") == "notification");
    CHECK(notification.at("channelID") == kChannel);
    CHECK(notification.at("version") == id);
    CHECK(notification.at("data") == "c2VjcmV0");
    ack(client, kChannel, id);
    client.text("{}");
    CHECK(client.next_message().payload == "{}");
    for (const std::string command : {"hello", "register", "ack", "ping"}) {
        CHECK(here.executor.eventually([&] {
            return here.metrics.text().find("beckon_edge_commands_total{command=\"" + command +
                                            "\"} 1\n") != std::string::npos;
        }));
    }
}

TEST_CASE("a node that no partition is placed on becomes ready too") {
    Installation here;
    std::array<ops::Health, 3> healths;
    std::array<ops::Metrics, 3> metrics;
    std::vector<std::unique_ptr<edge::Edge>> edges;
    for (std::size_t i = 0; i < healths.size(); ++i) {
        auto config = here.config();
        config.partitions = 1;  // a home and a standby: one of three has nothing
        config.store_directory = here.directory / ("edge-" + std::to_string(i));
        healths[i].set_ready("edge", false, "starting");
        edges.push_back(std::make_unique<edge::Edge>(config, *here.log, here.keys, here.clock,
                                                     metrics[i], healths[i]));
    }
    CHECK(here.executor.eventually([&] {
        return std::all_of(healths.begin(), healths.end(),
                           [](const auto& health) { return health.report().ready; });
    }));
    while (!edges.empty()) edges.pop_back();
}

// Verified to fail when readiness does not know of loops that stall.
TEST_CASE("a disk that hangs makes the edge unready, ends no client and denies none") {
    test::FaultyDisk disk;
    Installation here;
    auto config = here.config();
    config.shards = 1;  // both clients are of the loop that will stall
    config.session_timeout = 2s;
    config.store_env = disk.env();
    auto edge = here.start(config);
    WsClient client{edge->port()};
    hello(client);
    const auto endpoint = subscribe(client, kChannel);
    std::string other;
    {
        WsClient brief{edge->port()};
        other = hello(brief);
        subscribe(brief, "22222222-2222-4333-8444-555555555555");
    }

    disk.hang(test::FaultyDisk::Call::write, ".log");
    const auto id = here.send(endpoint, "one");
    CHECK(eventually(here, [](const auto& report) {
        return why_not_ready(report).find("edge-0 has been stalled") != std::string::npos;
    }));
    CHECK(here.health.report().live);
    WsClient late{edge->port()};

    disk.heal();
    CHECK(hello(late, other) == other);
    CHECK(next_json(client).at("version") == id);
    CHECK(eventually(here, [](const auto& report) { return report.ready; }));
}

TEST_CASE("a control thread that hangs makes the edge unready, and dead, until it goes on") {
    Installation here;
    HeldClock clock;
    auto config = here.config();
    config.session_timeout = 2s;
    here.health.set_ready("edge", false, "starting");
    auto edge = std::make_unique<edge::Edge>(config, *here.log, here.keys, clock, here.metrics,
                                             here.health);
    const auto is_ready = [](const auto& report) { return report.ready; };
    REQUIRE(eventually(here, is_ready));
    clock.hold(true);
    CHECK(eventually(here, [](const auto& report) {
        return why_not_ready(report).find("edge-control has been stalled") != std::string::npos;
    }));
    CHECK(here.health.report().live);
    clock.pass_a_minute();
    CHECK(eventually(here, [](const auto& report) { return !report.live; }));
    clock.hold(false);
    CHECK(eventually(here, is_ready));
    CHECK(here.health.report().live);
}

TEST_CASE("an edge whose store takes nothing before a restart says so, and others take over") {
    test::FaultyDisk disk;
    Installation here;
    auto config = here.config();
    config.session_timeout = 2s;
    config.store_env = disk.env();
    auto edge = here.start(config);
    ops::Health other_health;
    ops::Metrics other_metrics;
    other_health.set_ready("edge", false, "starting");
    config.store_env = nullptr;
    config.store_directory = here.directory / "other";
    edge::Edge other{config, *here.log, here.keys, here.clock, other_metrics, other_health};
    REQUIRE(eventually(here, [&](const auto&) { return other_health.report().ready; }));

    disk.fail(test::FaultyDisk::Call::write, 1, ".log");
    for (core::Partition p = 0; p < Installation::kPartitions; ++p) {  // something to commit
        const core::ClientRecorded client{.uaid = edge::new_uaid_in(p, Installation::kPartitions),
                                          .created = here.clock.wall(),
                                          .last_seen = here.clock.wall()};
        here.publish({log::Topic::kSubscriptions, p}, core::encode(client));
    }
    CHECK(eventually(here, [](const auto& report) {
        return !report.live &&
               why_not_ready(report).find("until this process is restarted") != std::string::npos;
    }));
    CHECK(eventually(here, [&](const auto&) {
        return other_metrics.text().find("beckon_edge_partitions{state=\"serving\"} 4") !=
               std::string::npos;
    }));
}

TEST_CASE("wrong settings end the start with one clear line") {
    Installation here;
    auto config = here.config();
    SECTION("a certificate without its key") {
        config.tls_certificate = "/nowhere.pem";
        CHECK_THROWS_WITH(here.start(config), Catch::Contains("both a certificate and a key"));
    }
    SECTION("a store that another edge uses") {
        auto edge = here.start();
        CHECK_THROWS_WITH(here.start(config), Catch::Contains("edge"));
    }
}
