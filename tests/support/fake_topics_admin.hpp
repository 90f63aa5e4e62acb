#pragma once

#include "log/topics_admin.hpp"

#include <stdexcept>
#include <vector>

/// A Kafka cluster's log topics without a cluster.
namespace beckon::test {

using log::Existing;
using log::LayoutOptions;
using log::Topic;
using log::TopicSpec;

inline LayoutOptions layout(int replication_factor = 3) {
    return {.partitions = 8,
            .replication_factor = replication_factor,
            .tiers = {std::chrono::seconds{0}, std::chrono::seconds{5}}};
}

inline TopicSpec spec_of(Topic topic, const LayoutOptions& options) {
    for (const auto& spec : log::topic_table(options)) {
        if (spec.topic == topic) return spec;
    }
    throw std::logic_error("not in the table: " + topic.name());
}

inline Existing all_of(const LayoutOptions& options) {
    Existing existing;
    for (const auto& spec : log::topic_table(options)) existing.emplace(spec.topic, spec);
    return existing;
}

/// A cluster that lives in a map.
class FakeAdmin final : public log::TopicsAdmin {
public:
    core::Result<Existing> describe() override { return existing; }
    core::Result<Existing> settings_of(Existing known) override {
        std::erase_if(known, [this](const auto& item) { return !existing.contains(item.first); });
        for (auto& [topic, spec] : known) spec.settings = existing.at(topic).settings;
        return known;
    }
    core::Result<void> create(const std::vector<TopicSpec>& missing) override {
        for (const auto& spec : missing) existing.emplace(spec.topic, spec);
        created += missing.size();
        return {};
    }
    core::Result<void> destroy(const std::vector<Topic>& topics) override {
        for (const auto topic : topics) existing.erase(topic);
        return {};
    }
    core::Result<std::string> cluster_id() override { return cluster; }
    std::string cluster = "cluster-a";
    Existing existing;
    std::size_t created = 0;
};

}  // namespace beckon::test
