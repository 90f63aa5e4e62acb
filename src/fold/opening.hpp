#pragma once

#include "core/backoff.hpp"
#include "core/checkpoint.hpp"
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "fold/input.hpp"
#include "fold/log_clock_publisher.hpp"
#include "fold/progress.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <functional>
#include <optional>

namespace beckon::fold {

/// Whether a fold may go on from its checkpoint: log start ≤ next ≤ end, and it equals the end or
/// was last caught up less than half of `delete_retention` ago (log time). Later than that,
/// compaction may have removed tombstones that it never read, and their messages would be pending
/// again. (The log id is checked when the store is opened.) Pure.
inline bool is_trusted(const core::Checkpoint& checkpoint, core::Offset log_start,
                       core::Offset log_end, core::Timestamp log_now,
                       core::Duration delete_retention) {
    if (checkpoint.next < log_start || checkpoint.next > log_end) return false;
    if (checkpoint.next == log_end) return true;
    return log_now - checkpoint.caught_up < delete_retention / 2;
}

/// The queries of a fold about its inputs. Before it reads: a first read barrier on every input,
/// then every input's ends, and whether the input is still the partition of which its checkpoint
/// was read; if one fails, that step is repeated after a pause. While it reads: the ends now and
/// then, so that progress knows how much is left, and whether each input is still the partition
/// that was read until now.
class Opening {
public:
    static constexpr core::Duration kEndsEvery = std::chrono::seconds{10};

    struct Context {
        log::EventLog& log;
        LogClockPublisher& publisher;
        core::Executor& executor;
        const core::Clock& clock;
        Failures& failures;
        std::function<std::optional<core::Checkpoint>(InputIndex)> checkpoint;
        bool barriers = true;  ///< else only the ends are asked for
        /// All inputs have their answers.
        std::function<void()> answered;
        /// An input that is read has become another partition; it may call cancel().
        std::function<void(InputIndex)> made_anew;
    };
    /// `retry`: the pauses.
    Opening(Inputs& inputs, core::NodeId node, Context context, core::Backoff retry);

    void begin();
    /// Asks for the ends once more, since `need` of this input failed after they were known.
    void ask_again(Need need, InputIndex input, const core::Error& why);
    /// The fold reads now: the next pause is a short one again.
    void succeeded();
    /// Answers that are under way are void.
    void cancel() { lifetime_.renew(); }

    /// While the fold reads: call it every second.
    void watch();

private:
    using Identity = std::function<void(const core::Result<bool>& made_anew)>;
    void first_barrier(InputIndex input);
    void ask_ends();
    void ask_ends(InputIndex input, std::function<void(const core::Result<void>&)> done);
    void ask_identity(InputIndex input, const log::ReadUpTo& known, Identity done);
    void identified(InputIndex input);
    void try_again(Need need, InputIndex input, const core::Error& why, void (Opening::*step)());
    void watched(InputIndex input, const core::Result<void>& ends);
    void not_watched(InputIndex input, const core::Error& why);

    Inputs& inputs_;
    const core::NodeId node_;
    const Context context_;
    core::Backoff retry_;
    std::size_t answers_missing_ = 0;  ///< of the step under way
    core::MonoTime watched_at_{};      ///< when the ends of all inputs were last asked for
    core::Lifetime lifetime_;
};

}  // namespace beckon::fold
