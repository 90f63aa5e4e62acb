#pragma once

#include "reliability/history/history.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How long messages take from one milestone to the next.
namespace beckon::core {
class ByteReader;
}

namespace beckon::reliability {

using std::chrono::milliseconds;

/// A distribution of durations in buckets that are exact below 16 ms and at most an eighth wide
/// above. Distributions add up and can be taken apart again.
class Durations {
public:
    using Buckets = std::map<std::uint32_t, std::uint64_t>;

    Durations() = default;
    /// From another one's total() and buckets(). Unknown buckets are left out.
    Durations(milliseconds total, const Buckets& buckets);

    void add(milliseconds duration);
    /// Removes a duration that was added; changes nothing if there is none.
    void remove(milliseconds duration);
    void add(const Durations& other);

    std::uint64_t count() const { return count_; }
    milliseconds total() const { return milliseconds{static_cast<std::int64_t>(sum_ms_)}; }
    const Buckets& buckets() const { return buckets_; }
    /// Exact; 0 without durations.
    milliseconds mean() const;
    /// The middle of the bucket in which the `quantile` (0 to 1) lies; 0 without durations.
    milliseconds at_quantile(double quantile) const;

    void append_to(std::string& out) const;
    /// Takes its bytes from the front.
    static std::optional<Durations> parse(core::ByteReader& reader);

    bool operator==(const Durations&) const = default;

private:
    std::uint64_t count_ = 0;
    std::uint64_t sum_ms_ = 0;
    Buckets buckets_;
};

/// From one milestone of a message to the next known one.
struct Step {
    Milestone from;
    Milestone to;
    auto operator<=>(const Step&) const = default;
};

/// One message's step, with its duration (never negative, even where the clocks disagree) and its
/// end.
struct TimedStep {
    Step step;
    milliseconds took{};
    Timestamp over{};
    bool operator==(const TimedStep&) const = default;
};
std::vector<TimedStep> timed_steps(const History& history);

/// The steps of many messages.
using Flow = std::map<Step, Durations>;
void append_flow(std::string& out, const Flow& flow);
std::optional<Flow> parse_flow(std::string_view bytes);

}  // namespace beckon::reliability
