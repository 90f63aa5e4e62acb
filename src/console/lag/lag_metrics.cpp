#include "console/lag/lag_text.hpp"
#include "ops/metric_names.hpp"
#include "ops/metrics.hpp"

#include <chrono>
#include <cmath>
#include <map>

namespace beckon::console {

namespace {

namespace metric = ops::metric;
using ops::Labels;

Labels joined(Labels labels, const Labels& more) {
    labels.insert(labels.end(), more.begin(), more.end());
    return labels;
}

Labels topic_labels(const LagRow& row) { return {{"topic", row.where.topic}}; }
Labels partition_labels(const LagRow& row) {
    return {{"topic", row.where.topic}, {"partition", std::to_string(row.where.partition)}};
}
Labels group_labels(const LagRow& row) {
    return joined({{"consumergroup", row.group}}, partition_labels(row));
}
Labels group_topic_labels(const LagRow& row) {
    return joined({{"consumergroup", row.group}}, topic_labels(row));
}
Labels kminion_topic_labels(const LagRow& row) {
    return {{"group_id", row.group}, {"topic_name", row.where.topic}};
}
Labels kminion_labels(const LagRow& row) {
    return joined(kminion_topic_labels(row),
                  {{"partition_id", std::to_string(row.where.partition)}});
}

double seconds(core::Duration time) {
    return std::round(std::chrono::duration<double>{time}.count() * 1000) / 1000;
}

/// The lag of each topic, by such labels.
void add_sums(ops::WrittenSeries& out, const LagPage& page, Labels (*labels)(const LagRow&)) {
    std::map<Labels, core::Offset> sums;
    for (const auto& row : page.rows) sums[labels(row)] += row.lag();
    for (const auto& [of, lag] : sums) out.add(of, static_cast<double>(lag));
}

}  // namespace

std::string to_metrics(const LagPage& page) {
    constexpr auto kLagHelp = "Records that a group has not read yet.";
    constexpr auto kSumHelp = "Records of a topic that a group has not read yet.";
    ops::WrittenSeries out;
    out.begin(metric::kGroupLag, kLagHelp);
    for (const auto& row : page.rows) out.add(group_labels(row), static_cast<double>(row.lag()));
    out.begin(metric::kGroupLagSeconds, "Age of the oldest record that a group has not read yet.");
    for (const auto& row : page.rows) {
        if (row.aged) out.add(group_labels(row), seconds(row.facts.behind));
    }
    out.begin(metric::kGroupOffset, "Next record that a group will read.");
    for (const auto& row : page.rows) {
        out.add(group_labels(row), static_cast<double>(row.position));
    }
    out.begin(metric::kGroupStatus,
              "Of Beckon's own groups: 0 OK, 1 RESTORING, 2 SLOW, 3 STALLED, 4 STOPPED.");
    for (const auto& row : page.rows) {
        if (row.own) out.add(group_labels(row), static_cast<double>(row.status));
    }
    out.begin(metric::kGroupLagSum, kSumHelp);
    add_sums(out, page, group_topic_labels);
    std::map<Labels, log::Ends> ends;
    for (const auto& row : page.rows) ends[partition_labels(row)] = row.ends;
    out.begin(metric::kTopicEnd, "End of a partition.");
    for (const auto& [of, one] : ends) out.add(of, static_cast<double>(one.end));
    out.begin(metric::kTopicStart, "First record that a partition still has.");
    for (const auto& [of, one] : ends) out.add(of, static_cast<double>(one.start));
    out.begin(metric::kKminionLag, kLagHelp);
    for (const auto& row : page.rows) out.add(kminion_labels(row), static_cast<double>(row.lag()));
    out.begin(metric::kKminionTopicLag, kSumHelp);
    add_sums(out, page, kminion_topic_labels);
    return out.text();
}

}  // namespace beckon::console
