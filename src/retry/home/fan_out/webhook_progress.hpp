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

/// Folds all records of this partition of `webhooks` up to now, and answers true; false: that is
/// not possible at present.
using CatchUp = std::function<void(core::Partition, std::function<void(bool)>)>;

/// How far a thread's copy of the webhooks has come in each partition of `webhooks`, and the
/// changes that events wait for. One thread.
class WebhookProgress {
public:
    /// Webhooks that events wait for are asked for with a read barrier so often.
    static constexpr core::Duration kCatchUpEvery = std::chrono::seconds{1};

    struct Events {
        CatchUp catch_up;
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

    /// Whether the copy follows the log; at first it does not.
    void set_up_to_date(bool is) { up_to_date_ = is; }
    bool is_up_to_date() const { return up_to_date_; }

private:
    void catch_up();

    const Events events_;
    std::vector<core::Offset> next_;  ///< of each partition
    std::map<core::Partition, core::Offset> missing_;
    bool up_to_date_ = false;
    LaterTurn catch_up_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
