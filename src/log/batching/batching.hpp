#pragma once

#include "log/batching/steady_time.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace beckon::log {

/// When records that wait become the next batch of the log: of the embedded log's writer, and of
/// the puts to one partition of Kafka (docs/decisions/0198-messages-are-batched-under-load.md).
///
/// * It begins when nobody is left who could join: all senders that were active lately wait.
/// * It begins when the stage behind has room, which means that it has finished all batches but the
///   last one. What came meanwhile is the batch.
/// * Else it begins after the linger (Linger), which is 0 where the processors have time to spare.
/// * A stage that is full, several batches behind, is waited for in any case. So nothing is
///   accepted much faster than it is delivered.
/// * At the bound in time it begins in any case.
struct Batching {
    SteadyTime since{};                  ///< when this batch began to wait
    std::chrono::milliseconds wait_max;  ///< the bound in time
    SteadyTime::duration linger{};       ///< of the process: OwnLinger
    bool others_could_join = true;       ///< Senders::others_could_join()
    bool stage_has_room = false;
    bool stage_is_full = false;

    bool closes(SteadyTime now) const {
        return now >= due() || (!stage_is_full && (stage_has_room || !others_could_join));
    }
    /// When it begins if nothing changes before.
    SteadyTime due() const {
        const auto latest = since + wait_max;
        return stage_is_full ? latest : std::min(latest, since + linger);
    }
};

/// How many records a batch has at most: as many as the stage behind takes within the bound in
/// time. One that needs longer gets smaller batches. Not thread-safe.
class BatchSize {
public:
    struct Bounds {
        std::size_t least;
        std::size_t most;
    };
    BatchSize(const Bounds& bounds, std::chrono::milliseconds wait_max)
        : bounds_(bounds), wait_max_(wait_max), max_(bounds.least) {}

    std::size_t max() const { return max_; }
    /// A batch begins that waited for so long, until the stage had room (`early`) or the bound in
    /// time was over.
    void waited(SteadyTime::duration took, bool early);

private:
    const Bounds bounds_;
    const SteadyTime::duration wait_max_;
    std::size_t max_;
};

}  // namespace beckon::log
