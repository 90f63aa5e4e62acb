#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"
#include "fold/progress.hpp"
#include "fold/state.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace beckon::fold {

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
