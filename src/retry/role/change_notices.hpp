#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "retry/webhook/webhooks_changed.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace beckon::retry {

/// Writes a WebhooksChanged into every partition of `events` before a change of a webhook is
/// answered: so an event that was posted after the answer is matched with the change, on whichever
/// node it is fanned out. Changes share a round of records: at most one round is under way, and the
/// next one begins kPerRecord for each record after it. On the executor's thread.
class ChangeNotices {
public:
    using Answer = std::function<void(const core::Result<void>&)>;
    static constexpr core::Duration kPerRecord = std::chrono::milliseconds{1};

    ChangeNotices(core::Partition partitions, core::NodeId node, log::Publisher& publisher,
                  core::Executor& executor);

    /// A record of `webhooks` was written at this offset. Answers when all partitions of `events`
    /// have a WebhooksChanged about it, or with the first failure.
    void announce(core::Partition partition, core::Offset offset, Answer answer);

private:
    struct Round {
        WebhooksChanged changed;
        std::vector<Answer> answers;
        std::size_t left = 0;  ///< records without a report
        core::Result<void> outcome;
    };
    void begin();
    void reported(const std::shared_ptr<Round>& round, const core::Result<log::Appended>& report);

    const core::Partition partitions_;
    const core::NodeId node_;
    log::Publisher& publisher_;
    core::Executor& executor_;
    Round collecting_;
    bool under_way_ = false;
    bool pausing_ = false;  ///< the last round began a moment ago
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
