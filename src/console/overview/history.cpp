#include "console/overview/history.hpp"

#include "console/overview/verdict.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Bounds of the buckets of ops::Metrics::seconds, in milliseconds; the last one has none.
constexpr std::array<double, 16> kBucketsMs{0.1, 0.25, 0.5, 1,   2.5,   5,     10,    25,
                                            50,  100,  250, 500, 1'000, 2'500, 5'000, 10'000};

double number(const std::map<std::string, double>& numbers, const char* name) {
    const auto found = numbers.find(name);
    return found == numbers.end() ? 0 : found->second;
}

bool has(const std::map<std::string, double>& numbers, const char* name) {
    return numbers.find(name) != numbers.end();
}

/// The least share of a disk that is free, in percent.
double least_free(const Installation& facts) {
    double least = kUnknown;
    for (const auto& one : facts.processes) {
        const auto free = free_share(one);
        if (!one.gone && free) least = std::fmin(least, 100 * *free);
    }
    return least;
}

void add_canary(const CanaryFacts& canary, Point& point) {
    auto& slowest = point[Series::canary_ms];
    for (const auto& edge : canary.edges) {
        if (!edge.took) continue;
        slowest = std::fmax(slowest, std::chrono::duration<double, std::milli>{*edge.took}.count());
    }
    point[Series::canary_failing] = static_cast<double>(canary.count(CanaryFacts::State::failing));
}

}  // namespace

double quantile_ms(const std::map<std::string, double>& rates, double part) {
    std::vector<double> cumulative;
    for (std::size_t i = 0; i <= kBucketsMs.size(); ++i) {
        cumulative.push_back(number(rates, ("deliver_" + std::to_string(i)).c_str()));
    }
    const double all = cumulative.back();
    if (all <= 0) return kUnknown;
    const double wanted = part * all;
    for (std::size_t i = 0; i < kBucketsMs.size(); ++i) {
        if (cumulative[i] < wanted) continue;
        const double low = i == 0 ? 0 : kBucketsMs[i - 1];
        const double below = i == 0 ? 0 : cumulative[i - 1];
        const double inside = cumulative[i] - below;
        return inside <= 0 ? kBucketsMs[i]
                           : low + (kBucketsMs[i] - low) * (wanted - below) / inside;
    }
    return kBucketsMs.back();
}

Point point_of(const Installation& facts, core::Timestamp now) {
    Point point{.at = now};
    point.values.values.fill(kUnknown);
    const auto add = [&point](Series series, double value) {
        auto& sum = point[series];
        sum = std::isnan(sum) ? value : sum + value;
    };
    std::map<std::string, double> deliveries;
    for (const auto& one : facts.processes) {
        if (one.gone) continue;
        if (has(one.gauges, "clients")) add(Series::clients, number(one.gauges, "clients"));
        if (has(one.gauges, "waiting")) add(Series::waiting, number(one.gauges, "waiting"));
        if (has(one.gauges, "oldest_seconds")) {
            auto& oldest = point[Series::oldest_seconds];
            oldest = std::fmax(oldest, number(one.gauges, "oldest_seconds"));
        }
        for (const auto& [name, rate] : one.rates) {
            if (name == "accepted") add(Series::accepted, rate);
            if (name == "delivered") add(Series::delivered, rate);
            if (name == "acked") add(Series::acked, rate);
            if (name == "refused_4xx") add(Series::refused_4xx, rate);
            if (name == "refused_5xx") add(Series::refused_5xx, rate);
            if (name.starts_with("deliver_")) deliveries[name] += rate;
        }
    }
    point[Series::p50_ms] = quantile_ms(deliveries, 0.5);
    point[Series::p99_ms] = quantile_ms(deliveries, 0.99);
    if (facts.tiers) {
        point[Series::tier_waiting] = static_cast<double>(facts.tiers->waiting);
        point[Series::tier_overdue_seconds] =
            std::chrono::duration<double>{facts.tiers->overdue}.count();
    }
    if (facts.webhooks) {
        point[Series::webhooks_failing] = static_cast<double>(facts.webhooks->failing.size());
    }
    if (facts.dead) point[Series::dead] = static_cast<double>(facts.dead->letters);
    if (facts.canary) add_canary(*facts.canary, point);
    point[Series::disk_free_percent] = least_free(facts);
    return point;
}

void History::add(const Point& point) {
    points_.push_back(point);
    if (points_.size() > kPointsMax) points_.pop_front();
}

std::size_t History::growth(Series series) const {
    double grown = 0;
    for (std::size_t i = 1; i < points_.size(); ++i) {
        const double step = points_[i][series] - points_[i - 1][series];
        if (step > 0) grown += step;
    }
    return static_cast<std::size_t>(grown);
}

nlohmann::json History::json(std::size_t most) const {
    const auto first = points_.size() - std::min(most, points_.size());
    auto out = nlohmann::json::object();
    auto& at = out["at"] = nlohmann::json::array();
    for (std::size_t i = first; i < points_.size(); ++i) {
        at.push_back(points_[i].at.time_since_epoch().count());
    }
    for (const auto s : core::kValuesOf<Series>) {
        auto& values = out[core::name_of(s)] = nlohmann::json::array();
        for (std::size_t i = first; i < points_.size(); ++i) {
            const double value = points_[i].values[s];
            if (std::isnan(value)) {
                values.push_back(nullptr);
            } else {
                values.push_back(std::round(value * 1000) / 1000);
            }
        }
    }
    return out;
}

}  // namespace beckon::console
