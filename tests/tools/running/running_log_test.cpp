#include "core/percent.hpp"
#include "inspect/log/log_service.hpp"
#include "log/blocking_executor.hpp"
#include "log/control.hpp"
#include "log/embedded/embedded_log.hpp"
#include "log/read_partition.hpp"
#include "support/temp_dir.hpp"
#include "tools/running/ops_client.hpp"
#include "tools/running/tool_log.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;

namespace {

const log::TopicPartition kWhere{log::Topic::kNotifications, 1};
constexpr std::chrono::milliseconds kTimeout{10'000};

/// A process with an embedded log, and its ops port.
struct Running {
    void publish(int records, std::size_t bytes = 10) {
        log::BlockingExecutor executor;
        const auto publisher = log->open_publisher(executor);
        int done = 0;
        for (int i = 0; i < records; ++i) {
            publisher->publish(
                kWhere,
                {.key = std::to_string(i),
                 .value = i % 10 == 9 ? std::nullopt : std::optional{std::string(bytes, 'x')},
                 .headers = {{"ce_type", "test"}}},
                [&](const auto& appended) { done += appended.has_value(); });
        }
        REQUIRE(executor.wait_until([&] { return done == records; }, clock.mono() + 30s));
    }
    std::unique_ptr<log::EventLog> from_outside(const core::KeyRing& ring) const {
        return tools::open_running_log({.port = server.port(), .version = {}},
                                       inspect::log_proof(ring.newest()));
    }

    core::SystemClock clock;
    test::TempDir directory;
    std::unique_ptr<log::EmbeddedLog> log = log::open_embedded_log(
        {.directory = directory.path() / "log", .partitions = 2, .clock = &clock});
    const core::KeyRing keys = core::KeyRing::generate();
    ops::Metrics metrics;
    ops::Health health;
    ops::OpsServer server{{.port = 0, .version = "1"}, metrics, health};
    ops::Mount service = inspect::mount_log_service(server, *log, keys);
};

log::Ends ends_of(log::EventLog& log) {
    const auto ends = log::ends_of(log, kWhere, kTimeout);
    REQUIRE(ends);
    return *ends;
}

/// A record as text, to compare.
std::vector<std::string> all_of(log::EventLog& log) {
    std::vector<std::string> out;
    const auto read = log::read_partition(
        log, kWhere,
        [&](const core::RecordView& record) {
            out.push_back(std::to_string(record.offset) + " " +
                          std::to_string(record.time.time_since_epoch().count()) + " " +
                          std::string{record.key} + " " +
                          std::string{record.value.value_or("null")} + " " +
                          std::string{record.header("ce_type").value_or("none")});
        },
        kTimeout);
    REQUIRE(read);
    return out;
}

}  // namespace

TEST_CASE("a log is the same from outside of its process") {
    Running running;
    running.publish(2'000);
    const auto outside = running.from_outside(running.keys);
    CHECK(ends_of(*outside) == log::Ends{0, 2'000});
    CHECK(ends_of(*outside) == ends_of(*running.log));
    const auto records = all_of(*outside);
    CHECK(records.size() == 2'000);
    CHECK(records == all_of(*running.log));
}

TEST_CASE("records that do not fit into one batch come in several") {
    Running running;
    running.publish(30, 400'000);  // 12 MB
    CHECK(all_of(*running.from_outside(running.keys)).size() == 30);
}

TEST_CASE("times and committed offsets are asked from outside too") {
    Running running;
    running.publish(100);
    bool done = false;
    log::BlockingExecutor executor;
    running.log->commit("edge", {{kWhere, 42}}, executor, [&](const auto&) { done = true; });
    REQUIRE(executor.wait_until([&] { return done; }, running.clock.mono() + 10s));
    const auto outside = running.from_outside(running.keys);
    const log::TopicPartition other{log::Topic::kNotifications, 0};
    const auto committed = log::committed_offsets(*outside, "edge", {kWhere, other}, kTimeout);
    REQUIRE(committed);
    CHECK(*committed == std::vector<log::GroupOffset>{{kWhere, 42}});
    const auto tomorrow = running.clock.wall() + 24h;
    const auto end = log::offset_at(*outside, kWhere, tomorrow, kTimeout);
    REQUIRE(end);
    CHECK(*end == 100);
}

TEST_CASE("only a caller with the key ring reads the log") {
    Running running;
    running.publish(1);
    const auto unknown = running.from_outside(core::KeyRing::generate());
    const auto ends = log::ends_of(*unknown, kWhere, kTimeout);
    REQUIRE_FALSE(ends);
    CHECK(ends.error().fault == core::Fault::unauthorized);
}

TEST_CASE("an error of the log is passed on as it is") {
    Running running;
    const auto outside = running.from_outside(running.keys);
    const auto none = log::ends_of(*outside, {log::Topic::kNotifications, 77}, kTimeout);
    REQUIRE_FALSE(none);
    CHECK(none.error().fault == core::Fault::not_found);
    const auto nobody = tools::open_running_log({.port = 1, .version = {}}, "proof");
    const auto away = log::ends_of(*nobody, kWhere, kTimeout);
    REQUIRE_FALSE(away);
    CHECK_THAT(away.error().message, Catch::Contains("--ops-port"));
}

TEST_CASE(
    "a tool writes rules about senders through the process that holds the log, and no other "
    "record") {
    Running running;
    REQUIRE(log::write_control(
        *running.log,
        {.log_id = "a", .created = "b", .partitions = 2, .tiers = {}, .keyring_fingerprint = {}},
        std::nullopt, kTimeout));
    const auto ask = [&](const std::string& query, const std::string& proof) {
        return tools::ask_ops_port({.port = running.server.port(), .version = {}},
                                   "/log/sender?" + query, proof)
            .status;
    };
    const auto proof = inspect::log_proof(running.keys.newest());
    const auto value = core::percent_encoded(R"({"since":1,"why":"spam"})");
    CHECK(ask("key=blocked/owner/shop&value=" + value, "") == 401);
    CHECK(ask("key=blocked/owner/shop&value=" + value, proof) == 200);
    CHECK(ask("key=log&value=%7B%7D", proof) == 400);
    CHECK(ask("key=blocked/owner/Shop&value=" + value, proof) == 400);
    const auto rules = log::read_sender_rules(*running.log, kTimeout);
    REQUIRE(rules);
    REQUIRE(rules->size() == 1);
    CHECK(std::get<core::BlockedSender>(rules->front()).why == "spam");
    CHECK(ask("key=blocked/owner/shop", proof) == 200);
    CHECK(log::read_sender_rules(*running.log, kTimeout)->empty());
    CHECK(log::read_control(*running.log, kTimeout)->log_id == "a");
}

TEST_CASE("no more senders are blocked than each endpoint has in memory") {
    Running running;
    log::BlockingExecutor executor;
    const auto publisher = running.log->open_publisher(executor);
    std::size_t done = 0;
    for (std::size_t i = 0; i < core::kBlockedSendersMax; ++i) {
        publisher->publish({log::Topic::kControl, 0},
                           core::encode(core::BlockedSender{.kind = core::SenderKind::owner,
                                                            .name = std::to_string(i)}),
                           [&](const auto& appended) { done += appended.has_value(); });
    }
    REQUIRE(executor.wait_until([&] { return done == core::kBlockedSendersMax; },
                                running.clock.mono() + 30s));
    core::BlockedSender sender{.kind = core::SenderKind::owner, .name = "one-more"};
    CHECK(log::write_sender_rule(*running.log, sender, kTimeout).error().fault ==
          core::Fault::full);
    sender = {.kind = core::SenderKind::owner, .name = "0", .blocked = false};
    CHECK(log::write_sender_rule(*running.log, sender, kTimeout));
}
