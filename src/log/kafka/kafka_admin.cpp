#include "log/kafka/client_conf.hpp"
#include "log/kafka/handles.hpp"
#include "log/kafka/kafka_events.hpp"
#include "log/kafka/metadata.hpp"
#include "log/kafka/report.hpp"
#include "log/topics_admin.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

namespace beckon::log {

using core::Fault;
using namespace kafka;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

constexpr int kAdminTimeoutMs = 5000;
constexpr int kChangeMs = 30'000;
/// A stop waits for it, and a second more (answer()).
constexpr int kSettingsMs = 2000;
/// An answer that is there already; brokers that give their cluster no id are waited for so long.
constexpr int kClusterIdMs = 1000;
constexpr seconds kPropagation{30};
constexpr milliseconds kPollAgain{50};

using NewTopicHandle = Handle<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;
using DeleteTopicHandle = Handle<rd_kafka_DeleteTopic_t, rd_kafka_DeleteTopic_destroy>;
using ConfigResourceHandle = Handle<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;

/// Handles to the array of pointers that librdkafka's admin calls take.
template <class H>
auto pointers(const std::vector<H>& handles) {
    std::vector<typename H::pointer> out;
    out.reserve(handles.size());
    for (const auto& handle : handles) out.push_back(handle.get());
    return out;
}

Fault change_fault(rd_kafka_resp_err_t error) {
    switch (error) {
        case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
        case RD_KAFKA_RESP_ERR_INVALID_PARTITIONS:
        case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
        case RD_KAFKA_RESP_ERR_POLICY_VIOLATION: return Fault::invalid;
        default: return fault_of(error);
    }
}

bool has_leaders(const rd_kafka_metadata_topic_t& topic, core::Partition partitions) {
    if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR || topic.partition_cnt < partitions) return false;
    for (int i = 0; i < topic.partition_cnt; ++i) {
        if (topic.partitions[i].err != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
        if (topic.partitions[i].leader < 0) return false;
    }
    return true;
}

class KafkaAdmin final : public TopicsAdmin {
public:
    explicit KafkaAdmin(const KafkaConfig& config)
        : config_(config),
          events_(config.bootstrap_servers),
          client_(make_client(RD_KAFKA_PRODUCER, make_conf(config_, events_, {}))),
          queue_(rd_kafka_queue_new(client_.get())) {}

    core::Result<Existing> describe() override {
        const auto metadata = ask_metadata();
        if (!metadata) return core::fail(metadata.error());
        Existing existing;
        for (int i = 0; i < (*metadata)->topic_cnt; ++i) {
            const auto& reported = (*metadata)->topics[i];
            const auto topic = topic_of(reported.topic);
            if (!topic || reported.err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
            TopicSpec spec{*topic, reported.partition_cnt, 0, {}};
            if (reported.partition_cnt > 0)
                spec.replication_factor = reported.partitions[0].replica_cnt;
            existing.emplace(*topic, std::move(spec));
        }
        const auto read = read_settings(existing, kAdminTimeoutMs);
        if (!read) return core::fail(read.error());
        return existing;
    }

    core::Result<Existing> settings_of(Existing known) override {
        for (auto& [topic, spec] : known) spec.settings.clear();
        const auto read = read_settings(known, kSettingsMs);
        if (!read) return core::fail(read.error());
        return known;
    }

    core::Result<void> create(const std::vector<TopicSpec>& missing) override {
        if (missing.empty()) return {};
        std::vector<NewTopicHandle> topics;
        for (const auto& spec : missing) {
            std::array<char, 256> why{};
            topics.emplace_back(rd_kafka_NewTopic_new(name_of(spec.topic).c_str(), spec.partitions,
                                                      spec.replication_factor, why.data(),
                                                      why.size()));
            if (!topics.back()) return core::fail(Fault::invalid, why.data());
            for (const auto& [name, value] : spec.settings) {
                rd_kafka_NewTopic_set_config(topics.back().get(), name.c_str(), value.c_str());
            }
        }
        auto created =
            change("create", RD_KAFKA_ADMIN_OP_CREATETOPICS, topics, rd_kafka_CreateTopics,
                   rd_kafka_event_CreateTopics_result, rd_kafka_CreateTopics_result_topics,
                   RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS);
        if (!created) return created;
        return await_leaders(missing);
    }

    core::Result<void> destroy(const std::vector<Topic>& topics) override {
        if (topics.empty()) return {};
        std::vector<DeleteTopicHandle> handles;
        handles.reserve(topics.size());
        for (const auto topic : topics) {
            handles.emplace_back(rd_kafka_DeleteTopic_new(name_of(topic).c_str()));
        }
        auto destroyed =
            change("destroy", RD_KAFKA_ADMIN_OP_DELETETOPICS, handles, rd_kafka_DeleteTopics,
                   rd_kafka_event_DeleteTopics_result, rd_kafka_DeleteTopics_result_topics,
                   RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        if (!destroyed) return destroyed;
        return await_gone(topics);
    }

    core::Result<std::string> cluster_id() override {
        if (const auto metadata = ask_metadata(); !metadata) return core::fail(metadata.error());
        char* const id = rd_kafka_clusterid(client_.get(), kClusterIdMs);
        if (!id) return std::string{};
        std::string text{id};
        rd_kafka_mem_free(client_.get(), id);
        return text;
    }

private:
    std::string name_of(Topic topic) const { return config_.prefix + topic.name(); }

    std::optional<Topic> topic_of(std::string_view name) const {
        if (!name.starts_with(config_.prefix)) return std::nullopt;
        return Topic::parse(name.substr(config_.prefix.size()));
    }

    AdminOptionsHandle options_for(rd_kafka_admin_op_t op, int timeout_ms) const {
        AdminOptionsHandle options{rd_kafka_AdminOptions_new(client_.get(), op)};
        rd_kafka_AdminOptions_set_request_timeout(options.get(), timeout_ms, nullptr, 0);
        if (op == RD_KAFKA_ADMIN_OP_CREATETOPICS || op == RD_KAFKA_ADMIN_OP_DELETETOPICS) {
            rd_kafka_AdminOptions_set_operation_timeout(options.get(), timeout_ms, nullptr, 0);
        }
        return options;
    }

    core::Error failed(Fault fault, const std::string& what, const std::string& why) const {
        return {fault, "cannot " + what + " at " + config_.bootstrap_servers + ": " + why};
    }

    /// Waits for the answer to the last request.
    core::Result<EventHandle> answer(const std::string& what, int timeout_ms) const {
        EventHandle event{rd_kafka_queue_poll(queue_.get(), timeout_ms + 1000)};
        if (!event) return core::fail(failed(Fault::timed_out, what, "no answer"));
        if (const auto error = rd_kafka_event_error(event.get())) {
            return core::fail(
                failed(change_fault(error), what, rd_kafka_event_error_string(event.get())));
        }
        return event;
    }

    /// Sends a request about topics, and waits for the answer about each of them.
    template <class Handles, class Send, class ResultOf, class TopicsOf>
    core::Result<void> change(const std::string& verb, rd_kafka_admin_op_t op,
                              const Handles& handles, Send send, ResultOf result_of,
                              TopicsOf topics_of, rd_kafka_resp_err_t harmless) const {
        auto all = pointers(handles);
        const auto options = options_for(op, kChangeMs);
        send(client_.get(), all.data(), all.size(), options.get(), queue_.get());
        const auto event = answer(verb + " log topics", kChangeMs);
        if (!event) return core::fail(event.error());
        std::size_t count = 0;
        const auto** results = topics_of(result_of(event->get()), &count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto error = rd_kafka_topic_result_error(results[i]);
            if (error == RD_KAFKA_RESP_ERR_NO_ERROR || error == harmless) continue;
            const auto* text = rd_kafka_topic_result_error_string(results[i]);
            return core::fail(failed(change_fault(error),
                                     verb + " " + rd_kafka_topic_result_name(results[i]),
                                     text ? text : rd_kafka_err2str(error)));
        }
        return {};
    }

    core::Result<MetadataHandle> ask_metadata() const {
        return kafka::ask_metadata(client_.get(), events_, milliseconds{kAdminTimeoutMs},
                                   "ask for the log topics");
    }

    /// A topic that is gone is taken out.
    core::Result<void> read_settings(Existing& existing, int timeout_ms) const {
        if (existing.empty()) return {};
        std::vector<ConfigResourceHandle> resources;
        for (const auto& [topic, spec] : existing) {
            resources.emplace_back(
                rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name_of(topic).c_str()));
        }
        auto all = pointers(resources);
        const auto options = options_for(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout_ms);
        rd_kafka_DescribeConfigs(client_.get(), all.data(), all.size(), options.get(),
                                 queue_.get());
        const auto event = answer("ask for the settings of the log topics", timeout_ms);
        if (!event) return core::fail(event.error());
        std::size_t count = 0;
        const auto** results = rd_kafka_DescribeConfigs_result_resources(
            rd_kafka_event_DescribeConfigs_result(event->get()), &count);
        const auto names = names_in_table();
        for (std::size_t i = 0; i < count; ++i) {
            const auto topic = topic_of(rd_kafka_ConfigResource_name(results[i]));
            if (const auto error = rd_kafka_ConfigResource_error(results[i])) {
                const std::string name = rd_kafka_ConfigResource_name(results[i]);
                if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && topic) {
                    existing.erase(*topic);
                    continue;
                }
                if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
                    return core::fail(refusal("DescribeConfigs", "the topic " + name));
                }
                return core::fail(failed(fault_of(error), "ask for the settings of " + name,
                                         rd_kafka_err2str(error)));
            }
            if (topic) read_entries(results[i], names, existing.at(*topic));
        }
        return {};
    }

    static void read_entries(const rd_kafka_ConfigResource_t* resource,
                             const std::set<std::string>& names, TopicSpec& spec) {
        std::size_t count = 0;
        const auto** entries = rd_kafka_ConfigResource_configs(resource, &count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto* value = rd_kafka_ConfigEntry_value(entries[i]);
            const std::string name = rd_kafka_ConfigEntry_name(entries[i]);
            if (value && names.contains(name)) spec.settings[name] = value;
        }
    }

    static std::set<std::string> names_in_table() {
        std::set<std::string> names;
        for (const auto& spec : topic_table({.tiers = default_tiers()})) {
            for (const auto& [name, value] : spec.settings) names.insert(name);
        }
        return names;
    }

    /// A record that is published before its partition has a leader waits for it, and with
    /// librdkafka's usual settings such records were lost
    /// (docs/facts/kafka.md#the-rule-that-matters-most).
    core::Result<void> await_leaders(const std::vector<TopicSpec>& specs) const {
        return await("use the new log topics yet", "not every partition has a leader",
                     [&](const rd_kafka_metadata_t& metadata) {
                         return all_have_leaders(metadata, specs) && leaders_answer(specs);
                     });
    }

    /// A broker names a topic a moment longer than the cluster has it; creating it anew meanwhile
    /// would fail with "it exists".
    core::Result<void> await_gone(const std::vector<Topic>& topics) const {
        return await("see that the log topics are gone", "the broker still names them",
                     [&](const rd_kafka_metadata_t& metadata) {
                         return std::none_of(topics.begin(), topics.end(), [&](Topic topic) {
                             return reported_topic(metadata, topic) != nullptr;
                         });
                     });
    }

    /// Asks for metadata until `holds` is true of it. `why`: it is not.
    template <class Holds>
    core::Result<void> await(const char* what, const char* why, const Holds& holds) const {
        const auto until = steady_clock::now() + kPropagation;
        for (;;) {
            const auto metadata = ask_metadata();
            if (metadata && holds(**metadata)) return {};
            if (steady_clock::now() > until) {
                return core::fail(failed(Fault::timed_out, what, why));
            }
            std::this_thread::sleep_for(kPollAgain);
        }
    }

    /// nullptr: the broker does not name it.
    const rd_kafka_metadata_topic_t* reported_topic(const rd_kafka_metadata_t& metadata,
                                                    Topic topic) const {
        const auto* first = metadata.topics;
        const auto* last = first + metadata.topic_cnt;
        const auto* found = std::find_if(first, last, [&](const auto& reported) {
            return name_of(topic) == reported.topic &&
                   reported.err != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        });
        return found == last ? nullptr : found;
    }

    bool all_have_leaders(const rd_kafka_metadata_t& metadata,
                          const std::vector<TopicSpec>& specs) const {
        return std::all_of(specs.begin(), specs.end(), [&](const TopicSpec& spec) {
            const auto* reported = reported_topic(metadata, spec.topic);
            return reported && has_leaders(*reported, spec.partitions);
        });
    }

    /// A broker learns that it leads a partition a moment after the cluster reports it; this
    /// queries the leaders themselves.
    bool leaders_answer(const std::vector<TopicSpec>& specs) const {
        const PartitionList list{rd_kafka_topic_partition_list_new(0)};
        for (const auto& spec : specs) {
            for (core::Partition p = 0; p < spec.partitions; ++p) {
                // This value in place of a time asks for the newest offset.
                rd_kafka_topic_partition_list_add(list.get(), name_of(spec.topic).c_str(), p)
                    ->offset = RD_KAFKA_OFFSET_END;
            }
        }
        return rd_kafka_offsets_for_times(client_.get(), list.get(), kAdminTimeoutMs) ==
               RD_KAFKA_RESP_ERR_NO_ERROR;
    }

    const KafkaConfig config_;
    KafkaEvents events_;
    ClientHandle client_;
    QueueHandle queue_;
};

}  // namespace

std::unique_ptr<TopicsAdmin> open_kafka_admin(const KafkaConfig& config) {
    return std::make_unique<KafkaAdmin>(config);
}

}  // namespace beckon::log
