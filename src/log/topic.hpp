#pragma once

#include "core/partition.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::log {

/// A log topic, without the prefix. A small value: an index into the topic table.
class Topic {
public:
    static const Topic kNotifications;
    static const Topic kSubscriptions;
    static const Topic kOwnership;
    static const Topic kBroadcasts;
    static const Topic kRetryDead;
    static const Topic kRetryDone;
    static const Topic kEvents;
    static const Topic kWebhooks;
    static const Topic kReliability;
    static const Topic kControl;
    static const Topic kReliabilityTotals;

    static constexpr int kTiersMax = 32;
    static constexpr int kFixed = 11;
    /// Topics have indexes 0 … kCount-1.
    static constexpr int kCount = kFixed + kTiersMax;

    /// `retry.<tier>`, 0 ≤ tier < kTiersMax.
    static Topic retry(int tier);
    static Topic from_index(int index);
    /// "notifications", "retry.3"; nullopt for another name.
    static std::optional<Topic> parse(std::string_view name);

    /// The name without the prefix.
    std::string name() const;
    int index() const { return index_; }
    auto operator<=>(const Topic&) const = default;

private:
    explicit constexpr Topic(int index) : index_(static_cast<std::uint8_t>(index)) {}
    std::uint8_t index_;
};

inline constexpr Topic Topic::kNotifications{0};
inline constexpr Topic Topic::kSubscriptions{1};
inline constexpr Topic Topic::kOwnership{2};
inline constexpr Topic Topic::kBroadcasts{3};
inline constexpr Topic Topic::kRetryDead{4};
inline constexpr Topic Topic::kRetryDone{5};
inline constexpr Topic Topic::kEvents{6};
inline constexpr Topic Topic::kWebhooks{7};
inline constexpr Topic Topic::kReliability{8};
inline constexpr Topic Topic::kControl{9};
inline constexpr Topic Topic::kReliabilityTotals{10};

struct TopicPartition {
    Topic topic;
    core::Partition partition = 0;
    auto operator<=>(const TopicPartition&) const = default;
};

/// How many partitions a topic has in the logs that live in the process (memory, embedded):
/// `partitions` everywhere but in the three topics that are one sequence.
inline core::Partition partitions_of(Topic topic, core::Partition partitions) {
    const bool single =
        topic == Topic::kOwnership || topic == Topic::kBroadcasts || topic == Topic::kControl;
    return single ? 1 : partitions;
}

inline bool exists(const TopicPartition& where, core::Partition partitions) {
    return where.partition >= 0 && where.partition < partitions_of(where.topic, partitions);
}

}  // namespace beckon::log
