// Where a partition ends, asked while its leader changes or no broker is connected yet: on
// librdkafka's mock brokers, whose leader a test chooses.
#include "log/kafka/kafka_log.hpp"
#include "log/kafka/metadata.hpp"
#include "log/kafka/mock_cluster.hpp"
#include "support/captured_output.hpp"
#include "support/manual_clock.hpp"
#include "support/test_executor.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::Ends;
using log::TopicPartition;

namespace {

constexpr const char* kTopic = "test.notifications";
const TopicPartition kWhere{log::Topic::kNotifications, 0};
constexpr std::int32_t kFirst = 1;
constexpr std::int32_t kSecond = 2;

struct TwoBrokers {
    MockCluster cluster{1, 2};
    WaitingExecutor executor;
    std::unique_ptr<log::EventLog> log;

    TwoBrokers() {
        lead(kFirst);
        log = log::open_kafka_log(cluster.config());
    }
    void lead(std::int32_t broker) {
        rd_kafka_mock_partition_set_leader(cluster.get(), kTopic, kWhere.partition, broker);
    }
    core::Result<Ends> ends() {
        std::optional<core::Result<Ends>> reported;
        log->ends(kWhere, executor, [&](const auto& result) { reported = result; });
        REQUIRE(executor.wait_until([&] { return reported.has_value(); }));
        return *reported;
    }
};

}  // namespace

TEST_CASE("the ends of a partition are asked where its leader went") {
    TwoBrokers kafka;
    REQUIRE(kafka.ends() == Ends{0, 0});
    kafka.lead(kSecond);
    CHECK(kafka.ends() == Ends{0, 0});
}

TEST_CASE("the ends of a partition are known while its former leader is away") {
    TwoBrokers kafka;
    REQUIRE(kafka.ends() == Ends{0, 0});
    kafka.lead(kSecond);
    rd_kafka_mock_broker_set_down(kafka.cluster.get(), kFirst);
    CHECK(kafka.ends() == Ends{0, 0});
    rd_kafka_mock_broker_set_up(kafka.cluster.get(), kFirst);
    CHECK(kafka.ends() == Ends{0, 0});
}

TEST_CASE("the ends of a partition are known once a first connection stands") {
    TwoBrokers kafka;
    for (const auto broker : {kFirst, kSecond}) {
        rd_kafka_mock_broker_set_down(kafka.cluster.get(), broker);
    }
    // Longer than one request waits. Then librdkafka says that all brokers are down, as it does
    // while a login over TLS takes so long.
    kafka.executor.post_after(std::chrono::milliseconds{1200}, [&] {
        for (const auto broker : {kFirst, kSecond}) {
            rd_kafka_mock_broker_set_up(kafka.cluster.get(), broker);
        }
    });
    CHECK(kafka.ends() == Ends{0, 0});
}

namespace {

constexpr std::chrono::seconds kLimit{5};
constexpr std::string_view kRefusal =
    "[thrd:sasl_ssl://kafka:9093/bootstrap]: sasl_ssl://kafka:9093/bootstrap: SASL authentication "
    "error: Authentication failed (after 30ms in state AUTH_REQ)";

struct PatienceWorld {
    ManualClock clock;
    log::kafka::KafkaEvents events{"kafka:9093"};
    std::stop_source stop;
    log::kafka::Patience patience{events, kLimit, stop.get_token(), clock};

    /// Returns what is logged at once.
    std::string refuse() {
        CapturedOutput lines;
        events.line(3, "FAIL", kRefusal);
        return lines.finish();
    }
};

}  // namespace

TEST_CASE("a question is asked again while no connection stands, until its limit") {
    PatienceWorld world;
    CHECK(world.patience.again());
    world.clock.advance(kLimit - std::chrono::milliseconds{1});
    CHECK(world.patience.again());
    world.clock.advance(std::chrono::milliseconds{1});
    CHECK_FALSE(world.patience.again());
}

TEST_CASE("a question is not asked again during a stop") {
    PatienceWorld world;
    world.stop.request_stop();
    CHECK_FALSE(world.patience.again());
}

TEST_CASE("a refused login is tried for a moment, in which a broker may apply new credentials") {
    PatienceWorld world;
    CHECK_THAT(world.refuse(), Catch::Contains("login_refused"));
    CHECK(world.patience.again());
    world.clock.advance(log::kafka::Patience::kLoginMax);
    CHECK_FALSE(world.patience.again());
}

TEST_CASE("a login that is accepted in the end ends no question") {
    PatienceWorld world;
    world.refuse();
    CHECK(world.patience.again());
    world.events.broker_answers();
    world.clock.advance(log::kafka::Patience::kLoginMax);
    CHECK(world.patience.again());
}
