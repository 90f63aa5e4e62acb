#pragma once

#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace beckon::log::embedded {

/// Where the writer leaves the answers for one publisher, in the order of its publishes. However
/// many collect before the publisher's thread comes, they cost it one task.
class AnswerQueue {
public:
    using Answers = std::vector<core::Result<Appended>>;

    /// `collect` runs on the publisher's executor while the publisher lives.
    AnswerQueue(core::Lifetime::Remote publisher, core::Executor::Task collect)
        : publisher_(std::move(publisher)), collect_(std::move(collect)) {}

    /// The writer's thread collects the answers of one batch here, then sends them together.
    Answers staged;
    void send_staged() {
        bool first = false;
        {
            const std::scoped_lock lock{mutex_};
            first = answers_.empty();
            if (first) {
                answers_.swap(staged);
            } else {
                answers_.insert(answers_.end(), std::make_move_iterator(staged.begin()),
                                std::make_move_iterator(staged.end()));
            }
        }
        staged.clear();
        if (first) publisher_.post(collect_);
    }

    /// The publisher's thread takes the answers that came.
    void take(Answers& into) {
        into.clear();
        const std::scoped_lock lock{mutex_};
        into.swap(answers_);
    }

private:
    const core::Lifetime::Remote publisher_;
    const core::Executor::Task collect_;
    std::mutex mutex_;  ///< guards answers_
    Answers answers_;
};

}  // namespace beckon::log::embedded
