#pragma once

#include "core/clock.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace beckon::sim {

/// The clocks of one host. Its wall clock is wrong from the boot on until somebody sets it; its
/// monotonic clock runs too fast or too slow.
class HostClock final : public core::Clock {
public:
    explicit HostClock(const core::Clock& true_time)
        : true_clock_(true_time), booted_(true_time.mono()) {}

    core::Timestamp wall() const override { return true_clock_.wall() + wrong_by_; }
    core::MonoTime mono() const override {
        const auto up = true_clock_.mono() - booted_;
        return true_clock_.mono() + up / 1'000'000 * drift_;
    }

    void boot_with(std::chrono::milliseconds wrong_by, int drift_in_a_million) {
        wrong_by_ = wrong_by;
        drift_ = drift_in_a_million;
    }
    void step_wall(std::chrono::milliseconds by) { wrong_by_ += by; }

private:
    const core::Clock& true_clock_;
    const core::MonoTime booted_;
    std::chrono::milliseconds wrong_by_{};
    int drift_ = 0;
};

/// A message with the true times of its life.
struct Life {
    log::TopicPartition where;
    core::MonoTime published;  ///< it was appended between these two
    core::MonoTime answered;
    core::Duration ttl;
};

/// The clocks of the leaders, which stamp appended records (each partition has a clock, which is
/// wrong, drifts and steps), and the true time. docs/design.md#time says what a process may know of
/// a leader's clock; the consequences for a message are checked here.
class HostileTime {
public:
    HostileTime(const core::Clock& true_time, std::uint64_t seed)
        : true_clock_(true_time), random_(seed) {}

    /// The leader's present time.
    core::Timestamp stamp(const log::TopicPartition& where);
    void step(const log::TopicPartition& where, std::chrono::milliseconds by);
    /// A home may serve the partition from now on. It knows nothing of what the leader's clock said
    /// before it was opened, as a home or as a copy, whatever its process knew.
    void may_serve(core::Partition partition, core::MonoTime started) {
        served_since_[partition].insert(started);
    }

    /// A message that is gone may have expired.
    bool may_be_over(const Life& life) const;
    /// A message that is delivered now comes too late.
    bool must_be_over(const Life& life) const;
    /// For the report of a failure: the times since it was published.
    std::string story(const Life& life) const;
    /// The highest that any message's expiry was ever compared with.
    core::Timestamp latest(const log::TopicPartition& where) const;
    /// The highest that the leader's clock has said since `from`.
    core::Timestamp latest_since(const log::TopicPartition& where, core::MonoTime from) const;

private:
    struct Step {
        core::MonoTime at;
        core::Duration ahead;  ///< of the true time, from then on, without drift
    };
    struct Leader {
        int drift = 0;  ///< parts in a million
        std::vector<Step> steps;
    };
    struct Range {
        core::Duration low;
        core::Duration high;
    };

    Leader& leader(const log::TopicPartition& where);
    /// How far ahead of the true time the leader's clock was, from one moment to another.
    Range ahead(const log::TopicPartition& where, core::MonoTime from, core::MonoTime to) const;
    core::Duration slack(const log::TopicPartition& where, core::Duration lived) const;

    const core::Clock& true_clock_;
    std::mt19937_64 random_;
    std::map<log::TopicPartition, Leader> leaders_;
    std::map<core::Partition, std::set<core::MonoTime>> served_since_;
};

}  // namespace beckon::sim
