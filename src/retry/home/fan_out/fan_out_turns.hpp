#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "retry/event/filter/steps.hpp"
#include "retry/later_turn.hpp"
#include "retry/owner_budget.hpp"

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
/// the free capacity (OwnerBudget); an owner that holds its share waits. On the executor's thread.
class FanOutTurns {
public:
    static constexpr std::size_t kDeliveriesMax = 8'192;
    /// About so many steps are one part of some work. The thread's other turns come between parts:
    /// after some fifty microseconds.
    static constexpr std::size_t kPart = Steps::kMaxOfFilter / 8;
    /// The steps that an owner is given in each round.
    static constexpr std::size_t kQuantum = 4'096;

    /// The cost of a part, and whether the work is over.
    struct Done {
        std::size_t steps = 0;
        bool over = true;
    };
    /// Does a part of some work. An exception is counted (core/contain.hpp), and the work is called
    /// again in its owner's next turn.
    using Work = std::function<Done()>;
    /// A delivery that is on its way, until the last copy goes, on the executor's thread; that may
    /// be when the turns are gone.
    using Held = std::shared_ptr<const void>;

    explicit FanOutTurns(core::Executor& executor)
        : next_turn_(executor, [this] { turn(); }), lifetime_(executor) {}

    /// While paused no further part begins; queued work keeps its place.
    void set_paused(bool is);
    /// Appends to this owner's work.
    void add(const std::string& owner, Work work);
    [[nodiscard]] Held hold(const std::string& owner);
    /// Whether the owner may have more on its way.
    bool has_capacity(const std::string& owner) const {
        return budget_.has_share(owner, kDeliveries);
    }

private:
    static constexpr std::size_t kDeliveries = 0;  ///< the resource of the budget
    /// Turns are counted as time; this is the time of a step.
    static constexpr core::Duration time_of(std::size_t steps) {
        return std::chrono::nanoseconds{20} * static_cast<core::Duration::rep>(steps);
    }
    void wake();
    void turn();
    static Done part_of(const Work& work);

    OwnerBudget<Work, 1> budget_{time_of(kQuantum), {{{kDeliveriesMax}}}};
    LaterTurn next_turn_;
    bool paused_ = false;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
