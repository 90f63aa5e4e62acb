#pragma once

#include "core/backoff.hpp"
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "fold/input.hpp"
#include "fold/progress.hpp"
#include "fold/state.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace beckon::fold {

/// Brings records from the inputs' readers to the state, within the budget of a turn and in chunks,
/// so that no input keeps the others waiting. A reader that fails is tried again, or replaced. It
/// is the turn over all inputs; an Input is one partition, which opening, catch-up and queries use
/// too.
class Intake {
public:
    struct Limits {
        std::size_t records = 0;  ///< of one input in one turn
        core::Duration time{};    ///< after which no new chunk is begun
        std::size_t bytes = 0;    ///< likewise, if there is such a bound: then a chunk is a record
        bool applies_backpressure =
            false;  ///< its readers do: log::PartitionReader::applies_backpressure()
    };
    struct Context {
        State& state;
        log::EventLog& log;
        core::Executor& executor;
        const core::Clock& clock;
        Failures& failures;
    };
    /// `retry`: the pauses before a useless reader is replaced. `ready`: records are there, or a
    /// reader is: a turn is worth it.
    Intake(Inputs& inputs, const Limits& limits, const Context& context, core::Backoff retry,
           std::function<void()> ready);

    /// Begins to read each input where it was set to begin.
    void open_all();
    void close();

    /// One turn: replays, and notifies the state where each input stands. True if there is more to
    /// take. Error `out_of_range`: the log does not have the records any more. Must not be called
    /// before open_all().
    core::Result<bool> turn();

private:
    void open(InputIndex input);
    core::Result<bool> take(InputIndex input, std::size_t& budget);
    core::Result<void> not_read(InputIndex input, const core::Error& why);
    void report_end(InputIndex input);

    Inputs& inputs_;
    const Limits limits_;
    const Context context_;
    const std::function<void()> ready_;
    const core::Backoff retry_;
    std::vector<core::Backoff> retries_;  ///< of each input
    std::size_t bytes_ = 0;               ///< of this turn
    std::size_t first_ = 0;               ///< of the next turn: inputs take turns at being first
    core::Lifetime lifetime_;             ///< renewed by close()
};

}  // namespace beckon::fold
