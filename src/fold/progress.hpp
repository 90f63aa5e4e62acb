#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "log/topic.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How far a fold has come.
namespace beckon::fold {

enum class Phase : std::uint8_t {
    opening,    ///< asks the log for its time and its ends, decides on the checkpoint
    restoring,  ///< folds; that it has reached the end is not proven yet
    following,  ///< read barriers have passed since the (re)start
};
inline std::string_view to_string(Phase phase) { return core::name_of(phase); }

struct InputProgress {
    log::TopicPartition where;
    core::Offset position = 0;  ///< everything below is folded
    core::Offset end = 0;       ///< of the log, as last learned
    /// The age of the oldest record not folded; 0 at the end. Too small by at most the time
    /// between two queries for the end (EndsWatch::kEvery) where the reader brings nothing.
    core::Duration lag{};

    core::Offset lag_records() const { return end > position ? end - position : 0; }
};

/// How long something may fail before the fold is called stuck.
inline constexpr core::Duration kStuckAfter = std::chrono::seconds{5};

/// Something that the fold needs has failed for kStuckAfter, or failed for good.
struct Stuck {
    core::Timestamp since{};  ///< host time
    std::string why;
};

struct Progress {
    Phase phase = Phase::opening;
    /// In `restoring`: from the log's start, not from a checkpoint.
    bool from_start = false;
    std::vector<InputProgress> inputs;
    std::optional<Stuck> stuck;
};

}  // namespace beckon::fold
