#include "reliability/home/report_maker.hpp"

#include "core/lifetime.hpp"

#include <utility>

namespace beckon::reliability {

ReportMaker::ReportMaker(Day day, core::Partition partitions, log::EventLog& log,
                         core::Executor& executor, Done done)
    : day_(day),
      partitions_(partitions),
      log_(log),
      executor_(executor),
      done_(std::move(done)),
      folded_([](std::string_view) -> core::Result<std::optional<History>> {
          return std::optional<History>{};  // all that is known was folded here
      }),
      lifetime_(executor) {
    begin_partition();
}

void ReportMaker::begin_partition() {
    core::ask_while(
        lifetime_,
        [this](core::Executor& executor, auto callback) {
            log_.ends({log::Topic::kReliability, partition_}, executor, std::move(callback));
        },
        [this](const core::Result<log::Ends>& ends) {
            ends ? read_until(ends->end) : finish(core::fail(ends.error()));
        });
}

void ReportMaker::read_until(core::Offset end) {
    scan_ = std::make_unique<log::RangeScan>(
        log_, log::TopicPartition{log::Topic::kReliability, partition_}, log::Range{0, end},
        executor_,
        [this](const core::RecordView& record) {
            folded_.fold(record);
            return log::Next::go_on;
        },
        [this](const core::Result<core::Offset>& read) {
            read ? end_partition() : finish(core::fail(read.error()));
        });
}

void ReportMaker::end_partition() {
    for (const auto& [id, change] : folded_.changes()) {
        const auto ended = change.after.ended();
        if (ended && day_of(*ended) == day_) report_.add(change.after);
    }
    folded_.reset();
    if (++partition_ < partitions_) return begin_partition();
    finish(report_);
}

void ReportMaker::finish(const core::Result<Report>& result) {
    const auto done = done_;
    done(result);
}

}  // namespace beckon::reliability
