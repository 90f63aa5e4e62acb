#pragma once

#include "console/overview/facts.hpp"
#include "core/clock.hpp"
#include "core/enum_names.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace beckon::console {

/// The series that the first page draws.
enum class Series : std::uint8_t {
    clients,
    accepted,  ///< messages a second, as the next two
    delivered,
    acked,
    refused_4xx,  ///< requests a second
    refused_5xx,
    p50_ms,  ///< from a message's append to its frame
    p99_ms,
    waiting,
    oldest_seconds,
    tier_waiting,
    tier_overdue_seconds,
    webhooks_failing,
    dead,
    canary_ms,  ///< the last push of the slowest edge
    canary_failing,
    disk_free_percent,  ///< of the disk with the least
};

/// One value of each; not a number: not known.
struct Point {
    core::Timestamp at{};
    core::ByEnum<Series, double> values{};
    double& operator[](Series series) { return values[series]; }
    double operator[](Series series) const { return values[series]; }
};

/// The sums over all processes at one moment. Pure.
Point point_of(const Installation& facts, core::Timestamp now);

/// The value below which `part` of the durations of cumulative buckets lie, in milliseconds; not a
/// number: there are none. `rates`: "deliver_0", "deliver_1", … as a process reports them.
double quantile_ms(const std::map<std::string, double>& rates, double part);

/// An hour of points, in memory. A value; bounded.
class History {
public:
    static constexpr std::chrono::seconds kEvery{10};
    static constexpr std::size_t kPointsMax = 360;

    void add(const Point& point);
    const std::deque<Point>& points() const { return points_; }
    /// The sum of all rises of a series; its falls are not subtracted.
    std::size_t growth(Series series) const;

    /// {"at": [ms since the Unix epoch …], "clients": [number or null …], …}, of the newest `most`.
    nlohmann::json json(std::size_t most = kPointsMax) const;

private:
    std::deque<Point> points_;  ///< the newest last
};

}  // namespace beckon::console
