#pragma once

#include "log/topics_admin.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace beckon::tools {

/// The forms in which others make topics from a repository.
enum class TopicForm : std::uint8_t {
    kafka_topics,  ///< commands of Kafka's own tool
    strimzi,       ///< KafkaTopic resources of Kubernetes
    terraform,     ///< kafka_topic resources of the provider Mongey/kafka
};

/// The topics in that form, whole. Pure.
std::string print_topics(const std::vector<log::TopicSpec>& topics, const std::string& prefix,
                         TopicForm form);

}  // namespace beckon::tools
