#pragma once

#include "log/kafka/kafka_log.hpp"

#include <array>
#include <memory>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

namespace beckon::test {

/// librdkafka's mock cluster: brokers that have the topic test.notifications. Outlives the logs
/// that use it.
class MockCluster {
public:
    explicit MockCluster(int partitions, int brokers = 1) {
        std::array<char, 256> why{};
        rd_kafka_conf_t* conf = rd_kafka_conf_new();
        rd_kafka_conf_set(conf, "log_level", "0", why.data(), why.size());
        client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size()));
        cluster_.reset(rd_kafka_mock_cluster_new(client_.get(), brokers));
        rd_kafka_mock_topic_create(cluster_.get(), "test.notifications", partitions, brokers);
    }

    /// Of a log that uses it.
    log::KafkaConfig config() const {
        log::KafkaConfig config;
        config.bootstrap_servers = rd_kafka_mock_cluster_bootstraps(cluster_.get());
        config.prefix = "test.";
        return config;
    }
    rd_kafka_mock_cluster_t* get() const { return cluster_.get(); }

private:
    std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> client_{nullptr, rd_kafka_destroy};
    std::unique_ptr<rd_kafka_mock_cluster_t, void (*)(rd_kafka_mock_cluster_t*)> cluster_{
        nullptr, rd_kafka_mock_cluster_destroy};
};

}  // namespace beckon::test
