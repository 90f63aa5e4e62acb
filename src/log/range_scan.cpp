#include "log/range_scan.hpp"

#include <algorithm>
#include <utility>

namespace beckon::log {

RangeScan::RangeScan(EventLog& log, TopicPartition where, Range range, core::Executor& executor,
                     ScanSink sink, Done done, core::Duration timeout)
    : where_(where),
      range_(range),
      executor_(executor),
      sink_(std::move(sink)),
      done_(std::move(done)),
      timeout_(timeout),
      behind_(range.from),
      reader_(
          log.open_reader(where, range.from, executor, lifetime_.guard([this] { turn_later(); }))) {
    turn_later();
    watch();
}

/// Never from within the reader, which a turn may destroy.
void RangeScan::turn_later() {
    executor_.post(lifetime_.guard([this] { turn(); }));
}

void RangeScan::turn() {
    if (reader_->position() >= range_.until) return end(range_.until);
    const auto left = static_cast<std::size_t>(range_.until - reader_->position());
    const auto taken = reader_->take(std::min(left, kTurn),
                                     [this](const core::RecordView& record) { deliver(record); });
    if (stopped_) return end(behind_);
    if (!taken && !taken.error().retryable()) return end(core::fail(taken.error()));
    if (reader_->position() >= range_.until) return end(range_.until);
    if (taken && !taken->drained) turn_later();  // else the reader calls
}

void RangeScan::deliver(const core::RecordView& record) {
    if (stopped_ || record.offset >= range_.until) return;
    behind_ = record.offset + 1;
    stopped_ = sink_(record) == Next::stop;
}

void RangeScan::watch() {
    const auto before = std::exchange(watched_, reader_->position());
    if (watched_ == before) {
        return end(core::fail(core::Fault::timed_out,
                              "the topic " + where_.topic.name() + " was not read in time"));
    }
    executor_.post_after(timeout_, lifetime_.guard([this] { watch(); }));
}

void RangeScan::end(const core::Result<core::Offset>& result) {
    lifetime_.renew();
    const auto done = std::exchange(done_, {});
    done(result);
}

}  // namespace beckon::log
