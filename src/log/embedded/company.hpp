#pragma once

#include "log/traffic.hpp"

#include <chrono>
#include <cstddef>

namespace beckon::log::embedded {

/// How long the writer waits until puts have company, so that they share a write, a sync, and the
/// wake-ups of those who read them. Where few come nothing waits. Where many come, batches begin
/// some milliseconds apart (docs/decisions/0203-puts-have-company-on-the-embedded-log-too.md).
///
/// Senders that each wait for their answer before they send again bring no more company once all of
/// them have sent. So one batch in kLearnEvery waits for twice its time, and looks whether puts
/// come late. If not, those after it go as soon as they have as many. Not thread-safe.
class Company {
public:
    static constexpr std::size_t kLearnEvery = 32;

    /// When the next batch begins, unless enough() puts are there before.
    SteadyTime due(SteadyTime now) const;
    /// More than these are not worth waiting for.
    std::size_t enough() const { return enough_; }
    /// Whether this batch is one that looks, and what it saw: the puts that were there when it was
    /// due, and in the end.
    bool learning() const { return until_learning_ == 0; }
    void learned(std::size_t when_due, std::size_t in_the_end);
    /// A batch with so many puts begins.
    void begun(std::size_t puts, SteadyTime now);

private:
    static constexpr std::size_t kNever = static_cast<std::size_t>(-1);

    Traffic traffic_;
    SteadyTime last_;  ///< when the last batch began
    std::size_t enough_ = kNever;
    std::size_t until_learning_ = 0;  ///< batches
};

/// How far apart batches begin where so many puts come a second.
std::chrono::milliseconds batch_pace(std::size_t per_second);

}  // namespace beckon::log::embedded
