#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "records/done.hpp"
#include "retry/tiers/due.hpp"
#include "retry/tiers/tier.hpp"
#include "retry/tiers/tier_state.hpp"
#include "retry/tiers/tier_table.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace beckon::retry {

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
class PartitionTiers {
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

    PartitionTiers(Options options, log::EventLog& log, log::Publisher& publisher,
                   core::Executor& executor, const core::Clock& clock, Events events);
    ~PartitionTiers();
    PartitionTiers(const PartitionTiers&) = delete;
    PartitionTiers& operator=(const PartitionTiers&) = delete;

    void start();

    /// Nothing more is to be done for it.
    void finish(const Ticket& ticket);
    /// Writes it to another tier, with one hop more, then finishes the ticket. Publishes again
    /// until the log has it.
    void promote(const Ticket& ticket, Delivery delivery, int tier);
    /// Writes it to `retry.dead`, then finishes the ticket. `delivery.last` has the reason.
    void dead_letter(const Ticket& ticket, Delivery delivery);

    /// Writes this, again until the log has it; then calls `then`.
    void set_fan_out(FanOutState state, std::function<void()> then);
    /// The fan-out has ended in order: the next DoneRecord records it.
    void fan_out_ended();
    /// Events of this partition below `next` need not be fanned out again; goes with the
    /// DoneRecord.
    void fanned_out_up_to(core::Offset next);

    /// While paused it hands on nothing.
    void set_paused(bool is);
    /// Hands on nothing more; stop() comes.
    void stop_taking();
    /// Hands on nothing more, writes a last DoneRecord, and answers when the log has it or has
    /// failed. Deliveries in the window stay for the next owner.
    void stop(std::function<void()> stopped);

    struct Counts {
        Tier::Counts tiers;  ///< of all tiers together
        std::uint64_t promoted = 0;
        std::uint64_t dead_lettered = 0;
        std::uint64_t lost = 0;  ///< fell off the log before they were finished
    };
    Counts counts() const;
    /// The state of each tier; empty until start() is over.
    std::vector<TierState> states() const;
    /// Events below are fanned out.
    core::Offset events_next() const;
    std::size_t in_window() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
