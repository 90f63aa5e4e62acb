#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "fold/state.hpp"
#include "log/topic.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
    /// between two queries for the end (Opening::kEndsEvery) where the reader brings nothing.
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

/// The services that a fold needs, each of which can fail.
enum class Need : std::uint8_t { log_time, ends, read, barrier, clear, commit };
std::string_view to_string(Need need);

/// The present failures of a fold, each with its beginning and reason. A need that has failed for
/// kStuckAfter makes the fold stuck: one error line when it begins, one line when it is over.
class Failures {
public:
    Failures(std::string_view folder, std::string name, const core::Clock& clock)
        : folder_(folder), name_(std::move(name)), clock_(clock) {}

    /// Notes a failure; only the first of a row counts for "since when". One that no retry helps
    /// (`corrupt`, `not_found`, `invalid`) makes the fold stuck at once.
    void failed(Need need, InputIndex input, const core::Error& why);
    void worked(Need need, InputIndex input) { failures_.erase({need, input}); }
    /// Begins anew: failed steps are not tried any more.
    void forget() { failures_.clear(); }

    /// Call it regularly: true if being stuck has begun or ended since the last call.
    bool update();
    const std::optional<Stuck>& stuck() const { return stuck_; }

private:
    struct Failure {
        core::MonoTime since{};
        core::Timestamp since_wall{};
        core::Error why;
    };
    bool lasts(const Failure& failure) const;

    const std::string_view folder_;
    const std::string name_;  ///< in log lines: the first input
    const core::Clock& clock_;
    std::map<std::pair<Need, InputIndex>, Failure> failures_;
    std::optional<Stuck> stuck_;
};

}  // namespace beckon::fold
