#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

/// The groups that read the log, and their positions, for tools that show lag. Not only our own
/// groups, so topics and groups are named as the cluster names them, with the prefix. Blocking
/// calls, on one thread of their own and never on a loop.
namespace beckon::log {

struct KafkaConfig;

/// A partition by its full name.
struct NamedPartition {
    std::string topic;
    core::Partition partition = 0;
    auto operator<=>(const NamedPartition&) const = default;
};

/// How far one group has come in one partition.
struct GroupPosition {
    std::string group;
    NamedPartition where;
    core::Offset position = 0;  ///< of the next record to read
    Ends ends;
    std::string owner;  ///< the member that reads it, as a person names it; empty: none is known
    bool operator==(const GroupPosition&) const = default;
};

/// All groups at one moment.
struct GroupsSnapshot {
    std::vector<GroupPosition> positions;  ///< sorted by group, topic and partition
    /// How long a topic keeps its records, for those that delete by age.
    std::map<std::string, std::chrono::milliseconds> retention;
    std::vector<std::string> problems;  ///< what could not be asked, one sentence each
};

class Groups {
public:
    virtual ~Groups() = default;

    /// Asks for everything; gives up soon after `stop`. What only a part of the cluster did not
    /// answer is left out and named in `problems`. Errors: unavailable, timed_out, unauthorized.
    virtual core::Result<GroupsSnapshot> poll(const std::stop_token& stop) = 0;

    /// The append time of the first record at or after `offset`; nullopt: there is none yet.
    /// Errors: unavailable, timed_out, not_found.
    virtual core::Result<std::optional<core::Timestamp>> append_time(
        const NamedPartition& where, core::Offset offset, const std::stop_token& stop) = 0;
};

/// Groups of a cluster that are listed. Each costs a client of librdkafka with threads of its own,
/// so of more the first by name are listed, and `problems` says so.
inline constexpr std::size_t kGroupsMax = 100;

/// Any consumer group of the cluster that Kafka knows. Throws std::runtime_error as open_kafka_log
/// does.
std::unique_ptr<Groups> open_kafka_groups(const KafkaConfig& config);

struct OwnGroup {
    std::string name;
    std::vector<TopicPartition> partitions;
    std::string owner;
};

/// Groups of ours that are known by name, asked through EventLog: for logs that have no others.
/// `log` outlives it.
std::unique_ptr<Groups> open_own_groups(EventLog& log, std::vector<OwnGroup> groups,
                                        std::map<std::string, std::chrono::milliseconds> retention);

}  // namespace beckon::log
