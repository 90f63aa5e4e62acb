#pragma once

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "retry/home/tiers/done_tracker.hpp"
#include "retry/home/tiers/due.hpp"
#include "retry/home/tiers/due_clock.hpp"
#include "retry/home/tiers/home_context.hpp"
#include "retry/home/tiers/recent_deliveries.hpp"
#include "retry/home/tiers/tier_state.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>

namespace beckon::retry {

/// One partition of one delay topic: reads it in order, holds its head until that is due, and hands
/// it on. It holds the head alone, since no record behind it is due earlier. No delivery is handed
/// on before it is due, nor twice while its copies are remembered. Used on the executor's thread.
class Tier {
public:
    /// So many records before the low watermark are read again, only to recognise their copies.
    static constexpr core::Offset kReadBack = 1'000;

    struct Options {
        core::Partition partition = 0;
        core::Epoch epoch = 0;
        int tier = 0;
        std::chrono::seconds delay{};
        Finished from;
        core::Offset log_start = 0;  ///< records below it were read before
    };
    /// All tiers of a partition have one, which outlives them.
    class Owner {
    public:
        virtual ~Owner() = default;
        /// True if one more of this tier may be handed on now; after false the owner calls turn()
        /// once it may.
        virtual bool has_capacity(int tier) const = 0;
        virtual void take(Due due) = 0;
        /// A record that is no delivery, as a dead letter to keep; the owner finishes it like a due
        /// one.
        virtual void set_aside(const Due& unreadable) = 0;
        /// True if an earlier owner has promoted this delivery to a later tier: it is finished.
        virtual bool went_on(const Delivery& delivery) const = 0;
        /// True while the owner has written this and has no report: what it proves of the log's
        /// time is still to come, and so is a call of turn().
        virtual bool is_unconfirmed(const Delivery& delivery) const = 0;
        /// The log has nothing at offsets of this range, which are not finished as far as
        /// `finished` says: perhaps they fell off the log.
        virtual void read_gap(int tier, OffsetRange gap, const Finished& finished) = 0;
        /// Reading cannot go on.
        virtual void fail(const core::Error& why) = 0;
    };
    Tier(Options options, HomeContext context, Owner& owner);

    /// The log's time for this partition; the code that appends to it teaches it.
    DueClock& clock() { return clock_; }

    /// Opens the reader. The clock must have learned.
    void start();
    /// Takes present records that are due, within a budget.
    void turn();
    /// Finishes a record that was handed on.
    bool finish(core::Offset offset);

    Finished finished() const { return tracker_.finished(); }
    bool changed() const { return tracker_.changed(); }
    void clear_changed() { tracker_.clear_changed(); }
    /// All records below have been read; 0 before the start.
    core::Offset position() const;
    /// Whether every record that was due at the start has been read: the reader has come to the
    /// end, or to a record that was not due, since then.
    bool caught_up() const { return caught_up_; }
    TierState state() const;

private:
    void open(core::Offset from);
    std::optional<core::Duration> until_head() const;
    bool fetch();
    core::Timestamp due_time(core::Timestamp appended);
    void read(const core::RecordView& record);
    void set_aside(const core::RecordView& record, const core::Error& why);
    void note_gap(core::Offset offset, core::Offset next);
    bool read_failed(const core::Error& why);
    void hand_on();
    void wait(core::Duration until_due);
    void turn_after(core::Duration delay);

    const Options options_;
    const HomeContext context_;
    DueClock clock_{context_.clock};
    Owner& owner_;

    /// Append time; before the first one so low that a delay can still be added.
    core::Timestamp newest_ = core::Timestamp::min() + std::chrono::hours{24 * 365};
    DoneTracker tracker_;
    RecentDeliveries recent_;
    std::unique_ptr<log::PartitionReader> reader_;
    std::optional<Due> head_;
    std::map<core::Offset, core::Timestamp> due_of_;  ///< of records that are read and not finished
    core::Offset expected_ = 0;  ///< the offset of the next record, if there is no gap
    bool paused_ = false;
    bool caught_up_ = false;  ///< it has come to the end, or to a record that is not due, once
    core::Lifetime lifetime_{context_.executor};
    std::optional<core::MonoTime> timer_at_;   ///< when the timer fires that is set
    core::Lifetime timer_{context_.executor};  ///< renewed when one is set: those before are stale
};

}  // namespace beckon::retry
