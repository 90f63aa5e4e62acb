#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "fold/state.hpp"
#include "log/event_log.hpp"

#include <optional>
#include <vector>

namespace beckon::fold {

/// Read barriers of one partition: proof of having seen all that was in the log when a query
/// came. A query uses only a read barrier that is *published after* it arrived: at most one read
/// barrier is under way and one set of queries is collecting for the next.
///
/// Used on one thread, that of `executor`, which also runs the fold of the partition.
class ReadBarrier {
public:
    ReadBarrier(log::TopicPartition where, core::NodeId node, log::Publisher& publisher,
                core::Executor& executor);

    /// Answers later, on the same thread; never from within. Success: everything that stood in the
    /// partition when ask() was called has been folded. Errors: timed_out (kAnswerTimeout),
    /// unavailable; then never the negative answer. The answer may destroy the ReadBarrier.
    void ask(Answer answer);

    /// The fold has passed everything below `next` (durably, as far as it ever is).
    void passed(core::Offset next);

    /// Answers every open query with `why`, from within.
    void refuse_all(const core::Error& why);

    /// Queries without an answer.
    std::size_t unanswered() const { return collecting_.size() + under_way_.size(); }

private:
    void publish();
    void reported(const core::Result<log::Appended>& result);
    void answer_all(const core::Result<void>& result);

    const log::TopicPartition where_;
    const core::NodeId node_;
    log::Publisher& publisher_;
    core::Executor& executor_;

    std::vector<Answer> collecting_;  ///< wait for the next read barrier
    std::vector<Answer> under_way_;   ///< wait for the published one; not empty: one is out
    std::optional<core::Offset>
        barrier_at_;  ///< of the read barrier under way, once its report came
    core::Offset passed_ = 0;

    core::Lifetime
        lifetime_;  ///< renewed with every read barrier, so that reports of older ones are stale
};

}  // namespace beckon::fold
