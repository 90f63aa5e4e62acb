#include "reliability/home/report_maker.hpp"

#include "core/lasting_executor.hpp"

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
    end_ = end;
    reader_ = log_.open_reader({log::Topic::kReliability, partition_}, 0, executor_,
                               lifetime_.guard([this] { turn_later(); }));
    turn_later();
}

/// Never from within the reader, which a turn may destroy.
void ReportMaker::turn_later() {
    executor_.post(lifetime_.guard([this] {
        if (reader_) turn();
    }));
}

void ReportMaker::turn() {
    if (reader_->position() >= end_) return end_partition();
    const auto taken = reader_->take(kTurn, [this](const core::RecordView& record) {
        if (record.offset < end_) folded_.fold(record);
    });
    if (!taken && !taken.error().retryable()) return finish(core::fail(taken.error()));
    if (reader_->position() >= end_) return end_partition();
    if (taken && !taken->drained) turn_later();  // else the reader calls
}

void ReportMaker::end_partition() {
    reader_.reset();
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
    reader_.reset();
    done(result);
}

}  // namespace beckon::reliability
