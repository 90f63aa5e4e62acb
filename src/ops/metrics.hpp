#pragma once

#include "core/enum_names.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

/// Metrics of one process in Prometheus' terms: `beckon_<folder>_<thing>_<unit>`, counters end in
/// `_total`. Names live in ops/metric_names.hpp; label values come from enums, never from ids
/// (but for the first 50 owners of webhooks).
namespace beckon::ops {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Thread-safe. Look metrics up once and keep the reference: a look-up costs a lock and a map.
class Metrics {
public:
    Metrics();
    prometheus::Counter& counter(std::string_view name, std::string_view help,
                                 const Labels& labels = {});
    prometheus::Gauge& gauge(std::string_view name, std::string_view help,
                             const Labels& labels = {});
    /// Buckets of latencies in seconds, 100 µs to 10 s.
    prometheus::Histogram& seconds(std::string_view name, std::string_view help,
                                   const Labels& labels = {});

    /// One metric for each value of an enum, whose to_string() is the value of `label`.
    template <class Enum>
    core::ByEnum<Enum, prometheus::Counter*> counters(std::string_view name, std::string_view help,
                                                      const std::string& label) {
        return by_value<Enum>(label, [&](const Labels& one) { return &counter(name, help, one); });
    }
    template <class Enum>
    core::ByEnum<Enum, prometheus::Gauge*> gauges(std::string_view name, std::string_view help,
                                                  const std::string& label) {
        return by_value<Enum>(label, [&](const Labels& one) { return &gauge(name, help, one); });
    }

    /// Prometheus text format.
    std::string text() const;
    /// All series as values.
    std::vector<prometheus::MetricFamily> collect() const;

private:
    template <class Enum, class Make>
    static auto by_value(const std::string& label, const Make& make) {
        core::ByEnum<Enum, decltype(make(Labels{}))> all;
        for (const Enum value : core::kValuesOf<Enum>) {
            all[value] = make({{label, std::string{to_string(value)}}});
        }
        return all;
    }

    std::shared_ptr<prometheus::Registry> registry_;
};

/// Series that are written and not counted, since they come and go with the things that they name.
class WrittenSeries {
public:
    /// Begins those of a metric.
    void begin(std::string_view name, std::string_view help,
               prometheus::MetricType type = prometheus::MetricType::Gauge);
    void add(const Labels& labels, double value);
    /// Prometheus text format.
    std::string text() const;

private:
    std::vector<prometheus::MetricFamily> families_;
};

}  // namespace beckon::ops
