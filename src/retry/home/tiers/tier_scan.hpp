#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/range_scan.hpp"
#include "records/delivery.hpp"
#include "retry/home/tiers/home_context.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace beckon::retry {

/// Reads one tier, or `retry.dead`, from an offset up to a read barrier of its own, at a take-over:
/// finds the promotions to it since the last DoneRecord. The read barrier's report teaches the
/// clock of that partition too. Publishes the read barrier again until the log takes it. On the
/// executor's thread; ends when destroyed.
class TierScan {
public:
    struct Found {
        core::Offset start = 0;  ///< of the log
        core::Offset end = 0;    ///< the read barrier's offset + 1
        /// `from` was above the log's end: the topic is another one, read from its start.
        bool made_anew = false;
        core::Timestamp time{};  ///< the read barrier's
        core::MonoTime sent{};   ///< when it was published
        core::MonoTime seen{};   ///< when its report came
    };
    struct Events {
        /// A delivery that stands there.
        std::function<void(core::Offset, const Delivery&)> seen;
        std::function<void(const core::Result<Found>&)> done;
    };

    /// Without `from` it reads nothing but its own read barrier.
    TierScan(log::TopicPartition where, std::optional<core::Offset> from, const core::NodeId& node,
             HomeContext context, Events events);

    void start();
    /// Records behind it, and before it; of nothing before the read barrier is written.
    core::Offset scanned() const { return scan_ ? position_ - *from_ : 0; }
    core::Offset left() const { return scan_ ? found_.end - position_ : 0; }

private:
    void publish_barrier();
    void read();
    void end(const core::Result<Found>& result);

    log::TopicPartition where_;
    std::optional<core::Offset> from_;
    core::NodeId node_;
    const HomeContext context_;
    Events events_;

    Found found_;
    core::Offset position_ = 0;
    std::unique_ptr<log::RangeScan> scan_;
    core::Lifetime lifetime_{context_.executor};  ///< answers may come when the executor is gone
};

}  // namespace beckon::retry
