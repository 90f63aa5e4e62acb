#pragma once

#include "core/lifetime.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace beckon::log::kafka {

/// Where the answers of one publisher go. The publisher has a share of it until it ends `lifetime`.
class AnswerRoute {
public:
    explicit AnswerRoute(core::Executor& executor)
        : lifetime(executor), publisher(lifetime.remote()) {}

    core::Lifetime lifetime;  ///< the publisher's; executor's thread only, as the next
    std::size_t unanswered = 0;
    const core::Lifetime::Remote publisher;

    /// Answers a record that was accepted. Any thread; answers that come before the executor's turn
    /// share one task there.
    void answer(AppendDone done, core::Result<Appended> result);

private:
    struct Answer {
        AppendDone done;
        core::Result<Appended> result;
    };
    void deliver();

    std::mutex mutex_;
    std::vector<Answer> answers_;  ///< under mutex_
};

/// A publish that librdkafka has: the opaque of its message. The answering thread frees it.
struct Unconfirmed {
    std::shared_ptr<AnswerRoute> route;
    AppendDone done;
    std::size_t bytes = 0;  ///< of the record (size_of())
};

}  // namespace beckon::log::kafka
