#include "log/range_scan.hpp"

#include "core/contain.hpp"

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
    executor_.post(lifetime_.guard([this] {
        const auto term = lifetime_.term();
        if (core::contain("log scan", [this] { turn(); }) || term.over()) return;
        end(core::fail(core::Fault::unavailable, "reading " + where_.topic.name() + " threw"));
    }));
}

void RangeScan::turn() {
    std::size_t records = 0;
    std::size_t bytes = 0;
    const auto sink = [&](const core::RecordView& record) { bytes += deliver(record); };
    while (reader_->position() < range_.until) {
        const auto taken = reader_->take(1, sink);
        if (stopped_) return end(behind_);
        if (!taken && !taken.error().retryable()) return end(core::fail(taken.error()));
        if (!taken || taken->drained) break;
        if (taken->records == 0 || ++records == kTurn || bytes >= kTurnBytes) return turn_later();
    }
    if (reader_->position() >= range_.until) end(range_.until);  // else the reader calls
}

/// Returns the record's size.
std::size_t RangeScan::deliver(const core::RecordView& record) {
    const auto bytes = record.value ? record.value->size() : 0;
    if (stopped_ || record.offset >= range_.until) return bytes;
    behind_ = record.offset + 1;
    stopped_ = sink_(record) == Next::stop;
    return bytes;
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
