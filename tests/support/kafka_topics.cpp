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

namespace {

using Event = std::unique_ptr<rd_kafka_event_t, void (*)(rd_kafka_event_t*)>;

void check(rd_kafka_resp_err_t error) {
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error(rd_kafka_err2str(error));
}

/// A client for one request of the Admin API, and the queue for its answer.
struct Admin {
    explicit Admin(const log::KafkaConfig& config) {
        char why[256];
        rd_kafka_conf_t* conf = rd_kafka_conf_new();
        rd_kafka_conf_set(conf, "bootstrap.servers", config.bootstrap_servers.c_str(), why,
                          sizeof why);
        client.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why));
        queue.reset(rd_kafka_queue_new(client.get()));
    }
    Event answer() const {
        Event event{rd_kafka_queue_poll(queue.get(), 10'000), rd_kafka_event_destroy};
        if (!event) throw std::runtime_error("a request of the Admin API has no answer");
        check(rd_kafka_event_error(event.get()));
        return event;
    }
    std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> client{nullptr, rd_kafka_destroy};
    std::unique_ptr<rd_kafka_queue_t, void (*)(rd_kafka_queue_t*)> queue{nullptr,
                                                                         rd_kafka_queue_destroy};
};

}  // namespace

void set_topic(const log::KafkaConfig& config, log::Topic topic,
               const std::map<std::string, std::string>& settings) {
    const Admin admin{config};
    const auto name = config.prefix + topic.name();
    auto* resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name.c_str());
    for (const auto& [setting, value] : settings) {
        rd_kafka_ConfigResource_set_config(resource, setting.c_str(), value.c_str());
    }
    rd_kafka_AlterConfigs(admin.client.get(), &resource, 1, nullptr, admin.queue.get());
    rd_kafka_ConfigResource_destroy(resource);
    const auto event = admin.answer();
    std::size_t count = 0;
    const auto** results = rd_kafka_AlterConfigs_result_resources(
        rd_kafka_event_AlterConfigs_result(event.get()), &count);
    if (count != 1) throw std::runtime_error("AlterConfigs: not one answer");
    check(rd_kafka_ConfigResource_error(results[0]));
}

void delete_records(const log::KafkaConfig& config, log::TopicPartition where, core::Offset start) {
    const Admin admin{config};
    auto* list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, (config.prefix + where.topic.name()).c_str(),
                                      where.partition)
        ->offset = start;
    auto* request = rd_kafka_DeleteRecords_new(list);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_DeleteRecords(admin.client.get(), &request, 1, nullptr, admin.queue.get());
    rd_kafka_DeleteRecords_destroy(request);
    const auto event = admin.answer();
    const auto* offsets =
        rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event.get()));
    check(offsets->elems[0].err);
}

void delete_group(const log::KafkaConfig& config, const std::string& group) {
    const Admin admin{config};
    auto* request = rd_kafka_DeleteGroup_new((config.prefix + group).c_str());
    rd_kafka_DeleteGroups(admin.client.get(), &request, 1, nullptr, admin.queue.get());
    rd_kafka_DeleteGroup_destroy(request);
    const auto event = admin.answer();
    std::size_t count = 0;
    const auto** deleted = rd_kafka_DeleteGroups_result_groups(
        rd_kafka_event_DeleteGroups_result(event.get()), &count);
    if (count != 1) throw std::runtime_error("DeleteGroups: not one answer");
    if (const auto* error = rd_kafka_group_result_error(deleted[0])) {
        throw std::runtime_error(rd_kafka_error_string(error));
    }
}

}  // namespace beckon::test
