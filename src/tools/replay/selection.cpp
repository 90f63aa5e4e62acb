#include "tools/replay/selection.hpp"

#include "core/partition.hpp"
#include "log/read_partition.hpp"
#include "records/events.hpp"

#include <algorithm>
#include <utility>

namespace beckon::tools {

using core::RecordView;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kHexSize = 32;

}  // namespace

std::vector<log::TopicPartition> partitions_of(const Selection& selection,
                                               core::Partition partitions) {
    std::vector<log::TopicPartition> out;
    for (const auto topic : selection.topics) {
        if (selection.partition) {
            out.push_back({topic, *selection.partition});
        } else if (selection.client) {
            out.push_back({topic, core::partition_of(*selection.client, partitions)});
        } else {
            const auto all = log::all_of(topic, partitions);
            out.insert(out.end(), all.begin(), all.end());
        }
    }
    return out;
}

core::Result<std::vector<SelectedRange>> ranges_of(log::EventLog& log, const Selection& selection,
                                                   core::Partition partitions,
                                                   milliseconds timeout) {
    const auto wanted = partitions_of(selection, partitions);
    const auto ends = log::ends_of(log, wanted, timeout);
    if (!ends) return core::fail(ends.error());
    if (ends->empty()) {
        return core::fail(core::Fault::not_found,
                          "no such partition of the log topic " + wanted.front().topic.name());
    }
    std::vector<SelectedRange> out;
    for (const auto& where : wanted) {
        const auto found = ends->find(where);
        if (found == ends->end()) continue;
        const auto& at = found->second;
        SelectedRange range{.where = where,
                            .from = std::max(selection.from, at.start),
                            .until = std::min(selection.until, at.end)};
        if (selection.since) {
            const auto from = log::offset_at(log, where, *selection.since, timeout);
            if (!from) return core::fail(from.error());
            range.from = std::max(range.from, *from);
        }
        if (range.from < range.until) out.push_back(range);
    }
    return out;
}

Filter::Filter(Selection selection)
    : selection_(std::move(selection)),
      client_(selection_.client ? core::to_hex(*selection_.client) : ""),
      channel_(selection_.channel ? core::to_dashed(*selection_.channel) : ""),
      message_(selection_.message ? core::to_hex(*selection_.message) : "") {}

bool Filter::admits(const RecordView& record) {
    if (selection_.since && record.time < *selection_.since) return false;
    if (is_past(record)) return false;
    if (!selection_.key.empty() && record.key != selection_.key) return false;
    if (!client_.empty() && !record.key.starts_with(client_)) return false;
    if (!message_.empty() &&
        (record.key.size() != 2 * kHexSize + 1 || record.key.substr(kHexSize + 1) != message_)) {
        return false;
    }
    return channel_.empty() || names_channel(record);
}

bool Filter::names_channel(const RecordView& record) {
    // In `subscriptions`.
    if (record.key.ends_with(channel_) || (!record.value && record.key == client_)) return true;
    if (record.header(core::header::kSubject) == channel_) {
        if (keys_.size() < kKeysMax) keys_.emplace(record.key);
        return true;
    }
    return !record.value && keys_.erase(std::string{record.key}) > 0;
}

}  // namespace beckon::tools
