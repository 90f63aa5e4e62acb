#pragma once

#include "core/result.hpp"
#include "log/topic.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// `beckon topics` and the check that every role makes at start: which log topics exist and with
/// which settings. The table of all topics is `topic_table`; blocking calls, main thread only.
namespace beckon::log {

struct KafkaConfig;

struct TopicSpec {
    Topic topic;
    core::Partition partitions = 1;
    int replication_factor = 1;
    /// Kafka's names, e.g. cleanup.policy=compact,delete; LogAppendTime is in all of them.
    std::map<std::string, std::string> settings;
    bool operator==(const TopicSpec&) const = default;
};

/// Partitions of each topic keyed by UAID in a new log, unless configured: 2, 3, 4, 6 and 12 edges
/// share them evenly, and each one costs a produce request
/// (docs/operations/sizing.md#how-many-partitions).
inline constexpr core::Partition kDefaultPartitions = 12;

struct LayoutOptions {
    core::Partition partitions =
        0;  ///< 0: those of the log that exists, kDefaultPartitions of a new one
    int replication_factor = 3;
    std::vector<std::chrono::seconds> tiers;  ///< delays of retry.0 … retry.N
    std::chrono::seconds history_window{std::chrono::hours{24}};
    std::chrono::seconds max_ttl{std::chrono::hours{24 * 30}};
};

/// The delays of the retry topics, unless configured.
std::vector<std::chrono::seconds> default_tiers();

/// Every log topic that something reads, with its partition count and clean-up settings: the one
/// table.
/// At most Topic::kTiersMax tiers. A replication factor of 1 allows only min.insync.replicas=1:
/// acks=all is then one broker's memory; with more it is 2.
std::vector<TopicSpec> topic_table(const LayoutOptions& options);

/// A topic as it is: `spec.settings` holds those that the table names.
using Existing = std::map<Topic, TopicSpec>;

/// Something that is not as the table has it.
struct Difference {
    Topic topic;
    std::string what;  ///< "partitions", "replication.factor", or the name of a setting
    std::string is;
    std::string expected;
    /// Beckon's promises depend on it, so no role starts; otherwise it is the operator's choice
    /// and only named.
    bool essential = false;
    bool operator==(const Difference&) const = default;
};

/// The plan of `topics create`.
struct TopicsPlan {
    std::vector<TopicSpec> missing;
    std::vector<Difference> differences;
    std::size_t as_expected = 0;  ///< topics that exist and need nothing
    bool operator==(const TopicsPlan&) const = default;
};

/// Compares the existing topics with the table. Pure. An existing topic's replication factor is
/// accepted, unless it is 1 and the table has more: one copy cannot keep promise 1, so the operator
/// has to ask for it. min.insync.replicas is expected to fit.
TopicsPlan plan(const std::vector<TopicSpec>& table, const Existing& existing);

/// One line each, for people.
std::string to_string(const TopicSpec& spec, const std::string& prefix);
std::string to_string(const Difference& difference, const std::string& prefix);
std::string to_string(const TopicsPlan& plan, const std::string& prefix);
/// The differences with which no role starts, in one line, with a remedy if there is one; empty:
/// there are none.
std::string essential_differences(const TopicsPlan& plan, const std::string& prefix);

class TopicsAdmin {
public:
    virtual ~TopicsAdmin() = default;
    /// The topics of the table that exist. Errors: unavailable, unauthorized.
    virtual core::Result<Existing> describe() = 0;
    /// The settings that `known` topics have now, without those that are gone; partitions and
    /// replicas as in `known`. Asks for nothing else of the cluster, and waits three seconds at
    /// most. Errors: those of describe(), timed_out.
    virtual core::Result<Existing> settings_of(Existing known) = 0;
    /// Creates missing topics and waits until every partition has a leader (docs/facts/kafka.md).
    /// Errors: those of describe(), timed_out, invalid (the broker refuses it: its reason is in the
    /// message).
    virtual core::Result<void> create(const std::vector<TopicSpec>& missing) = 0;
    /// Returns when no broker lists them any more. An unknown topic is no error.
    /// Errors: those of describe(), timed_out.
    virtual core::Result<void> destroy(const std::vector<Topic>& topics) = 0;
    /// The id that the brokers give their cluster; empty where they give none. Needs no right.
    /// Errors: those of describe().
    virtual core::Result<std::string> cluster_id() = 0;
};

/// Kafka's. Does not wait for a broker; throws std::runtime_error as open_kafka_log does.
std::unique_ptr<TopicsAdmin> open_kafka_admin(const KafkaConfig& config);

/// Settings of the topics as the brokers have them, where a role must not rely on the table alone.
struct TopicFacts {
    /// How long tombstones are kept: trust in a checkpoint rests on it (fold/opening.hpp).
    std::chrono::milliseconds delete_retention{};
    /// The least max.message.bytes of all topics (KafkaConfig::message_bytes_max).
    std::size_t message_bytes_max = 0;
};
TopicFacts facts_of(const Existing& existing);

/// The check that every role makes at its start. A retention below the one of the table breaks a
/// promise; a longer one does not. Differences that are not essential are logged as warnings.
/// Errors: not_found (topics are missing), conflict (essential differences: all of them are in the
/// message, both values each), and those of describe().
core::Result<TopicFacts> check_topics(TopicsAdmin& admin, const std::vector<TopicSpec>& table);

/// Whether the log that was made at the cluster `made_at` (Control::cluster) is still there. A copy
/// at another cluster has the same records at other offsets, so stores and recorded offsets are
/// wrong until `beckon topics adopt` has made the copy a log of its own. Nothing is said where one
/// of the two clusters has no id. Errors: conflict (both ids are in the message), those of
/// TopicsAdmin::cluster_id().
core::Result<void> check_cluster(TopicsAdmin& admin, const std::string& made_at);

}  // namespace beckon::log
