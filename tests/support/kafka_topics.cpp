#include "support/kafka_topics.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include <librdkafka/rdkafka.h>

namespace beckon::test {

std::string fresh_prefix() {
    static int count = 0;
    return "test" + std::to_string(++count) + ".";
}

log::KafkaConfig kafka_config(const std::string& prefix) {
    log::KafkaConfig config;
    config.bootstrap_servers = KafkaBroker::shared().servers();
    config.prefix = prefix;
    config.client_id = core::NodeId::random().text;
    config.publish_timeout = std::chrono::seconds{3};
    return config;
}

std::vector<log::TopicSpec> some_topics(const std::vector<log::Topic>& topics,
                                        core::Partition partitions) {
    auto table = log::topic_table(
        {.partitions = partitions, .replication_factor = 1, .tiers = log::default_tiers()});
    std::erase_if(table, [&](const log::TopicSpec& spec) {
        return std::find(topics.begin(), topics.end(), spec.topic) == topics.end();
    });
    return table;
}

void create_topics(const log::KafkaConfig& config, const std::vector<log::TopicSpec>& topics) {
    const auto created = log::open_kafka_admin(config)->create(topics);
    if (!created) throw std::runtime_error(created.error().message);
}

void delete_records(const log::KafkaConfig& config, log::TopicPartition where, core::Offset start) {
    const auto check = [](rd_kafka_resp_err_t error) {
        if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
            throw std::runtime_error(rd_kafka_err2str(error));
        }
    };
    char why[256];
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", config.bootstrap_servers.c_str(), why, sizeof why);
    const std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> client{
        rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why), rd_kafka_destroy};
    const std::unique_ptr<rd_kafka_queue_t, void (*)(rd_kafka_queue_t*)> queue{
        rd_kafka_queue_new(client.get()), rd_kafka_queue_destroy};
    auto* list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, (config.prefix + where.topic.name()).c_str(),
                                      where.partition)
        ->offset = start;
    auto* request = rd_kafka_DeleteRecords_new(list);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_DeleteRecords(client.get(), &request, 1, nullptr, queue.get());
    rd_kafka_DeleteRecords_destroy(request);
    const std::unique_ptr<rd_kafka_event_t, void (*)(rd_kafka_event_t*)> event{
        rd_kafka_queue_poll(queue.get(), 10'000), rd_kafka_event_destroy};
    if (!event) throw std::runtime_error("DeleteRecords: no answer");
    check(rd_kafka_event_error(event.get()));
    const auto* offsets =
        rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event.get()));
    check(offsets->elems[0].err);
}

}  // namespace beckon::test
