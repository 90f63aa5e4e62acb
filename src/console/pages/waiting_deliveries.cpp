#include "console/pages/waiting_deliveries.hpp"

#include "records/done.hpp"

#include <algorithm>
#include <utility>

namespace beckon::console {

namespace {

bool is_finished(const retry::Finished& finished, core::Offset offset) {
    if (offset < finished.low) return true;
    return std::any_of(finished.above.begin(), finished.above.end(), [&](const auto& range) {
        return range.begin <= offset && offset < range.end;
    });
}

core::Result<retry::DoneRecord> newest_done(log::EventLog& log, core::Partition partition,
                                            const inspect::ScanLimits& limits) {
    retry::DoneRecord newest;
    const auto sink = [&](const core::RecordView& record) {
        auto done = retry::decode_done(record);
        if (done && done->partition == partition) newest = std::move(*done);
        return log::Next::go_on;
    };
    const auto read = inspect::scan(log, {log::Topic::kRetryDone, partition}, 0, sink, limits);
    if (!read) return core::fail(read.error());
    return newest;
}

}  // namespace

core::Result<WaitingDeliveries> waiting_deliveries(log::EventLog& log, const std::string& webhook,
                                                   const std::vector<std::chrono::seconds>& tiers,
                                                   core::Partition partitions,
                                                   const inspect::ScanLimits& limits) {
    WaitingDeliveries found{.partition = core::partition_of(webhook, partitions), .tiers = {}};
    const auto done = newest_done(log, found.partition, limits);
    if (!done) return core::fail(done.error());
    std::size_t read_so_far = 0;
    for (std::size_t tier = 0; tier < tiers.size() && found.complete; ++tier) {
        WaitingTier of{.tier = static_cast<int>(tier), .delay = tiers[tier], .first = {}};
        const auto known = done->tiers.find(of.tier);
        const auto finished =
            known == done->tiers.end() ? retry::Finished{} : known->second.finished;
        const auto sink = [&](const core::RecordView& record) {
            if (++read_so_far > WaitingDeliveries::kRecordsMax) {
                found.complete = false;
                return log::Next::stop;
            }
            if (record.key != webhook || is_finished(finished, record.offset)) {
                return log::Next::go_on;
            }
            const auto delivery = retry::decode_delivery(record);
            if (!delivery) return log::Next::go_on;  // it becomes a dead letter
            ++of.waiting;
            if (of.first.size() < WaitingDeliveries::kShown) {
                of.first.push_back({.id = delivery->id,
                                    .offset = record.offset,
                                    .attempts = delivery->attempts,
                                    .last = delivery->last,
                                    .due = record.time + of.delay});
            }
            return log::Next::go_on;
        };
        const auto read = inspect::scan(log, {log::Topic::retry(of.tier), found.partition},
                                        finished.low, sink, limits);
        if (!read) return core::fail(read.error());
        if (of.waiting > 0) found.tiers.push_back(std::move(of));
    }
    return found;
}

}  // namespace beckon::console
