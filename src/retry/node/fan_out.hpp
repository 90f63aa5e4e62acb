#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "retry/event/spreader.hpp"
#include "retry/webhook/directory.hpp"

#include <functional>
#include <map>
#include <memory>

namespace beckon::retry {

/// Writes the events of the partitions that this node serves to the webhooks that want them, on a
/// thread of its own: what a filter costs delays neither attempts nor the API. It has its own copy
/// of the webhooks. On the executor's thread.
class FanOut {
public:
    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        std::shared_ptr<const core::KeyRing> keys;
        core::Partition partitions = 1;
    };
    /// Both name the lease under which the fan-out was started; called on this thread.
    struct Events {
        std::function<void(core::Partition, core::Epoch, core::Offset next)> done_up_to;
        std::function<void(core::Partition, core::Epoch, const core::Error&)> failed;
    };

    FanOut(Context context, Events events);

    /// Folds a record of `webhooks`.
    void apply(const core::RecordView& record) { directory_.apply(record); }
    /// Whether the webhooks can be read; while they cannot, events wait in the log.
    void set_up_to_date(bool is);

    void start(core::Partition partition, core::Epoch epoch, core::Offset from);
    void stop(core::Partition partition);
    Spreader::Counts counts() const;

private:
    const Context context_;
    const Events events_;
    std::unique_ptr<log::Publisher> publisher_;
    WebhookDirectory directory_;
    bool up_to_date_ = true;
    Spreader::Counts left_;  ///< of those that ended
    std::map<core::Partition, std::unique_ptr<Spreader>> spreaders_;
};

}  // namespace beckon::retry
