#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/until.hpp"
#include "records/done.hpp"
#include "retry/home/tiers/due.hpp"
#include "retry/home/tiers/home_context.hpp"
#include "retry/home/tiers/tier.hpp"
#include "retry/home/tiers/tier_scan.hpp"
#include "retry/home/tiers/tier_state.hpp"
#include "retry/home/tiers/tier_table.hpp"
#include "retry/later_turn.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beckon::retry {

/// Logs that a position which was recorded lies above the end of its log: the topic was deleted and
/// made anew. What had waited there is lost; what is there now is taken from its start.
void report_made_anew(log::TopicPartition where, core::Offset position, core::Offset end);

/// All tiers of one partition at their home: hands on due deliveries, promotes failed ones to their
/// next tier, and keeps `retry.done`. It exists while its node holds the lease of the partition; a
/// new owner starts another one from the last DoneRecord.
///
/// Order of things: the next tier has the delivery durably before the current record is finished,
/// so a crash leaves copies and loses nothing. The copies of a promotion are recognised at the next
/// tier, and a take-over reads the promotions since the last DoneRecord, so that it repeats no
/// attempt whose failure is already in the log.
///
/// Used on the executor's thread.
class PartitionTiers final : private Tier::Owner {
public:
    static constexpr core::Duration kRecordEvery = std::chrono::milliseconds{200};

    struct Options {
        core::Partition partition = 0;
        TierTable table;
        core::NodeId node;
        core::Epoch epoch = 0;
        std::optional<DoneRecord> from{};  ///< nullopt: nothing is finished
        std::size_t window_max = 4'096;    ///< deliveries handed on and not finished
        std::size_t window_bytes_max = 8 << 20;
    };
    struct Events {
        /// A delivery is due. It is answered by one of the calls below, in any order.
        std::function<void(Due)> due;
        /// Deliveries come from now on.
        std::function<void()> started;
        /// The partition cannot be served: `conflict` (the tiers hold deliveries that were timed by
        /// another tier table; both are in the message), `out_of_range`, `corrupt`, `not_found`.
        std::function<void(const core::Error&)> failed;
    };

    PartitionTiers(Options options, HomeContext context, Events events);

    void start();

    /// Nothing more is to be done for it.
    void finish(const Ticket& ticket);
    /// Writes it to another tier, with one hop more, then finishes the ticket. Publishes again
    /// until the log has it.
    void promote(const Ticket& ticket, Delivery delivery, int tier);
    /// Writes it to `retry.dead`, then finishes the ticket. `delivery.last` has the reason.
    void dead_letter(const Ticket& ticket, Delivery delivery);

    /// Events of this partition below `next` need not be fanned out again; goes with the
    /// DoneRecord.
    void fanned_out_up_to(core::Offset next);

    /// While paused it hands on nothing.
    void set_paused(bool is);
    /// Hands on nothing more, writes a last DoneRecord, and answers when the log has it or has
    /// failed. Deliveries in the window stay for the next owner.
    void stop(std::function<void()> stopped);

    /// Of the take-over: records that its scans have read, and those that they have yet to read.
    struct Scanned {
        core::Offset read = 0;
        core::Offset left = 0;
    };
    Scanned scanned() const;
    /// The state of each tier; empty until start() is over.
    std::vector<TierState> states() const;
    /// Events below are fanned out.
    core::Offset events_next() const { return events_next_; }
    std::size_t in_window() const { return window_.size(); }

private:
    /// In place of a tier's number, behind all of these.
    static constexpr int kDead = std::numeric_limits<int>::max();
    /// Where deliveries stand: a tier, or `retry.dead`.
    struct Place {
        std::unique_ptr<TierScan> scan;  ///< of the take-over
        TierScan::Found found;           ///< by that
        core::Offset scan_from = 0;      ///< see DoneRecord::Tier::scan
        core::Offset scan_began = 0;     ///< where the scan of this take-over began
        std::unique_ptr<Tier> tier;      ///< null until started, and for `retry.dead`
        std::size_t in_window = 0;       ///< deliveries that were handed on and are not finished
        std::size_t publishing = 0;      ///< promotions to it that the log has not confirmed
        /// Of these the ones that the log may have all the same, somewhere behind scan_from.
        std::size_t in_doubt = 0;
    };
    /// A record on its way to a place.
    struct Promotion {
        int to = kDead;
        Ticket ticket;
        core::Record record;
        std::pair<std::string, std::uint32_t> name;  ///< id and hop
        bool in_doubt = false;                       ///< the log may have it since an earlier try
        core::MonoTime sent{};                       ///< the last try
    };

    log::TopicPartition at(int place) const;
    log::Until again() const { return {lifetime_, context_.executor}; }
    const DoneRecord::Tier* recorded(int tier) const;
    std::optional<core::Offset> scan_start(int place) const;
    bool is_timed_otherwise(int tier) const;
    void scan(int place);
    void scan_done(int place, const core::Result<TierScan::Found>& found);
    void note_waiting(int place, core::Offset offset);
    bool refuse_other_table();
    void open_tier(int tier);
    void count_lost(int tier, OffsetRange range, const Finished& finished);

    void read_gap(int tier, OffsetRange gap, const Finished& finished) override;
    bool has_capacity(int tier) const override;
    bool went_on(const Delivery& delivery) const override;
    bool is_unconfirmed(const Delivery& delivery) const override;
    void take(Due due) override;
    void set_aside(const Due& unreadable) override;
    void fail(const core::Error& why) override;

    void take_into_window(const Due& due);
    void turn_tiers();
    void publish(int to, const Ticket& ticket, const Delivery& delivery);
    void written(const Promotion& promotion, const log::Appended& where);

    bool has_read_sources() const;
    core::Offset scanned_up_to(const Place& place) const;
    DoneRecord done_record() const;
    bool changed() const;
    void record_soon();
    void record(std::function<void()> then);

    const Options options_;
    const HomeContext context_;
    const Events events_;
    core::Lifetime lifetime_{context_.executor};  ///< answers may come when the executor is gone

    std::map<int, Place> places_;  ///< by tier
    std::size_t scans_left_ = 0;   ///< of the take-over
    bool opened_ = false;          ///< the tiers are
    std::unordered_map<std::string, std::uint32_t>
        seen_;                              ///< the highest hop of each promoted delivery
    std::optional<int> waiting_otherwise_;  ///< a tier with deliveries that wait by another table
    /// Deliveries (id and hop) whose promotions the log has not confirmed.
    std::set<std::pair<std::string, std::uint32_t>> unconfirmed_;
    std::map<Ticket, std::size_t> window_;  ///< bytes of each delivery that was handed on
    std::size_t window_bytes_ = 0;
    LaterTurn turn_tiers_{context_.executor, [this] { turn_tiers(); }};  ///< there is space
    bool stopping_ = false;
    bool paused_ = false;
    bool recording_ = false;  ///< a DoneRecord is on its way
    bool unrecorded_ = true;  ///< none was written yet, or the last one failed
    core::Offset events_next_ = options_.from ? options_.from->events_next : 0;
};

}  // namespace beckon::retry
