#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "retry/filter/steps.hpp"
#include "retry/tiers/work_journal.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace beckon::retry {

/// Chooses the owner whose events a thread fans out next, over all partitions. Owners take turns by
/// deficit round robin, and each pays for its own work: an event of an owner that uses little waits
/// only for the part under way, however much work of others is queued (RoundRobin). The work of one
/// owner is done in order.
///
/// Deliveries on their way to the log have a bound, since the log writes other owners' records
/// behind them; none has more than kEventInDeliveryMax of an event. Each owner may hold a share of
/// the free capacity (FairShare); an owner that holds its share waits. On the executor's thread.
///
/// What takes long in one piece, the parse of a large event, is done on a thread of its own
/// (do_aside()): the owner's own events wait for it there, in the line of all
/// owners, and those of others are fanned out here meanwhile.
class FanOutTurns {
public:
    static constexpr std::size_t kDeliveriesMax = 8'192;
    /// About so many steps are one part of some work. The thread's other turns come between parts:
    /// after some fifty microseconds.
    static constexpr std::size_t kPart = Steps::kMaxOfFilter / 8;
    /// The steps that an owner is given in each round.
    static constexpr std::size_t kQuantum = 4'096;

    /// The cost of a part, and whether the work is over; `away`: it is called again after back().
    struct Done {
        std::size_t steps = 0;
        bool over = true;
        bool away = false;
    };
    /// Does a part of some work. An exception is counted (core/contain.hpp), and the work is called
    /// again in its owner's next turn.
    using Work = std::function<Done()>;
    /// Call it once, on the executor's thread; it does nothing when the turns are gone.
    using Release = std::function<void()>;

    /// Another thread, for do_aside(); it outlives the turns.
    struct Aside {
        core::Executor& executor;
        WorkJournal::Slot* journal = nullptr;  ///< of that thread; may be null
    };
    FanOutTurns(core::Executor& executor, Aside aside);
    ~FanOutTurns();

    /// While paused no further part begins; queued work keeps its place.
    void set_paused(bool is);
    /// Appends to this owner's work.
    void add(const std::string& owner, Work work);
    /// The owner's work goes on, which was away.
    void back(const std::string& owner);
    /// Does a piece of work of an owner that is away on the other thread, which throws nothing, and
    /// calls `then` here. An owner has one at a time, so each waits for one piece of each other.
    void do_aside(WorkJournal::Piece piece, std::function<void()> work, std::function<void()> then);
    /// A delivery of the owner is on its way until it is released.
    [[nodiscard]] Release hold(const std::string& owner);
    /// Whether the owner may have more on its way.
    bool has_capacity(const std::string& owner) const;

    /// The number of remembered owners: those with work or deliveries, and at most as many others,
    /// or 1,024.
    std::size_t owners() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
