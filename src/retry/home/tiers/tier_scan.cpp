#include "retry/home/tiers/tier_scan.hpp"

#include "log/until.hpp"
#include "records/events.hpp"

#include <utility>

namespace beckon::retry {

using core::Offset;

TierScan::TierScan(log::TopicPartition where, std::optional<Offset> from, const core::NodeId& node,
                   HomeContext context, Events events)
    : where_(where),
      from_(from),
      node_(std::move(node)),
      context_(context),
      events_(std::move(events)) {}

void TierScan::start() {
    log::until_known({lifetime_, context_.executor}, context_.log, where_,
                     [this](const core::Result<log::Ends>& ends) {
                         if (!ends) return end(core::fail(ends.error()));
                         found_.start = ends->start;
                         if (!from_) from_ = ends->end;
                         if (*from_ > ends->end) {
                             found_.made_anew = true;
                             from_ = ends->start;
                         }
                         publish_barrier();
                     });
}

void TierScan::publish_barrier() {
    log::until_written(
        {lifetime_, context_.executor}, context_.publisher, where_,
        [this] {
            found_.sent = context_.clock.mono();
            return core::encode(core::BarrierRecord{node_.text});
        },
        [this](const log::Appended& barrier) {
            found_.end = barrier.offset + 1;
            found_.time = barrier.time;
            found_.seen = context_.clock.mono();
            read();
        });
}

void TierScan::read() {
    position_ = *from_;
    scan_ = std::make_unique<log::RangeScan>(
        context_.log, where_, log::Range{position_, found_.end}, context_.executor,
        [this](const core::RecordView& record) {
            position_ = record.offset + 1;
            if (const auto delivery = decode_delivery(record)) {
                events_.seen(record.offset, *delivery);
            }
            return log::Next::go_on;
        },
        [this](const core::Result<Offset>& up_to) {
            up_to ? end(found_) : end(core::fail(up_to.error()));
        });
}

void TierScan::end(const core::Result<Found>& result) {
    const auto done = events_.done;  // it may destroy the scan
    done(result);
}

}  // namespace beckon::retry
