#include "console/lag/lag_metrics.hpp"

#include "ops/metric_names.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <string_view>

namespace beckon::console {

namespace {

namespace metric = ops::metric;

/// A backslash before backslash and quote, and none of the ends of lines.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') out.push_back('\\');
        if (c == '\n') {
            out += "\\n";
        } else {
            out.push_back(c);
        }
    }
    return out;
}

std::string quoted(const char* name, const std::string& value) {
    return std::string{name} + "=\"" + escaped(value) + '"';
}

std::string number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3f", value);
    return text.data();
}

/// A gauge and its series, each labels and value.
class Family {
public:
    Family(std::string& out, std::string_view name, std::string_view help)
        : out_(out), name_(name) {
        out_.append("# HELP ").append(name).append(" ").append(help).append("\n");
        out_.append("# TYPE ").append(name).append(" gauge\n");
    }
    void add(const std::string& labels, const std::string& value) {
        out_.append(name_).append("{").append(labels).append("} ").append(value).append("\n");
    }

private:
    std::string& out_;
    std::string_view name_;
};

std::string topic_labels(const LagRow& row) { return quoted("topic", row.where.topic); }

std::string partition_labels(const LagRow& row) {
    return topic_labels(row) + "," + quoted("partition", std::to_string(row.where.partition));
}

std::string group_labels(const LagRow& row) {
    return quoted("consumergroup", row.group) + "," + partition_labels(row);
}

std::string kminion_topic_labels(const LagRow& row) {
    return quoted("group_id", row.group) + "," + quoted("topic_name", row.where.topic);
}

std::string kminion_labels(const LagRow& row) {
    return kminion_topic_labels(row) + "," +
           quoted("partition_id", std::to_string(row.where.partition));
}

template <class Labels>
std::map<std::string, core::Offset> sums(const LagPage& page, const Labels& labels) {
    std::map<std::string, core::Offset> found;
    for (const auto& row : page.rows) found[labels(row)] += row.lag();
    return found;
}

void add_groups(std::string& out, const LagPage& page) {
    Family lag{out, metric::kGroupLag, "Records that a group has not read yet."};
    for (const auto& row : page.rows) lag.add(group_labels(row), std::to_string(row.lag()));
    Family seconds{out, metric::kGroupLagSeconds,
                   "Age of the oldest record that a group has not read yet."};
    for (const auto& row : page.rows) {
        if (!row.aged) continue;
        seconds.add(group_labels(row),
                    number(std::chrono::duration<double>{row.facts.behind}.count()));
    }
    Family offset{out, metric::kGroupOffset, "Next record that a group will read."};
    for (const auto& row : page.rows) offset.add(group_labels(row), std::to_string(row.position));
    Family status{out, metric::kGroupStatus,
                  "Of Beckon's own groups: 0 OK, 1 RESTORING, 2 SLOW, 3 STALLED, 4 STOPPED."};
    for (const auto& row : page.rows) {
        if (!row.own) continue;
        status.add(group_labels(row), std::to_string(static_cast<int>(row.status)));
    }
}

void add_sums(std::string& out, const LagPage& page) {
    Family sum{out, metric::kGroupLagSum, "Records of a topic that a group has not read yet."};
    const auto by_topic = [](const LagRow& row) {
        return quoted("consumergroup", row.group) + "," + topic_labels(row);
    };
    for (const auto& [labels, lag] : sums(page, by_topic)) sum.add(labels, std::to_string(lag));
}

void add_partitions(std::string& out, const LagPage& page) {
    std::map<std::string, log::Ends> ends;
    for (const auto& row : page.rows) ends[partition_labels(row)] = row.ends;
    Family newest{out, metric::kTopicEnd, "End of a partition."};
    for (const auto& [labels, one] : ends) newest.add(labels, std::to_string(one.end));
    Family oldest{out, metric::kTopicStart, "First record that a partition still has."};
    for (const auto& [labels, one] : ends) oldest.add(labels, std::to_string(one.start));
}

void add_kminion(std::string& out, const LagPage& page) {
    Family lag{out, metric::kKminionLag, "Records that a group has not read yet."};
    for (const auto& row : page.rows) lag.add(kminion_labels(row), std::to_string(row.lag()));
    Family sum{out, metric::kKminionTopicLag, "Records of a topic that a group has not read yet."};
    for (const auto& [labels, records] : sums(page, kminion_topic_labels)) {
        sum.add(labels, std::to_string(records));
    }
}

}  // namespace

std::string to_metrics(const LagPage& page) {
    std::string out;
    add_groups(out, page);
    add_sums(out, page);
    add_partitions(out, page);
    add_kminion(out, page);
    return out;
}

}  // namespace beckon::console
