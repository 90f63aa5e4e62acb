// The outcome of a publish by the broker's answer, on librdkafka's mock broker: it can answer with
// any error. (kafka_log_test.cpp has the tests that need a real broker.)
#include "log/kafka/report.hpp"

#include "log/kafka/kafka_log.hpp"
#include "log/kafka/mock_cluster.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <librdkafka/rdkafka.h>

using namespace beckon;
using namespace beckon::test;
using log::Appended;
using log::Topic;
using log::TopicPartition;
using log::kafka::answer_of;

namespace {

const TopicPartition kWhere{Topic::kNotifications, 0};
constexpr std::int16_t kProduce = 0;
constexpr std::int16_t kInitProducerId = 22;

/// A purge of librdkafka does nothing: the reports of a client's records come in their own time.
std::atomic<bool> purges_miss{false};

/// A mock cluster of one broker and a log that uses it.
class MockKafka {
public:
    /// `first_answers`: errors that the broker has ready before any client of ours asks it.
    explicit MockKafka(
        const std::vector<std::pair<std::int16_t, rd_kafka_resp_err_t>>& first_answers = {},
        const std::map<std::string, std::string>& options = {},
        std::chrono::milliseconds publish_timeout = std::chrono::seconds{3}) {
        for (const auto& [request, error] : first_answers) answer_next(request, error);
        auto config = cluster_.config();
        config.publish_timeout = publish_timeout;
        config.librdkafka = options;
        log = log::open_kafka_log(config);
        publisher = log->open_publisher(executor);
    }

    void answer_next(std::int16_t request, rd_kafka_resp_err_t error) {
        rd_kafka_mock_push_request_errors(cluster_.get(), request, 1, error);
    }

    void stop_broker() { rd_kafka_mock_broker_set_down(cluster_.get(), 1); }
    void start_broker() { rd_kafka_mock_broker_set_up(cluster_.get(), 1); }

    /// While the producer is replaced, and before librdkafka has made space (a moment after it has
    /// reported other records), a publish fails.
    bool publish_until_through(const std::string& key) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        bool through = false;
        while (!through && std::chrono::steady_clock::now() < until) {
            through = publish(key).has_value();
        }
        return through;
    }

    core::Result<Appended> publish(const std::string& key) {
        std::optional<core::Result<Appended>> answer;
        publisher->publish(kWhere, {key, "value", {}}, [&](const auto& r) { answer = r; });
        REQUIRE(executor.wait_until([&] { return answer.has_value(); }));
        return *answer;
    }

private:
    test::MockCluster cluster_{2};

public:
    WaitingExecutor executor;
    std::unique_ptr<log::EventLog> log;
    std::unique_ptr<log::Publisher> publisher;
};

}  // namespace

/// The linker prefers it to librdkafka's own.
extern "C" rd_kafka_resp_err_t rd_kafka_purge(rd_kafka_t* client, int flags) {
    if (purges_miss) return RD_KAFKA_RESP_ERR_NO_ERROR;
    static const auto real =
        reinterpret_cast<decltype(&rd_kafka_purge)>(dlsym(RTLD_NEXT, "rd_kafka_purge"));
    return real(client, flags);
}

TEST_CASE("a report counts only with an offset") {
    const auto confirmed = answer_of({RD_KAFKA_RESP_ERR_NO_ERROR, 0, 1'790'000'000'123});
    REQUIRE(confirmed);
    CHECK(*confirmed == Appended{0, core::Timestamp{std::chrono::milliseconds{1'790'000'000'123}}});
    for (const core::Offset none : {-1, -1001}) {
        const auto answer = answer_of({RD_KAFKA_RESP_ERR_NO_ERROR, none, 1'790'000'000'123});
        REQUIRE_FALSE(answer);
        CHECK(answer.error().fault == core::Fault::unavailable);
    }
}

TEST_CASE("an error is an error whatever the offset says") {
    const auto fault = [](rd_kafka_resp_err_t error) {
        return answer_of({error, 7, 1}).error().fault;
    };
    CHECK(fault(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT) == core::Fault::unavailable);
    CHECK(fault(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS) == core::Fault::unavailable);
    CHECK(fault(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT) == core::Fault::unavailable);
    CHECK(fault(RD_KAFKA_RESP_ERR__QUEUE_FULL) == core::Fault::full);
    CHECK(fault(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION) == core::Fault::not_found);
}

TEST_CASE("a batch that is refused says of a record what it says of the only one in it") {
    const auto fault = [](rd_kafka_resp_err_t error, bool alone) {
        return answer_of({.error = error, .alone = alone}).error().fault;
    };
    for (const auto size :
         {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE}) {
        CHECK(fault(size, true) == core::Fault::too_large);
        CHECK(fault(size, false) == core::Fault::unavailable);
    }
    for (const auto refused :
         {RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
          RD_KAFKA_RESP_ERR_INVALID_MSG, RD_KAFKA_RESP_ERR_POLICY_VIOLATION}) {
        CHECK(fault(refused, false) == core::Fault::unavailable);
    }
}

TEST_CASE("batches become smaller until the broker takes them") {
    MockKafka kafka;
    REQUIRE(kafka.publish("before"));
    for (int refusal = 0; refusal < 3; ++refusal) {
        kafka.answer_next(kProduce, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
        const auto answer = kafka.publish("refused");
        REQUIRE_FALSE(answer);
        CHECK(answer.error().fault == core::Fault::unavailable);
        REQUIRE(kafka.publish_until_through("again"));
    }
}

TEST_CASE("a record that the broker calls a duplicate is not acknowledged") {
    MockKafka kafka;
    REQUIRE(kafka.publish("before"));
    // The mock does not append; librdkafka 2.0.2 reports success, without an offset.
    kafka.answer_next(kProduce, RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER);
    const auto answer = kafka.publish("lost");
    REQUIRE_FALSE(answer);
    CHECK(answer.error().fault == core::Fault::unavailable);
    const auto after = kafka.publish("after");
    REQUIRE(after);
    CHECK(after->offset == 1);
}

TEST_CASE("a fatal producer error is answered, and the next publish goes through") {
    MockKafka kafka{{{kInitProducerId, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED}}};
    REQUIRE_FALSE(kafka.publish("first"));
    // A publish while the producer is replaced may fail as well.
    CHECK(kafka.publish_until_through("later"));
    CHECK(kafka.publisher->unanswered() == 0);
}

TEST_CASE("every record that the producer had at a fatal error is answered, and once") {
    constexpr std::size_t kMany = 5'000;
    purges_miss = GENERATE(false, true);
    MockKafka kafka{{{kInitProducerId, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED}}};
    std::vector<int> answers(kMany);
    std::size_t answered = 0;
    for (std::size_t i = 0; i < kMany; ++i) {
        const auto partition = static_cast<core::Partition>(i % 2);
        kafka.publisher->publish({Topic::kNotifications, partition}, {"key", "value", {}},
                                 [&, i](const auto&) {
                                     ++answers[i];
                                     ++answered;
                                 });
    }
    CHECK(kafka.executor.wait_until([&] { return answered >= kMany; }));
    CHECK(kafka.publish_until_through("later"));
    CHECK(std::all_of(answers.begin(), answers.end(), [](int count) { return count == 1; }));
    CHECK(kafka.publisher->unanswered() == 0);
    purges_miss = false;
}

TEST_CASE("a record for a partition that is not there is answered once") {
    MockKafka kafka;
    REQUIRE(kafka.publish("before"));  // from now on librdkafka knows the partitions
    std::vector<core::Result<Appended>> answers;
    kafka.publisher->publish({Topic::kNotifications, 7}, {"key", "value", {}},
                             [&](const auto& answer) { answers.push_back(answer); });
    REQUIRE(kafka.publish("after"));
    REQUIRE(answers.size() == 1);
    REQUIRE_FALSE(answers[0]);
    CHECK(answers[0].error().fault == core::Fault::not_found);
    CHECK(kafka.publisher->unanswered() == 0);
}

TEST_CASE("a passing broker error is retried without doubling the record") {
    MockKafka kafka;
    REQUIRE(kafka.publish("before"));
    kafka.answer_next(kProduce, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    const auto answer = kafka.publish("once");
    REQUIRE(answer);
    CHECK(answer->offset == 1);
}

TEST_CASE("without a broker a log opens, answers in bounded time and closes") {
    WaitingExecutor executor;
    log::KafkaConfig config;
    config.bootstrap_servers = "127.0.0.1:1";
    config.publish_timeout = std::chrono::milliseconds{500};
    const auto log = log::open_kafka_log(config);
    const auto publisher = log->open_publisher(executor);
    const auto reader = log->open_reader(kWhere, 0, executor, [] {});
    const auto member = log->join({"edge.members", core::NodeId::random(), std::chrono::seconds{6}},
                                  executor, [](const auto&) {});
    std::optional<core::Result<Appended>> answer;
    publisher->publish(kWhere, {"key", "value", {}}, [&](const auto& r) { answer = r; });
    REQUIRE(executor.wait_until([&] { return answer.has_value(); }));
    REQUIRE_FALSE(*answer);
    CHECK((*answer).error().fault == core::Fault::unavailable);
}

TEST_CASE("a publish beyond librdkafka's queue is `full`, and later there is space again") {
    constexpr std::size_t kCapacity = 20;
    constexpr std::size_t kSent = 3 * kCapacity;
    MockKafka kafka{{},
                    {{"queue.buffering.max.messages", std::to_string(kCapacity)}},
                    std::chrono::seconds{60}};
    for (int round = 0; round < 2; ++round) {  // the second finds as much space as the first
        REQUIRE(kafka.publish_until_through("before"));
        kafka.stop_broker();
        std::vector<core::Result<Appended>> answers;
        for (std::size_t i = 0; i < kSent; ++i) {
            kafka.publisher->publish(kWhere, {"key", "value", {}},
                                     [&](const auto& answer) { answers.push_back(answer); });
        }
        // Refused publishes are answered at once. The one before may leave the queue meanwhile.
        REQUIRE(kafka.executor.wait_until([&] { return answers.size() >= kSent - kCapacity; }));
        for (const auto& answer : answers) {
            REQUIRE_FALSE(answer);
            CHECK(answer.error().fault == core::Fault::full);
        }
        const auto refused = answers.size();
        CHECK(refused <= kSent - kCapacity + 1);
        kafka.start_broker();
        REQUIRE(kafka.executor.wait_until([&] { return answers.size() == kSent; },
                                          std::chrono::seconds{60}));
        CHECK(std::all_of(answers.begin() + static_cast<std::ptrdiff_t>(refused), answers.end(),
                          [](const auto& answer) { return answer.has_value(); }));
        CHECK(kafka.publisher->unanswered() == 0);
    }
}
