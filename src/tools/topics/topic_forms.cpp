#include "tools/topics/topic_forms.hpp"

#include <algorithm>

namespace beckon::tools {

namespace {

/// Names of Kubernetes and Terraform take neither dots nor underscores.
std::string with_dashes(std::string name) {
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '.' || c == '_'; }, '-');
    return name;
}

std::string kafka_topics(const log::TopicSpec& topic, const std::string& name) {
    std::string text =
        "kafka-topics --bootstrap-server \"$KAFKA\" --create --if-not-exists --topic " + name +
        " \\\n    --partitions " + std::to_string(topic.partitions) + " --replication-factor " +
        std::to_string(topic.replication_factor);
    for (const auto& [setting, value] : topic.settings) {
        text += " \\\n    --config " + setting + "=" + value;
    }
    return text + "\n";
}

std::string strimzi(const log::TopicSpec& topic, const std::string& name) {
    std::string text =
        "---\napiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata:\n  name: " +
        with_dashes(name) +
        "\n  labels:\n    strimzi.io/cluster: my-cluster\nspec:\n  topicName: " + name +
        "\n  partitions: " + std::to_string(topic.partitions) +
        "\n  replicas: " + std::to_string(topic.replication_factor) + "\n  config:\n";
    for (const auto& [setting, value] : topic.settings) {
        text += "    " + setting + ": \"" + value + "\"\n";
    }
    return text;
}

std::string terraform(const log::TopicSpec& topic, const std::string& name) {
    std::string text =
        "resource \"kafka_topic\" \"" + with_dashes(name) + "\" {\n  name               = \"" +
        name + "\"\n  partitions         = " + std::to_string(topic.partitions) +
        "\n  replication_factor = " + std::to_string(topic.replication_factor) + "\n  config = {\n";
    for (const auto& [setting, value] : topic.settings) {
        text += "    \"" + setting + "\" = \"" + value + "\"\n";
    }
    return text + "  }\n}\n";
}

}  // namespace

std::string print_topics(const std::vector<log::TopicSpec>& topics, const std::string& prefix,
                         TopicForm form) {
    std::string text;
    for (const auto& topic : topics) {
        const auto name = prefix + topic.topic.name();
        switch (form) {
            case TopicForm::kafka_topics: text += kafka_topics(topic, name); break;
            case TopicForm::strimzi: text += strimzi(topic, name); break;
            case TopicForm::terraform: text += terraform(topic, name); break;
        }
    }
    return text;
}

}  // namespace beckon::tools
