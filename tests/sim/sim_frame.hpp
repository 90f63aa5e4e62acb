#pragma once

#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"
#include "log/topic.hpp"
#include "sim/hostile_time.hpp"
#include "sim/story.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace beckon::sim {

/// The frame of a simulated world: true time, its executor, dice, and the list of broken promises.
/// One thread; everything follows from the seed and the story.
class SimFrame {
public:
    SimFrame(std::uint64_t seed, Clocks clocks, bool prints);
    SimFrame(const SimFrame&) = delete;
    SimFrame& operator=(const SimFrame&) = delete;

    /// Promises that the run broke.
    std::vector<std::string> broken;
    /// The events of the run with their times, for a developer; empty unless it `prints`.
    std::vector<std::string> diary;

protected:
    ~SimFrame() = default;

    bool chance(std::uint64_t percent) { return below(100) < percent; }
    std::uint64_t below(std::uint64_t limit) { return (*dice_)() % limit; }
    core::Duration up_to(core::Duration most) {
        return core::Duration{
            static_cast<core::Duration::rep>(below(static_cast<std::uint64_t>(most.count()) + 1))};
    }

    /// `happen(step)` with the dice of the step; then its time goes by.
    template <class Act, class Happen>
    void play(const StepOf<Act>& step, Happen happen) {
        std::mt19937_64 own{step.dice};
        dice_ = &own;
        happen(step);
        dice_ = &random_;
        executor_.run_for(step.then);
    }
    void fail(const std::string& what);
    void report(const std::string& what);
    /// One ring for all runs: nothing that is checked depends on it.
    static std::shared_ptr<const core::KeyRing> keys();
    /// Over all records of these log topics.
    static std::uint64_t fingerprint_of(const log::MemoryLog& log,
                                        const std::vector<log::Topic>& topics,
                                        core::Partition partitions);
    /// Compacts these log topics, and `ownership`.
    void compact(log::MemoryLog& log, const std::vector<log::Topic>& topics,
                 core::Partition partitions);

    const bool prints_;
    const bool hostile_;
    std::mt19937_64 random_;
    std::mt19937_64* dice_ = &random_;  ///< a step has its own
    test::ManualClock clock_;           ///< the true time
    HostileTime time_;
    test::SimExecutor executor_{clock_};
};

}  // namespace beckon::sim
