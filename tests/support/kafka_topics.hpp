#pragma once

#include "log/kafka/kafka_log.hpp"
#include "log/topics_admin.hpp"
#include "support/kafka_broker.hpp"

#include <map>
#include <string>
#include <vector>

namespace beckon::test {

/// "test<n>.": log topics of its own for one test case; the broker is shared.
std::string fresh_prefix();

/// For the shared broker, quick to give up.
log::KafkaConfig kafka_config(const std::string& prefix);

/// The rows of the table with these names, with one replica.
std::vector<log::TopicSpec> some_topics(const std::vector<log::Topic>& topics,
                                        core::Partition partitions);

/// Creates them as `beckon topics create` does; throws if it fails.
void create_topics(const log::KafkaConfig& config, const std::vector<log::TopicSpec>& topics);

/// AlterConfigs: the topic has these settings of its own, and no other ones.
void set_topic(const log::KafkaConfig& config, log::Topic topic,
               const std::map<std::string, std::string>& settings);

/// DeleteRecords: moves the start of a partition. Throws if it fails.
void delete_records(const log::KafkaConfig& config, log::TopicPartition where, core::Offset start);

/// DeleteGroups: `group` is without the prefix and has no members. Throws if it fails.
void delete_group(const log::KafkaConfig& config, const std::string& group);

}  // namespace beckon::test
