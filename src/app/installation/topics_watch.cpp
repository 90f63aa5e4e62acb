#include "app/installation/topics_watch.hpp"

#include "core/ascii.hpp"
#include "core/logger.hpp"
#include "log/kafka/kafka_log.hpp"
#include "ops/metric_names.hpp"

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>

namespace beckon::app {

namespace {

using log::Topic;

constexpr const char* kPart = "topics";

/// The topics without which a role cannot do its main work. (Any other that is gone is a warning.)
bool needs(std::string_view role, Topic topic) {
    const auto is_one_of = [topic](std::initializer_list<Topic> topics) {
        return std::ranges::find(topics, topic) != topics.end();
    };
    if (topic == Topic::kControl) return true;
    if (role == "endpoint") return is_one_of({Topic::kNotifications, Topic::kSubscriptions});
    if (role == "edge") {
        return is_one_of({Topic::kNotifications, Topic::kSubscriptions, Topic::kOwnership});
    }
    if (role == "retry") {
        return topic.index() >= Topic::kFixed ||  // a delay topic
               is_one_of({Topic::kEvents, Topic::kWebhooks, Topic::kRetryDead, Topic::kRetryDone,
                          Topic::kOwnership});
    }
    if (role == "reliability") {
        return is_one_of({Topic::kReliability, Topic::kReliabilityTotals, Topic::kOwnership});
    }
    return false;
}

std::string names_of(const std::set<Topic>& topics, const std::string& prefix) {
    return core::joined(topics, ", ", [&](Topic topic) { return prefix + topic.name(); });
}

}  // namespace

TopicsWatch::TopicsWatch(Options options, Ask ask, ops::Health& health, ops::Metrics& metrics)
    : options_(std::move(options)),
      ask_(std::move(ask)),
      health_(health),
      wrong_(metrics.gauge(ops::metric::kLogWrongTopics,
                           "Log topics that are gone, or have a setting with which no role "
                           "starts.")) {
    due_.in(kLookEvery);
}

void TopicsWatch::look() {
    if (!due_.every(kLookEvery)) return;
    if (!health_.fault("log").empty()) return due_.in(kLookAgain);
    const bool all = known_.size() < options_.table.size();
    const auto found = ask_(all ? log::Existing{} : known_);
    if (!found) {
        if (std::exchange(asked_well_, false)) {
            core::log_warn("app", "topics_not_checked", {{"why", found.error().message}});
        }
        return due_.in(kLookAgain);
    }
    asked_well_ = true;
    if (all) known_ = *found;
    judge(*found);
}

void TopicsWatch::judge(const log::Existing& found) {
    const auto plan = log::plan(options_.table, found);
    std::set<Topic> missed;
    for (const auto& spec : plan.missing) missed.insert(spec.topic);
    std::set<Topic> gone;
    std::set_intersection(missed.begin(), missed.end(), missed_.begin(), missed_.end(),
                          std::inserter(gone, gone.end()));
    if (gone != missed) due_.in(kLookAgain);
    missed_ = std::move(missed);
    report(gone, plan);
}

void TopicsWatch::report(const std::set<Topic>& gone, const log::TopicsPlan& plan) {
    auto wrong = gone;
    for (const auto& difference : plan.differences) {
        if (difference.essential) wrong.insert(difference.topic);
    }
    wrong_.Set(static_cast<double>(wrong.size()));
    auto why = log::essential_differences(plan, options_.prefix);
    if (!gone.empty()) {
        why = "log topics are gone: " + names_of(gone, options_.prefix) +
              (why.empty() ? "" : "; " + why);
    }
    std::set<Topic> needed;
    std::ranges::copy_if(gone, std::inserter(needed, needed.end()),
                         [this](Topic topic) { return needs(options_.role, topic); });
    health_.set_ready(kPart, needed.empty(),
                      "the log topic is gone: " + names_of(needed, options_.prefix));
    health_.set_warning(kPart, why);
    if (why == std::exchange(reported_, why)) return;
    if (!why.empty()) return core::log_error("app", "topics_wrong", {{"why", why}});
    core::log_info("app", "topics_right_again", {});
}

TopicsWatch::Ask ask_kafka(const log::KafkaConfig& config) {
    return [config](const log::Existing& known) -> core::Result<log::Existing> {
        try {
            const auto admin = log::open_kafka_admin(config);
            return known.empty() ? admin->describe() : admin->settings_of(known);
        } catch (const std::exception& error) {
            return core::fail(core::Fault::unavailable, error.what());
        }
    };
}

}  // namespace beckon::app
