#pragma once

#include "app/process/housekeeping.hpp"
#include "core/result.hpp"
#include "log/topics_admin.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace beckon::app {

/// Notices within a minute that somebody has deleted a log topic of a running process, or has
/// changed a setting that a promise rests on. Both are a warning of /ready, a metric, and a line in
/// the log; a role that cannot work without a topic that is gone is not ready either. A topic
/// counts as gone once two looks in a row have missed it.
class TopicsWatch {
public:
    /// Sooner than Alertmanager's usual group_wait, so that this alert mutes those that follow.
    static constexpr std::chrono::seconds kLookEvery{20};
    /// A second look at topics that are missed, and a look where the last one failed.
    static constexpr std::chrono::seconds kLookAgain{5};

    /// The topics as they are now: with the partitions and replicas of `known`, or, where `known`
    /// is empty, all from the log. May wait some seconds for it. Errors: those of log::TopicsAdmin.
    using Ask = std::function<core::Result<log::Existing>(const log::Existing& known)>;

    struct Options {
        std::string role;
        std::string prefix;  ///< of the topics, in what people read
        std::vector<log::TopicSpec> table;
    };
    /// `health` and `metrics` outlive it. The start has just checked the topics.
    TopicsWatch(Options options, Ask ask, ops::Health& health, ops::Metrics& metrics);

    /// A chore. Does nothing while Health's part "log" is not ready.
    void look();
    /// Judges what was found.
    void judge(const log::Existing& found);

private:
    void report(const std::set<log::Topic>& gone, const log::TopicsPlan& plan);

    const Options options_;
    const Ask ask_;
    ops::Health& health_;
    prometheus::Gauge& wrong_;
    Due due_;
    log::Existing known_;          ///< once found: partitions and replicas stay
    std::set<log::Topic> missed_;  ///< by the last look
    std::string reported_;         ///< what is wrong; empty: nothing
    bool asked_well_ = true;
};

/// From Kafka, with a client that lives as long as the question: a password that was renewed
/// counts, and no further connection stays open.
TopicsWatch::Ask ask_kafka(const log::KafkaConfig& config);

}  // namespace beckon::app
