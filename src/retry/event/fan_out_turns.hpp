#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "retry/filter/steps.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace beckon::retry {

/// Whose events are fanned out next on a thread, all partitions together. Owners take turns by
/// deficit round robin, and what a part of the work cost is paid by the owner whose it was: an
/// event of somebody who takes little waits for the part that is being done, whatever others have
/// waiting (RoundRobin). The work of one owner is done in order.
///
/// Deliveries on their way to the log, and their bytes, have a bound, of which each owner may hold
/// a share of what is free (FairShare); an owner who holds its share waits. On the executor's
/// thread.
class FanOutTurns {
public:
    static constexpr std::size_t kDeliveriesMax = 8'192;
    static constexpr std::size_t kBytesMax = std::size_t{32} << 20;
    /// About so many steps are one part of some work, and what is done before the thread has other
    /// turns: some tenths of a millisecond.
    static constexpr std::size_t kPart = Steps::kMaxOfFilter / 4;
    /// What an owner is given in each round.
    static constexpr std::size_t kQuantum = 4'096;

    /// What a part has cost, and whether the work is over with it.
    struct Done {
        std::size_t steps = 0;
        bool over = true;
    };
    /// Does a part of some work. What throws is counted (core/contain.hpp), and is called again in
    /// its owner's next turn.
    using Work = std::function<Done()>;
    /// To be called once, on the executor's thread; does nothing when the turns are gone.
    using Release = std::function<void()>;

    explicit FanOutTurns(core::Executor& executor);
    ~FanOutTurns();
    FanOutTurns(const FanOutTurns&) = delete;
    FanOutTurns& operator=(const FanOutTurns&) = delete;

    /// While paused nothing more is begun; what waits keeps its place.
    void set_paused(bool is);
    /// The last of this owner's work.
    void add(const std::string& owner, Work work);
    /// A delivery of the owner, of an event with so many bytes, is on its way until it is released.
    [[nodiscard]] Release hold(const std::string& owner, std::size_t bytes);
    /// Whether the owner may have more on its way.
    bool has_capacity(const std::string& owner) const;

    /// Of which something is remembered: those with work or deliveries, and up to 1,024 others, or
    /// as many.
    std::size_t owners() const;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace beckon::retry
