#include "tools/topics/topics_tool.hpp"

#include <chrono>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;

namespace {

std::vector<log::TopicSpec> table() {
    return log::topic_table(
        {.partitions = 8, .replication_factor = 3, .tiers = {std::chrono::seconds{0}}});
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("each form names every topic with each of its settings") {
    const auto topics = table();
    std::size_t settings = 0;
    for (const auto& topic : topics) settings += topic.settings.size();
    const auto commands = tools::print_topics(topics, "beckon.", "kafka-topics");
    CHECK(count(commands, "--create") == topics.size());
    CHECK(count(commands, "--config ") == settings);
    const auto strimzi = tools::print_topics(topics, "beckon.", "strimzi");
    CHECK(count(strimzi, "kind: KafkaTopic\n") == topics.size());
    CHECK(count(strimzi, "    message.timestamp.type: \"LogAppendTime\"\n") == topics.size());
    const auto terraform = tools::print_topics(topics, "beckon.", "terraform");
    CHECK(count(terraform, "resource \"kafka_topic\" ") == topics.size());
    CHECK(count(terraform, "\" = \"") == settings);
    for (const auto& topic : topics) {
        const auto name = "beckon." + topic.topic.name();
        CHECK(count(commands, " --topic " + name + " ") == 1);
        CHECK(count(strimzi, "  topicName: " + name + "\n") == 1);
        CHECK(count(terraform, "= \"" + name + "\"\n") == 1);
    }
}

TEST_CASE("names of Kubernetes and Terraform have neither dots nor underscores") {
    const auto strimzi = tools::print_topics(table(), "a_b.", "strimzi");
    CHECK(strimzi.find("  name: a-b-retry-done\n") != std::string::npos);
    const auto terraform = tools::print_topics(table(), "a_b.", "terraform");
    CHECK(terraform.find("\"a-b-retry-done\" {\n") != std::string::npos);
}
