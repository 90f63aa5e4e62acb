#pragma once

#include "log/traffic.hpp"

#include <chrono>
#include <cstddef>

namespace beckon::log::embedded {

/// How long the writer lets puts (the records that endpoints publish) linger, so that they share a
/// write, a sync, and the wake-ups of their readers. Under light traffic no put lingers. Under
/// heavy traffic batches begin some milliseconds apart
/// (docs/decisions/0198-messages-are-batched-under-load.md).
///
/// Closed-loop senders, which send again after their answer, send no further puts once each of them
/// has sent one. So the writer lets one batch in kProbeEvery linger for twice the time, and counts
/// the puts of the second half. After two such batches without any, the following batches close as
/// soon as they have as many puts. It takes two, because a sender that waits for a processor does
/// not send either. Not thread-safe.
class Linger {
public:
    static constexpr std::size_t kProbeEvery = 128;

    /// The time between the beginnings of batches; 0: no batch waits.
    SteadyTime::duration pace(SteadyTime now) const;
    /// When the next batch begins at that pace, unless enough() puts are there before.
    SteadyTime due(SteadyTime::duration pace) const { return last_ + pace; }
    /// A batch with so many puts closes at once.
    std::size_t enough() const { return enough_; }
    /// True if a batch that has so many puts when it is due lingers for the pace once more.
    bool probes(std::size_t puts) const { return until_probe_ == 0 && puts > 0; }
    /// Takes a probe's counts: the batch's puts when it was due, and in the end.
    void probed(std::size_t when_due, std::size_t in_the_end);
    /// A batch with so many puts begins.
    void begun(std::size_t puts, SteadyTime now);

private:
    static constexpr std::size_t kNever = static_cast<std::size_t>(-1);

    Traffic traffic_;
    SteadyTime last_;  ///< when the last batch began
    std::size_t enough_ = kNever;
    std::size_t until_probe_ = 0;  ///< batches
    std::size_t all_came_ = 0;     ///< puts of the last probe, if none came late
};

/// The time between the beginnings of batches at so many puts a second.
std::chrono::milliseconds batch_pace(std::size_t per_second);

}  // namespace beckon::log::embedded
