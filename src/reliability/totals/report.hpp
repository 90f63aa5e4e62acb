#pragma once

#include "reliability/history/history.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The report of a day: all tracked messages that ended on it, by the log's time (UTC).
namespace beckon::reliability {

using Day = std::chrono::sys_days;
using std::chrono::milliseconds;

Day day_of(Timestamp time);
/// "2026-11-22".
std::string to_string(Day day);
std::optional<Day> parse_day(std::string_view text);

/// Sums over some messages; those of two partitions add up to those of both.
class Report {
public:
    void add(const History& history);
    void add(const Report& other);

    /// The counts of a milestone: the messages that reached it, and the times until their next one.
    struct Stay {
        std::uint64_t count = 0;
        milliseconds total{};
        bool operator==(const Stay&) const = default;
    };

    std::uint64_t total_count() const { return success_ + fail_ + withdrawn_; }
    std::uint64_t success_count() const { return success_; }
    std::uint64_t fail_count() const { return fail_; }
    std::uint64_t withdrawn_count() const { return withdrawn_; }
    const Stay& stay(Milestone milestone) const { return stays_[milestone]; }

    /// One JSON object with the members of the reference's report: since, longest, shortest,
    /// mean_time, success_count, fail_count, total_count, expired_count, milestones; and
    /// withdrawn_count. The first times are of messages that succeeded. Times are seconds with
    /// three decimals; `since` is null and the times are 0 where there is nothing to measure.
    std::string json() const;
    std::string markdown(Day day) const;

    /// The sums themselves, to be added up elsewhere.
    std::string sums_json() const;
    static std::optional<Report> parse_sums(std::string_view json);

    bool operator==(const Report&) const = default;

private:
    std::optional<Timestamp> since_;
    // Of messages that succeeded: the time of another one is what was left of its TTL.
    std::optional<milliseconds> longest_;
    std::optional<milliseconds> shortest_;
    milliseconds total_time_{};
    std::uint64_t success_ = 0;
    std::uint64_t fail_ = 0;
    /// Replaced by a newer one of their Topic, or deleted by their sender, before they succeeded:
    /// no loss.
    std::uint64_t withdrawn_ = 0;
    std::uint64_t expired_ = 0;
    core::ByMilestone<Stay> stays_;
};

}  // namespace beckon::reliability
