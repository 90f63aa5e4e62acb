#include "tools/doctor/rights_check.hpp"

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "log/blocking_executor.hpp"
#include "log/event_log.hpp"
#include "log/kafka/kafka_log.hpp"
#include "log/read_partition.hpp"
#include "records/barrier.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace beckon::tools {

namespace {

using app::Reader;
using core::Fault;
using log::Topic;

constexpr std::chrono::seconds kAnswerMax{10};
constexpr std::chrono::milliseconds kLookEvery{20};
/// The partition that is tried: rights are by topic.
constexpr core::Partition kTried = 0;

/// The topics of the delay tiers, of dead letters and of what is finished.
std::vector<Topic> retry_topics(const std::vector<std::chrono::seconds>& delays) {
    std::vector<Topic> topics{Topic::kRetryDead, Topic::kRetryDone};
    for (auto at = delays.begin(); at != delays.end(); ++at) {
        // Equal delays share the topic of the first of them.
        if (std::find(delays.begin(), at, *at) != at) continue;
        topics.push_back(Topic::retry(static_cast<int>(at - delays.begin())));
    }
    return topics;
}

std::vector<Topic> operator+(std::vector<Topic> topics, const std::vector<Topic>& more) {
    topics.insert(topics.end(), more.begin(), more.end());
    return topics;
}

class Trial {
public:
    Trial(const app::Config& config, const RoleRights& rights)
        : log_(log::open_kafka_log(config.kafka)),
          publisher_(log_->open_publisher(executor_)),
          prefix_(config.kafka.prefix),
          node_(core::NodeId::random().text) {
        for (const auto topic : rights.writes) write(topic);
        for (const auto topic : rights.reads) read(topic);
        if (!rights.groups.empty()) join(rights.groups + ".doctor");
    }

    /// By topic or group and operation; nothing where it was allowed.
    std::map<std::string, std::optional<core::Error>> outcome() {
        const auto until = clock_.mono() + kAnswerMax;
        const auto all = [this] {
            return std::all_of(outcome_.begin(), outcome_.end(),
                               [](const auto& one) { return one.second.has_value(); });
        };
        while (clock_.mono() < until && !all()) {
            for (auto& [what, reader] : readers_) look(what, reader);
            look_at_group();
            executor_.wait_until(all, clock_.mono() + kLookEvery);
        }
        std::map<std::string, std::optional<core::Error>> found;
        for (const auto& [what, answer] : outcome_) {
            if (!answer) {
                found[what] = core::Error{Fault::timed_out, "no answer"};
            } else if (!*answer) {
                found[what] = answer->error();
            } else {
                found[what] = std::nullopt;
            }
        }
        return found;
    }

private:
    void write(Topic topic) {
        const auto what = "Write on the topic " + prefix_ + topic.name();
        outcome_[what];
        publisher_->publish({topic, kTried}, core::encode(core::BarrierRecord{.node = node_}),
                            [this, what](const core::Result<log::Appended>& done) {
                                outcome_[what] =
                                    done ? core::Result<void>{} : core::fail(done.error());
                            });
    }

    void read(Topic topic) {
        const auto what = "Read on the topic " + prefix_ + topic.name();
        outcome_[what];
        const auto ends = log::ends_of(*log_, log::TopicPartition{topic, kTried}, kAnswerMax);
        if (!ends) {
            outcome_[what] = core::fail(ends.error());
            return;
        }
        readers_[what] = log_->open_reader({topic, kTried}, ends->end, executor_, [] {});
    }

    void look(const std::string& what, std::unique_ptr<log::PartitionReader>& reader) {
        if (!reader) return;
        const auto taken = reader->take(1, [](const core::RecordView&) {});
        if (taken) {
            outcome_[what] = core::Result<void>{};
        } else if (!taken.error().retryable()) {
            outcome_[what] = core::fail(taken.error());
        } else {
            return;
        }
        reader.reset();
    }

    void join(const std::string& group) {
        group_ = prefix_ + group;
        const auto what = right_to_join();
        outcome_[what];
        member_ = log_->join({.group = group, .self = core::NodeId{node_}}, executor_,
                             [this, what](const log::Members& members) {
                                 const auto& alive = members.alive;
                                 const auto self =
                                     std::find(alive.begin(), alive.end(), core::NodeId{node_});
                                 if (self != alive.end()) outcome_[what] = core::Result<void>{};
                             });
    }
    std::string right_to_join() const { return "Read on the group " + group_; }

    /// A refusal ends no join: its member tries again.
    void look_at_group() {
        if (group_.empty() || !log::has_refused_group(*log_, group_)) return;
        const auto what = right_to_join();
        outcome_[what] = core::fail(Fault::unauthorized, "the broker refuses " + what);
    }

    const core::SystemClock clock_;
    log::BlockingExecutor executor_;
    const std::unique_ptr<log::EventLog> log_;
    const std::unique_ptr<log::Publisher> publisher_;
    const std::string prefix_;
    const std::string node_;
    std::string group_;  ///< the one to join, its whole name; empty: the role has none
    std::map<std::string, std::optional<core::Result<void>>> outcome_;
    std::map<std::string, std::unique_ptr<log::PartitionReader>> readers_;
    std::unique_ptr<log::Member> member_;
};

}  // namespace

RoleRights rights_of(Reader role, const std::vector<std::chrono::seconds>& delays) {
    switch (role) {
        case Reader::endpoint:
            return {.reads = {Topic::kControl, Topic::kSubscriptions, Topic::kWebhooks,
                              Topic::kEvents, Topic::kReliabilityTotals, Topic::kOwnership},
                    .writes = {Topic::kControl, Topic::kNotifications, Topic::kSubscriptions,
                               Topic::kEvents, Topic::kWebhooks, Topic::kReliability,
                               Topic::kReliabilityTotals, Topic::kOwnership},
                    .groups = "endpoint"};
        case Reader::edge:
            return {.reads = {Topic::kControl, Topic::kNotifications, Topic::kSubscriptions,
                              Topic::kOwnership, Topic::kBroadcasts, Topic::kWebhooks},
                    .writes = {Topic::kNotifications, Topic::kSubscriptions, Topic::kOwnership,
                               Topic::kBroadcasts, Topic::kEvents, Topic::kWebhooks,
                               Topic::kReliability},
                    .groups = "edge"};
        case Reader::retry:
            return {.reads = std::vector{Topic::kControl, Topic::kOwnership, Topic::kEvents,
                                         Topic::kWebhooks, Topic::kSubscriptions} +
                             retry_topics(delays),
                    .writes = std::vector{Topic::kOwnership, Topic::kEvents, Topic::kWebhooks,
                                          Topic::kSubscriptions, Topic::kNotifications,
                                          Topic::kReliability} +
                              retry_topics(delays),
                    .groups = "retry"};
        case Reader::reliability:
            return {.reads = {Topic::kControl, Topic::kOwnership, Topic::kReliability,
                              Topic::kReliabilityTotals},
                    .writes = {Topic::kOwnership, Topic::kReliability, Topic::kReliabilityTotals},
                    .groups = "reliability"};
        case Reader::console:
            return {.reads = std::vector{Topic::kControl, Topic::kNotifications,
                                         Topic::kSubscriptions, Topic::kOwnership,
                                         Topic::kBroadcasts, Topic::kEvents, Topic::kWebhooks,
                                         Topic::kReliability, Topic::kReliabilityTotals} +
                             retry_topics(delays),
                    .writes = {Topic::kReliabilityTotals, Topic::kOwnership},
                    .groups = {}};
        default: return {};
    }
}

Findings check_rights(const app::Config& config, const log::Control& control, Reader role) {
    Trial trial{config, rights_of(role, control.tiers)};
    Findings findings;
    const auto outcome = trial.outcome();
    for (const auto& [what, error] : outcome) {
        if (!error) continue;
        const bool refused = error->fault == Fault::unauthorized;
        findings.push_back(
            {Verdict::bad, "rights",
             refused ? "the broker refuses " + what : what + ": " + error->message,
             refused
                 ? "grant it: docs/operations/rights.md#rights-on-a-locked-kafka has the commands"
                 : "look at the brokers"});
    }
    if (findings.empty()) {
        findings.push_back({.what = "rights",
                            .detail = std::to_string(outcome.size()) +
                                      " topics and groups, each with what the role does there"});
    }
    return findings;
}

}  // namespace beckon::tools
