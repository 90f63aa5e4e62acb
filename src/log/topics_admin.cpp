#include "log/topics_admin.hpp"

#include "core/ascii.hpp"
#include "core/assert.hpp"
#include "core/decimal.hpp"
#include "core/logger.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace beckon::log {

using core::Fault;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

using Settings = std::map<std::string, std::string>;

constexpr hours kDay{24};
/// Longer than any copy of the state stays away; one that was away longer is built anew.
constexpr hours kDeleteRetention = 7 * kDay;
constexpr hours kRetryRetention = 14 * kDay;
constexpr hours kDeadRetention = 30 * kDay;
/// A dead letter may name its event, which was posted up to seven days before (retry.age_max).
constexpr hours kEventsRetention = kDeadRetention + 7 * kDay;
constexpr hours kReliabilityRetention = 60 * kDay;
/// Finished messages are gone at the latest so long after the history window.
constexpr hours kCompactionSlack{1};

constexpr const char* kMinInsync = "min.insync.replicas";
constexpr const char* kDeleteRetentionMs = "delete.retention.ms";
/// Kafka's default, above kRecordBytesMax and its framing; a smaller one refuses records that the
/// endpoint accepts.
constexpr const char* kMessageBytesMax = "max.message.bytes";
constexpr std::size_t kMessageBytesDefault = 1'048'588;

std::string ms(milliseconds duration) { return std::to_string(duration.count()); }

constexpr const char* kPartitions = "partitions";
constexpr const char* kReplicationFactor = "replication.factor";
/// Retention deletes by age and never by size: a limit of bytes would delete messages that wait.
constexpr const char* kRetentionBytes = "retention.bytes";
constexpr const char* kUnlimited = "-1";
/// Promise 1 needs so many brokers that have a message before its 201.
constexpr int kCopiesMin = 2;

std::string min_insync(int replication_factor) {
    return replication_factor >= kCopiesMin ? "2" : "1";
}

Settings common(const LayoutOptions& options) {
    return {{"message.timestamp.type", "LogAppendTime"},
            {kMinInsync, min_insync(options.replication_factor)},
            {"unclean.leader.election.enable", "false"},
            {kMessageBytesMax, std::to_string(kMessageBytesDefault)}};
}

/// The active segment is never compacted, so it must not grow old.
Settings compacted(const LayoutOptions& options, milliseconds segment) {
    auto settings = common(options);
    settings.insert({{"cleanup.policy", "compact"},
                     {"min.cleanable.dirty.ratio", "0.1"},
                     {kDeleteRetentionMs, ms(kDeleteRetention)},
                     {"segment.ms", ms(segment)}});
    return settings;
}

/// Nothing is removed within the history window: `replay` shows every event of it.
Settings with_history(Settings settings, const LayoutOptions& options) {
    settings["min.compaction.lag.ms"] = ms(options.history_window);
    settings["max.compaction.lag.ms"] = ms(options.history_window + kCompactionSlack);
    return settings;
}

Settings deleted(const LayoutOptions& options, milliseconds retention) {
    auto settings = common(options);
    settings.insert({{"cleanup.policy", "delete"},
                     {"retention.ms", ms(retention)},
                     {kRetentionBytes, kUnlimited}});
    return settings;
}

Settings notifications(const LayoutOptions& options) {
    auto settings = with_history(compacted(options, hours{1}), options);
    settings["cleanup.policy"] = "compact,delete";
    settings["retention.ms"] = ms(options.max_ttl + kDay);
    settings[kRetentionBytes] = kUnlimited;
    return settings;
}

std::optional<milliseconds> duration_of(std::string_view text) {
    const auto count = core::parse_decimal<std::int64_t>(text);
    if (!count) return std::nullopt;
    return *count < 0 ? milliseconds::max() : milliseconds{*count};  // Kafka's -1: for ever
}

/// A topic that keeps records for less time than the table says may lose records that are still
/// needed: a message before its TTL is over, a tombstone before every copy has read it, an event
/// within the history window. Operators may keep them for longer.
bool is_shorter(std::string_view setting, std::string_view is, std::string_view expected) {
    constexpr std::array kKept = {std::string_view{"retention.ms"},
                                  std::string_view{kDeleteRetentionMs},
                                  std::string_view{"min.compaction.lag.ms"}};
    if (std::find(kKept.begin(), kKept.end(), setting) == kKept.end()) return false;
    const auto kept = duration_of(is);
    const auto needed = duration_of(expected);
    return !kept || (needed && *kept < *needed);
}

bool is_fewer(std::string_view is, std::string_view expected) {
    return core::parse_decimal<core::Partition>(is).value_or(0) <
           core::parse_decimal<core::Partition>(expected).value_or(0);
}

/// The promises depend on these settings: acknowledgements, retention, and the source of append
/// times.
bool is_essential(Topic topic, std::string_view setting, std::string_view is,
                  std::string_view expected) {
    // Records go to the partitions that `control` counts, and Kafka cannot take others away.
    if (setting == kPartitions) return is_fewer(is, expected);
    // How far back reports go is the operator's choice: no promise rests on it.
    const bool is_less = setting == kRetentionBytes || is_shorter(setting, is, expected);
    if (is_less) return topic != Topic::kReliability;
    constexpr std::array kEssential = {
        std::string_view{kReplicationFactor},
        std::string_view{"cleanup.policy"},
        std::string_view{"message.timestamp.type"},
        std::string_view{kMinInsync},
        std::string_view{"unclean.leader.election.enable"},
    };
    return std::find(kEssential.begin(), kEssential.end(), setting) != kEssential.end();
}

/// The error where a single copy is not accepted.
std::string remedy(const TopicsPlan& plan) {
    const bool one_copy =
        std::any_of(plan.differences.begin(), plan.differences.end(),
                    [](const auto& difference) { return difference.what == kReplicationFactor; });
    return one_copy ? "; a single copy of the log cannot keep promise 1 (a message that was "
                      "answered 201 is lost with its broker): give the topics more replicas, or "
                      "accept it for a trial with --replication-factor 1"
                    : "";
}

/// "compact,delete" and "delete,compact" are one policy.
std::string normal(const std::string& name, const std::string& value) {
    if (name != "cleanup.policy" || value != "delete,compact") return value;
    return "compact,delete";
}

void compare(const TopicSpec& wanted, const TopicSpec& is, TopicsPlan& plan) {
    const auto before = plan.differences.size();
    const auto note = [&](const std::string& what, std::string now, std::string expected) {
        if (now == expected) return;
        const bool essential = is_essential(wanted.topic, what, now, expected);
        plan.differences.push_back(
            {wanted.topic, what, std::move(now), std::move(expected), essential});
    };
    note(kPartitions, std::to_string(is.partitions), std::to_string(wanted.partitions));
    if (is.replication_factor < kCopiesMin && wanted.replication_factor >= kCopiesMin) {
        note(kReplicationFactor, std::to_string(is.replication_factor),
             std::to_string(wanted.replication_factor));
    }
    for (const auto& [name, value] : wanted.settings) {
        const auto found = is.settings.find(name);
        const auto expected = name == kMinInsync ? min_insync(is.replication_factor) : value;
        note(name, found == is.settings.end() ? "(not reported)" : normal(name, found->second),
             normal(name, expected));
    }
    if (plan.differences.size() == before) ++plan.as_expected;
}

}  // namespace

std::vector<seconds> default_tiers() {
    return {seconds{0}, seconds{5}, minutes{1}, minutes{5}, minutes{30},
            hours{2},   hours{6},   hours{12},  hours{24}};
}

std::vector<TopicSpec> topic_table(const LayoutOptions& options) {
    BECKON_ASSERT(options.tiers.size() <= Topic::kTiersMax, "tiers fit Topic::kTiersMax");
    const auto p = options.partitions == 0 ? kDefaultPartitions : options.partitions;
    const auto rf = options.replication_factor;
    // Read barriers, leases and placements: written often, read whole at every start.
    const auto state = compacted(options, minutes{10});
    const auto slow_state = compacted(options, hours{1});
    std::vector<TopicSpec> table = {
        {Topic::kControl, 1, rf, slow_state},
        {Topic::kOwnership, 1, rf, state},
        {Topic::kBroadcasts, 1, rf, slow_state},
        {Topic::kNotifications, p, rf, notifications(options)},
        {Topic::kSubscriptions, p, rf, with_history(compacted(options, hours{1}), options)},
        {Topic::kRetryDead, p, rf, deleted(options, kDeadRetention)},
        {Topic::kRetryDone, p, rf, state},
        {Topic::kEvents, p, rf, deleted(options, kEventsRetention)},
        {Topic::kWebhooks, p, rf, slow_state},
        {Topic::kReliability, p, rf, deleted(options, kReliabilityRetention)},
        {Topic::kReliabilityTotals, 1, rf, state},
    };
    for (int tier = 0; tier < static_cast<int>(options.tiers.size()); ++tier) {
        table.push_back({Topic::retry(tier), p, rf, deleted(options, kRetryRetention)});
    }
    return table;
}

/// The retention is the least of the topics that stores are folded from.
TopicFacts facts_of(const Existing& existing) {
    TopicFacts facts{.delete_retention = milliseconds::max(),
                     .message_bytes_max = kMessageBytesDefault};
    for (const auto& [topic, spec] : existing) {
        const auto setting = spec.settings.find(kMessageBytesMax);
        if (setting == spec.settings.end()) continue;
        const auto bytes = core::parse_decimal<std::size_t>(setting->second);
        facts.message_bytes_max =
            std::min(facts.message_bytes_max, bytes.value_or(kMessageBytesDefault));
    }
    for (const auto topic : {Topic::kNotifications, Topic::kSubscriptions}) {
        const auto found = existing.find(topic);
        if (found == existing.end()) continue;
        const auto setting = found->second.settings.find(kDeleteRetentionMs);
        const auto kept =
            setting == found->second.settings.end() ? std::nullopt : duration_of(setting->second);
        facts.delete_retention = std::min(facts.delete_retention, kept.value_or(kDeleteRetention));
    }
    return facts;
}

TopicsPlan plan(const std::vector<TopicSpec>& table, const Existing& existing) {
    TopicsPlan plan;
    for (const auto& wanted : table) {
        const auto found = existing.find(wanted.topic);
        if (found == existing.end()) {
            plan.missing.push_back(wanted);
        } else {
            compare(wanted, found->second, plan);
        }
    }
    return plan;
}

std::string to_string(const TopicSpec& spec, const std::string& prefix) {
    auto line = prefix + spec.topic.name() + ": " + std::to_string(spec.partitions) +
                (spec.partitions == 1 ? " partition, " : " partitions, ") + "replication factor " +
                std::to_string(spec.replication_factor);
    for (const auto& [name, value] : spec.settings) {
        line.append(", ").append(name).append("=").append(value);
    }
    return line;
}

std::string to_string(const Difference& difference, const std::string& prefix) {
    return prefix + difference.topic.name() + ": " + difference.what + " is " + difference.is +
           ", expected " + difference.expected;
}

std::string to_string(const TopicsPlan& plan, const std::string& prefix) {
    std::string text;
    for (const auto& spec : plan.missing) text += "create  " + to_string(spec, prefix) + "\n";
    for (const auto& difference : plan.differences) {
        text +=
            (difference.essential ? "wrong   " : "differs ") + to_string(difference, prefix) + "\n";
    }
    text += std::to_string(plan.as_expected) + " log topics are as expected\n";
    return text;
}

std::string essential_differences(const TopicsPlan& plan, const std::string& prefix) {
    std::string text;
    for (const auto& difference : plan.differences) {
        if (!difference.essential) continue;
        text += (text.empty() ? "" : "; ") + to_string(difference, prefix);
    }
    return text + remedy(plan);
}

core::Result<TopicFacts> check_topics(TopicsAdmin& admin, const std::vector<TopicSpec>& table) {
    const auto existing = admin.describe();
    if (!existing) return core::fail(existing.error());
    const auto found = plan(table, *existing);
    if (!found.missing.empty()) {
        const auto names = core::joined(found.missing, ", ",
                                        [](const TopicSpec& spec) { return spec.topic.name(); });
        return core::fail(
            Fault::not_found,
            "log topics are missing, or the ACLs hide them from this user (Describe): " + names +
                ": run `beckon topics create`");
    }
    for (const auto& difference : found.differences) {
        if (difference.essential) continue;
        core::log_warn("log", "topic_differs",
                       {{"topic", difference.topic.name()},
                        {"setting", difference.what},
                        {"is", difference.is},
                        {"expected", difference.expected}});
    }
    const auto wrong = essential_differences(found, "");
    if (wrong.empty()) return facts_of(*existing);
    return core::fail(Fault::conflict, "log topics are not as Beckon needs them: " + wrong);
}

core::Result<void> check_cluster(TopicsAdmin& admin, const std::string& made_at) {
    const auto here = admin.cluster_id();
    if (!here) return core::fail(here.error());
    if (made_at.empty() || here->empty() || *here == made_at) return {};
    return core::fail(
        core::Fault::conflict,
        "these log topics are a copy: their log was made at the Kafka cluster " + made_at +
            ", and the brokers are the cluster " + *here +
            ", where the records have other offsets. Once the first cluster is off for good, run "
            "`beckon topics adopt` here; before that, start no role here");
}

}  // namespace beckon::log
