#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "retry/later_turn.hpp"
#include "retry/webhook/webhooks_changed.hpp"

#include <functional>
#include <map>
#include <vector>

namespace beckon::retry {

/// How far a thread's copy of the webhooks has come in each partition of `webhooks`, and the
/// changes that events wait for. One thread.
class WebhookProgress {
public:
    /// Webhooks that events wait for are asked for with a read barrier so often.
    static constexpr core::Duration kCatchUpEvery = std::chrono::seconds{1};

    struct Events {
        /// Something of this partition is missing for a while: calls has_read() once all that is
        /// there now has been folded.
        std::function<void(core::Partition, core::Offset)> catch_up;
        /// Nothing is missing any more.
        std::function<void()> has_all;
    };

    WebhookProgress(core::Partition partitions, core::Executor& executor, Events events);

    /// All records below `next` have been folded, those that compaction has removed too.
    void has_read(core::Partition partition, core::Offset next);
    /// All webhooks are read again.
    void clear();
    /// Whether the copy has these changes. If not, Events::has_all comes.
    bool has(const WebhooksChanged& changed);

private:
    void catch_up();

    const Events events_;
    std::vector<core::Offset> next_;  ///< of each partition
    std::map<core::Partition, core::Offset> missing_;
    LaterTurn catch_up_;
};

}  // namespace beckon::retry
