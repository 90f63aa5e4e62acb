#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace beckon::fold {

/// Marks of one partition (DESIGN §3): proof of having seen all that was in the log when a question
/// came. A question uses only a mark that is *published after* it arrived: at most one mark is
/// under way and one set of questions is collecting for the next.
///
/// Used on one thread, that of `executor`, which also runs the fold of the partition.
class Marker {
public:
    /// Empty result: everything that stood in the partition when ask() was called has been folded.
    /// Errors: timed_out, unavailable; then never the negative answer (DESIGN §3).
    using Answer = std::function<void(const core::Result<void>&)>;

    static constexpr core::Duration kTimeout = std::chrono::seconds{2};

    Marker(log::TopicPartition where, const core::NodeId& node, log::Publisher& publisher,
           core::Executor& executor, const core::Clock& clock, core::LogClock* log_clock = nullptr);
    ~Marker();
    Marker(const Marker&) = delete;
    Marker& operator=(const Marker&) = delete;

    /// Answers later, on the same thread; never from within.
    void ask(Answer answer);

    /// The fold has passed everything below `next` (durably, as far as it ever is).
    void passed(core::Offset next);

    /// Questions without an answer.
    std::size_t unanswered() const;

private:
    struct State;
    std::shared_ptr<State>
        state_;  ///< shared with reports and timers under way, which may outlive us
};

}  // namespace beckon::fold
