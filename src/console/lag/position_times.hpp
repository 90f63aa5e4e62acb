#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace beckon::console {

/// Estimates when the records of one partition were appended: samples of offsets and their times,
/// and straight lines between them. It gives a lag in seconds without reading the records. A value;
/// bounded.
class PositionTimes {
public:
    /// Above it every other sample of the older half is dropped.
    static constexpr std::size_t kSamplesMax = 128;

    /// The record at `offset` was, or the next one will be, appended at `time`. Samples that go
    /// back in both are taken in order of their offsets; times never fall from one to the next.
    void learn(core::Offset offset, core::Timestamp time);

    /// About when the record at `offset` was appended. Above the newest sample: the newest time.
    /// nullopt: it is older than the oldest sample, so the log has to be read.
    std::optional<core::Timestamp> at(core::Offset offset) const;

    /// How many records below `offset` were appended at or before `time`, counted from `from`.
    core::Offset until(core::Timestamp time, core::Offset from, core::Offset offset) const;

    std::size_t size() const { return samples_.size(); }

private:
    struct Sample {
        core::Offset offset = 0;
        core::Timestamp time{};
    };
    void thin();

    std::vector<Sample> samples_;  ///< offsets rise, times do not fall
};

}  // namespace beckon::console
