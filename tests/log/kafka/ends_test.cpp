// Where a partition ends, asked while its leader changes: on librdkafka's mock brokers, whose
// leader a test chooses.
#include "log/kafka/kafka_log.hpp"
#include "log/kafka/mock_cluster.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <optional>

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
