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

/// The groups that read the log, and their positions, for tools that show lag. Other programs'
/// groups are among them, so topics and groups have the cluster's names, with the prefix. Its calls
/// block: they run on a thread of their own and never on a loop.
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
    std::string owner{};  ///< the member that reads it, as a person names it; empty: none is known
    bool operator==(const GroupPosition&) const = default;
};

/// All groups at one moment.
struct GroupsSnapshot {
    std::vector<GroupPosition> positions;  ///< sorted by group, topic and partition
    /// How long each topic that deletes by age keeps its records.
    std::map<std::string, std::chrono::milliseconds> retention;
    std::vector<std::string> problems;  ///< failed queries, one sentence each
};

class Groups {
public:
    virtual ~Groups() = default;

    /// Asks the whole cluster; gives up soon after `stop`. Positions that a part of the cluster did
    /// not answer are left out and named in `problems`. Errors: unavailable, timed_out,
    /// unauthorized.
    virtual core::Result<GroupsSnapshot> poll(const std::stop_token& stop) = 0;

    /// The append time of the first record at or after `offset`; nullopt: there is none yet.
    /// Errors: unavailable, timed_out, not_found.
    virtual core::Result<std::optional<core::Timestamp>> append_time(
        const NamedPartition& where, core::Offset offset, const std::stop_token& stop) = 0;
};

/// The most groups of a cluster that are listed: each costs a client of librdkafka with threads of
/// its own. Of more groups the first by name are listed, and `problems` says so.
inline constexpr std::size_t kGroupsMax = 100;

/// Any consumer group of the cluster that Kafka knows. Throws std::runtime_error as open_kafka_log
/// does.
std::unique_ptr<Groups> open_kafka_groups(const KafkaConfig& config);

struct OwnGroup {
    std::string name;
    std::vector<TopicPartition> partitions;
    std::string owner;
};

/// Beckon's own groups, by name, asked through EventLog: for logs without other groups. `log`
/// outlives it.
std::unique_ptr<Groups> open_own_groups(EventLog& log, std::vector<OwnGroup> groups,
                                        std::map<std::string, std::chrono::milliseconds> retention);

}  // namespace beckon::log
