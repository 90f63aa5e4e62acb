#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "fold/state.hpp"
#include "log/event_log.hpp"
#include "retry/webhook/directory.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace beckon::retry {

/// Removes from the log what is left there of deleted webhooks: records `<id>/state` and
/// `<id>/filter` whose writer did not know yet that the webhook was deleted. Without that they
/// would stay in the log, which is compacted, and in every fold of it.
///
/// A record whose webhook is not known proves nothing by itself: compaction may have kept a later
/// record of the webhook. So it is removed only if the webhook is still missing when a read barrier
/// has passed that was written after it was read: all records of the webhook come before that.
/// Nothing is removed by a process that could not decode a record: it may be the webhook's.
///
/// On the executor's thread. A write that fails is tried again by a later call.
class LeftRecords {
public:
    /// Webhooks of one partition whose records one call removes.
    static constexpr std::size_t kAtOnceMost = 64;

    struct Context {
        core::Partition partitions = 16;
        const WebhookDirectory& webhooks;
        log::Publisher& publisher;
        core::Executor& executor;
        /// Answers when `webhooks` has all records that the partition has at the call.
        std::function<void(core::Partition, fold::Answer)> confirm;
        /// Whether this node removes those of the partition: at a time one node does.
        std::function<bool(core::Partition)> ours;
    };
    explicit LeftRecords(Context context);

    /// Call it now and then, while all webhooks are known. It does nothing while the records of the
    /// last call are being removed.
    void remove_some();

private:
    void remove(core::Partition partition, const std::vector<std::string>& ids);
    void publish(core::Partition partition, core::Record record);
    bool may_remove(const std::string& id, core::Partition partition) const;

    const Context context_;
    std::size_t open_ = 0;  ///< read barriers and writes without an answer
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
