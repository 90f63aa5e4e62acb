#include "app/process/process_report.hpp"

#include "app/process/node_name.hpp"
#include "app/process/process_metrics.hpp"
#include "app/process/version.hpp"
#include "core/decimal.hpp"
#include "core/logger.hpp"
#include "ops/metric_names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <unistd.h>

namespace beckon::app {

namespace {

namespace fs = std::filesystem;
namespace metric = ops::metric;

constexpr log::TopicPartition kOwnership{log::Topic::kOwnership, 0};

enum class As : std::uint8_t { counter, sum, greatest };

/// A metric under the console's name: its series are added up, or the greatest of them counts.
struct Taken {
    std::string_view metric;
    const char* name;
    As as;
};

constexpr auto kTaken = std::to_array<Taken>({
    {metric::kEdgeDelivered, "delivered", As::counter},
    {metric::kEdgeAcked, "acked", As::counter},
    {metric::kRetryAttempts, "attempts", As::counter},
    {metric::kEdgeClients, "clients", As::sum},
    {metric::kEdgeLinks, "links", As::sum},
    {metric::kEdgeWaiting, "waiting", As::sum},
    {metric::kEdgeLag, "lag_records", As::sum},
    {metric::kIngestViewLag, "lag_records", As::sum},
    {metric::kReliabilityLag, "lag_records", As::sum},
    {metric::kRetryWaiting, "deliveries", As::sum},
    {metric::kEdgeWaitingOldest, "oldest_seconds", As::greatest},
    {metric::kEdgeLagSeconds, "lag_seconds", As::greatest},
    {metric::kIngestViewLagSeconds, "lag_seconds", As::greatest},
});

double value_of(const prometheus::MetricFamily& family, const prometheus::ClientMetric& series) {
    return family.type == prometheus::MetricType::Counter ? series.counter.value
                                                          : series.gauge.value;
}

std::string label_of(const prometheus::ClientMetric& series, std::string_view name) {
    for (const auto& label : series.label) {
        if (label.name == name) return label.value;
    }
    return {};
}

void take_requests(const prometheus::MetricFamily& family, ProcessNumbers& out) {
    for (const auto* name : {"accepted", "refused_4xx", "refused_5xx"}) out.counters[name] = 0;
    for (const auto& series : family.metric) {
        const auto status = label_of(series, "status");
        const double value = series.counter.value;
        if (status == "201" && label_of(series, "route") == "send")
            out.counters["accepted"] += value;
        if (status.starts_with('4')) out.counters["refused_4xx"] += value;
        if (status.starts_with('5')) out.counters["refused_5xx"] += value;
    }
}

/// Its buckets as counters, from which the console computes quantiles of all edges together.
void take_histogram(const prometheus::MetricFamily& family, ProcessNumbers& out) {
    for (const auto& series : family.metric) {
        for (std::size_t i = 0; i < series.histogram.bucket.size(); ++i) {
            out.counters["deliver_" + std::to_string(i)] +=
                static_cast<double>(series.histogram.bucket[i].cumulative_count);
        }
    }
}

/// Nothing while a partition is missing: it is not opened yet.
void take_view(const prometheus::MetricFamily& family, ProcessNumbers& out) {
    out.view.resize(family.metric.size());
    for (const auto& series : family.metric) {
        const auto partition = core::parse_decimal<std::size_t>(label_of(series, "partition"));
        if (!partition || *partition >= out.view.size()) return out.view.clear();
        out.view[*partition] = static_cast<core::Offset>(series.gauge.value);
    }
}

std::string host_name() {
    std::array<char, 256> text{};
    if (::gethostname(text.data(), text.size() - 1) != 0) return "localhost";
    return text.data();
}

std::vector<std::string> reasons(const std::map<std::string, std::string>& by_part) {
    std::vector<std::string> out;
    out.reserve(by_part.size());
    for (const auto& [part, why] : by_part) out.push_back(part + ": " + why);
    return out;
}

}  // namespace

ProcessNumbers numbers_of(const std::vector<prometheus::MetricFamily>& families) {
    ProcessNumbers out;
    for (const auto& family : families) {
        if (family.name == metric::kIngestRequests) take_requests(family, out);
        if (family.name == metric::kEdgeDeliverSeconds) take_histogram(family, out);
        if (family.name == metric::kIngestViewOffset) take_view(family, out);
        for (const auto& series : family.metric) {
            for (const auto& one : kTaken) {
                if (family.name != one.metric) continue;
                auto& taken = (one.as == As::counter ? out.counters : out.gauges)[one.name];
                const double value = value_of(family, series);
                taken = one.as == As::greatest ? std::max(taken, value) : taken + value;
            }
        }
    }
    return out;
}

ProcessReport::ProcessReport(const std::string& role, const Config& config, std::uint16_t ops_port,
                             const core::Clock& clock, const ops::Metrics& metrics,
                             const ops::Health& health)
    : same_{.role = role,
            .id = node_name(config.data),
            .name = host_name() + ':' + std::to_string(ops_port),
            .version = version_text(),
            .started = clock.wall()},
      data_(config.data),
      certificates_(certificates_of(role, config)),
      clock_(clock),
      metrics_(metrics),
      health_(health),
      refused_(config.endpoint.refused),
      busiest_(config.endpoint.busiest) {}

cluster::ProcessRecord ProcessReport::now() const {
    auto record = same_;
    record.at = clock_.wall();
    const auto health = health_.report();
    record.ready = health.ready;
    record.faults = reasons(health.faults);
    record.warnings = reasons(health.warnings);
    auto numbers = numbers_of(metrics_.collect());
    record.counters = std::move(numbers.counters);
    record.counters.merge(busiest_->counters());
    record.gauges = std::move(numbers.gauges);
    record.refused = refused_->since(record.at);
    record.view = std::move(numbers.view);
    if (const auto bytes = resident_memory()) record.gauges["memory"] = *bytes;
    std::error_code error;
    const auto space = fs::space(data_, error);
    if (!error) {
        record.gauges["disk_free"] = static_cast<double>(space.available);
        record.gauges["disk_size"] = static_cast<double>(space.capacity);
    }
    for (const auto& one : certificates_) {
        const auto expires = expiry_of(one);
        if (!expires) continue;
        const auto time = std::chrono::duration<double>{expires->time_since_epoch()}.count();
        const auto known = record.gauges.emplace("certificate_expires", time).first;
        known->second = std::min(known->second, time);
    }
    return record;
}

ProcessReporter::~ProcessReporter() {
    finish(kEndWithin);
    auto ended = report_.now();
    ended.removed = true;
    publish(ended);
    finish(kEndWithin);
}

void ProcessReporter::look() {
    finish({});
    if (due_.every(cluster::kProcessEvery)) publish(report_.now());
}

void ProcessReporter::publish(const cluster::ProcessRecord& record) {
    if (publisher_->unanswered() > 0) return;  // one at a time
    publisher_->publish(
        kOwnership, encode(record), [this](const core::Result<log::Appended>& done) {
            if (!done && well_) {
                core::log_warn("app", "process_not_reported", {{"why", done.error().message}});
            }
            well_ = done.has_value();
        });
}

/// Takes answers that have come, or come within that time.
void ProcessReporter::finish(core::Duration within) {
    executor_.wait_until([this] { return publisher_->unanswered() == 0; },
                         core::SystemClock{}.mono() + within);
}

}  // namespace beckon::app
