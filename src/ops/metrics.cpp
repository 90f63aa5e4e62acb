#include "ops/metrics.hpp"

#include <prometheus/text_serializer.h>

namespace beckon::ops {

namespace {

std::map<std::string, std::string> to_map(const Labels& labels) {
    return {labels.begin(), labels.end()};
}

const prometheus::Histogram::BucketBoundaries kSecondsBuckets = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
    0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};

}  // namespace

Metrics::Metrics()
    : registry_(
          std::make_shared<prometheus::Registry>(prometheus::Registry::InsertBehavior::Merge)) {}

prometheus::Counter& Metrics::counter(std::string_view name, std::string_view help,
                                      const Labels& labels) {
    return prometheus::BuildCounter()
        .Name(std::string{name})
        .Help(std::string{help})
        .Register(*registry_)
        .Add(to_map(labels));
}

prometheus::Gauge& Metrics::gauge(std::string_view name, std::string_view help,
                                  const Labels& labels) {
    return prometheus::BuildGauge()
        .Name(std::string{name})
        .Help(std::string{help})
        .Register(*registry_)
        .Add(to_map(labels));
}

prometheus::Histogram& Metrics::seconds(std::string_view name, std::string_view help,
                                        const Labels& labels) {
    return prometheus::BuildHistogram()
        .Name(std::string{name})
        .Help(std::string{help})
        .Register(*registry_)
        .Add(to_map(labels), kSecondsBuckets);
}

std::string Metrics::text() const {
    return prometheus::TextSerializer{}.Serialize(registry_->Collect());
}

std::vector<prometheus::MetricFamily> Metrics::collect() const { return registry_->Collect(); }

void WrittenSeries::begin(std::string_view name, std::string_view help,
                          prometheus::MetricType type) {
    families_.push_back({std::string{name}, std::string{help}, type, {}});
}

void WrittenSeries::add(const Labels& labels, double value) {
    auto& series = families_.back().metric.emplace_back();
    for (const auto& [label, text] : labels) series.label.push_back({label, text});
    series.gauge.value = series.counter.value = value;
}

std::string WrittenSeries::text() const {
    return prometheus::TextSerializer{}.Serialize(families_);
}

}  // namespace beckon::ops
