#pragma once

#include "core/backoff.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "fold/failures.hpp"
#include "fold/input.hpp"
#include "fold/state.hpp"

#include <string>
#include <string_view>

namespace beckon::fold {

/// Commits a state, and knows whether the last try failed and whether the state dropped its changes
/// then.
class Commits {
public:
    /// `name`: of the fold, in log lines.
    Commits(State& state, const Inputs& inputs, Failures& failures, std::string_view folder,
            std::string name);

    /// Error: as State::commit(). Logs one line for each series of failures.
    core::Result<void> commit();
    /// The last commit failed: it is repeated before the fold takes more records.
    bool failed() const { return failed_; }
    /// After a failure: true if the state has dropped its uncommitted changes, since one of its
    /// reads failed.
    bool gone_back() const;
    /// How long to wait before the next try.
    core::Duration pause() { return retry_.pause(); }
    /// The fold begins again: uncommitted changes are void.
    void begin_again() { failed_ = false; }

private:
    void log_failure(const core::Error& why) const;

    State& state_;
    const Inputs& inputs_;
    Failures& failures_;
    const std::string_view folder_;
    const std::string name_;
    core::Backoff retry_;
    bool failed_ = false;
};

}  // namespace beckon::fold
