#pragma once

#include "core/backoff.hpp"
#include "core/checkpoint.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "fold/failures.hpp"
#include "fold/input.hpp"
#include "fold/log_clock_publisher.hpp"

#include <cstddef>
#include <functional>
#include <optional>

namespace beckon::fold {

/// The queries of a fold before it reads: a first read barrier on every input, then every input's
/// ends, and whether the input is still the partition of which its checkpoint was read. If one
/// fails, that step is repeated after a pause.
class Opening {
public:
    struct Context {
        log::EventLog& log;
        LogClockPublisher& publisher;
        core::Executor& executor;
        Failures& failures;
        std::function<std::optional<core::Checkpoint>(InputIndex)> checkpoint;
        bool barriers = true;  ///< else only the ends are asked for
    };
    /// `retry`: the pauses. `answered` is called once all inputs have their answers.
    Opening(Inputs& inputs, core::NodeId node, Context context, core::Backoff retry,
            std::function<void()> answered);

    void begin();
    /// Asks for the ends once more, since `need` of this input failed after they were known.
    void ask_again(Need need, InputIndex input, const core::Error& why);
    /// The fold reads now: the next pause is a short one again.
    void succeeded() { retry_.worked(); }
    /// Answers that are under way are void.
    void cancel() { lifetime_.renew(); }

private:
    void first_barrier(InputIndex input);
    void ask_ends();
    void ask_ends(InputIndex input);
    void ask_identity(InputIndex input);
    void answered(InputIndex input);
    void try_again(Need need, InputIndex input, const core::Error& why, void (Opening::*step)());

    Inputs& inputs_;
    const core::NodeId node_;
    const Context context_;
    const std::function<void()> answered_;
    core::Backoff retry_;
    std::size_t answers_missing_ = 0;  ///< of the step under way
    core::Lifetime lifetime_;
};

}  // namespace beckon::fold
