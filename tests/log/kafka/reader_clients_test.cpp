// Successive readers of one partition, on librdkafka's mock broker.
#include "log/kafka/reader_clients.hpp"

#include "log/kafka/kafka_log.hpp"
#include "log/kafka/mock_cluster.hpp"
#include "support/test_executor.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <librdkafka/rdkafka.h>

using namespace beckon;
using namespace beckon::log::kafka;
using namespace std::chrono_literals;
using test::WaitingExecutor;

namespace {

constexpr log::TopicPartition kWhere{log::Topic::kNotifications, 0};

/// So many of the next clients cannot be made.
std::atomic<int> clients_to_fail{0};
/// Queries whose answer nobody waits for: librdkafka is notified that there is space.
std::atomic<int> reports_of_capacity{0};

/// A mock cluster with one partition, and a log that writes there.
struct Mock {
    void publish(const std::string& key, const std::string& value = "value") {
        bool done = false;
        publisher->publish(kWhere, {key, value, {}},
                           [&](const auto& appended) { done = appended.has_value(); });
        REQUIRE(eventually([&] { return done; }));
    }
    /// For conditions that other threads make true, too.
    template <class Condition>
    bool eventually(Condition condition) {
        const auto until = std::chrono::steady_clock::now() + 20s;
        while (!executor.wait_until(condition, 10ms)) {
            if (std::chrono::steady_clock::now() > until) return false;
        }
        return true;
    }

    test::MockCluster cluster{1};
    const log::KafkaConfig config = cluster.config();
    WaitingExecutor executor;
    std::unique_ptr<log::EventLog> log = log::open_kafka_log(config);
    std::unique_ptr<log::Publisher> publisher = log->open_publisher(executor);
};

/// Takes all messages that have come; true if the partition's end was among them.
bool take_end(const Reading& reading) {
    bool end = false;
    while (const MessageHandle message{rd_kafka_consume_queue(reading.queue.get(), 0)}) {
        end |= message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    }
    return end;
}

}  // namespace

/// The linker prefers it to librdkafka's own.
extern "C" rd_kafka_t* rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t* conf, char* why,
                                    std::size_t size) {
    if (clients_to_fail > 0) {
        --clients_to_fail;
        std::snprintf(why, size, "out of threads");
        return nullptr;
    }
    static const auto real =
        reinterpret_cast<decltype(&rd_kafka_new)>(dlsym(RTLD_NEXT, "rd_kafka_new"));
    return real(type, conf, why, size);
}

/// As above.
extern "C" rd_kafka_resp_err_t rd_kafka_offsets_for_times(rd_kafka_t* client,
                                                          rd_kafka_topic_partition_list_t* list,
                                                          int timeout_ms) {
    if (timeout_ms == 0) ++reports_of_capacity;
    static const auto real = reinterpret_cast<decltype(&rd_kafka_offsets_for_times)>(
        dlsym(RTLD_NEXT, "rd_kafka_offsets_for_times"));
    return real(client, list, timeout_ms);
}

TEST_CASE("a reading that ends late does not silence the next one of its partition") {
    Mock mock;
    KafkaEvents events{mock.config.bootstrap_servers};
    QueryThread queries{mock.config, events};
    ReaderClients clients{mock.config, events, queries};
    core::Lifetime lifetime{mock.executor};
    const auto start = [&](std::function<void()> ready) {
        auto reading = std::make_shared<Reading>(kWhere, "test.notifications", lifetime.remote(),
                                                 std::move(ready));
        clients.start(reading, 0, 1);
        REQUIRE(mock.eventually([&] { return reading->assignment == 1; }));
        return reading;
    };
    // Once librdkafka knows the partition, all its readings have one queue.
    auto first = start([] {});
    REQUIRE(mock.eventually([&] { return take_end(*first); }));
    clients.stop(first);
    int received = 0;
    const auto second = start([&] { ++received; });
    REQUIRE(mock.eventually([&] { return take_end(*second); }));
    mock.executor.wait_until([] { return false; }, 10ms);  // all that was posted until then has run
    const int received_the_end = received;
    first.reset();
    mock.publish("key");
    CHECK(mock.eventually([&] { return received > received_the_end; }));
    clients.stop(second);
    queries.stop();
}

TEST_CASE("a reader whose client cannot be made yet reads once it can") {
    Mock mock;
    mock.publish("key");
    clients_to_fail = 1;
    std::size_t taken = 0;
    std::unique_ptr<log::PartitionReader> reader;
    reader = mock.log->open_reader(kWhere, 0, mock.executor, [&] {
        const auto got = reader->take(10, [](const auto&) {});
        if (got) taken += got->records;
    });
    CHECK(mock.eventually([&] { return taken == 1; }));
    CHECK(clients_to_fail == 0);
}

TEST_CASE("librdkafka is notified of space whenever half of what it may prefetch was taken") {
    constexpr std::size_t kRecords = 300;
    const std::string body(1'000, 'b');
    Mock mock;
    for (std::size_t i = 0; i < kRecords; ++i) mock.publish(std::to_string(i), body);
    auto config = mock.config;
    config.partitions_read = 1;
    config.fetch_bytes = 128U << 10;
    const auto prefetch = prefetch_of(0, config);
    const auto log = log::open_kafka_log(config);
    reports_of_capacity = 0;
    std::size_t taken = 0;
    std::unique_ptr<log::PartitionReader> reader;
    reader = log->open_reader(kWhere, 0, mock.executor, [&] {
        for (auto got = reader->take(10, [](const auto&) {}); got && got->records > 0;
             got = reader->take(10, [](const auto&) {})) {
            taken += got->records;
        }
    });
    CHECK(mock.eventually([&] { return taken == kRecords; }));
    const auto halves = kRecords * body.size() / (prefetch.bytes_each / 2);
    REQUIRE(halves > 10);
    CHECK(mock.eventually([&] { return reports_of_capacity >= static_cast<int>(halves) - 1; }));
    reader.reset();
}
