#pragma once

#include "core/result.hpp"
#include "log/topic.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// `beckon topics` and the check that every role makes at start: which log topics exist and with
/// which settings. The table of all topics is `topic_table`; blocking calls, main thread only.
namespace beckon::log {

struct TopicSpec {
    Topic topic;
    core::Partition partitions = 1;
    int replication_factor = 1;
    /// Kafka's names, e.g. cleanup.policy=compact,delete; LogAppendTime is in all of them.
    std::map<std::string, std::string> settings;
};

struct LayoutOptions {
    core::Partition partitions = 16;
    int replication_factor = 3;
    std::vector<std::chrono::seconds> tiers;  ///< delays of retry.0 … retry.N
    std::chrono::seconds history_window{std::chrono::hours{24}};
    std::chrono::seconds max_ttl{std::chrono::hours{24 * 30}};
};

/// FORMATS "Numbers".
std::vector<std::chrono::seconds> default_tiers();

/// Every topic of DESIGN §3 with its partition count and clean-up settings: the one table.
std::vector<TopicSpec> topic_table(const LayoutOptions& options);

/// A topic as it is: `spec.settings` holds those that the table names.
using Existing = std::map<Topic, TopicSpec>;

class TopicsAdmin {
public:
    virtual ~TopicsAdmin() = default;
    virtual core::Result<Existing> describe() = 0;
    /// Creates what is missing and waits until every partition has a leader (facts/kafka.md §1).
    virtual core::Result<void> create(const std::vector<TopicSpec>& missing) = 0;
    virtual core::Result<void> destroy(const std::vector<Topic>& topics) = 0;
};

}  // namespace beckon::log
