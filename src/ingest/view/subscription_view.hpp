#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "fold/fold.hpp"
#include "fold/restored.hpp"
#include "ingest/metrics/ingest_metrics.hpp"
#include "log/event_log.hpp"
#include "store/subscription_store.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::ingest {

struct ViewConfig {
    core::NodeId node;
    core::Partition partitions = 0;
    core::Duration delete_retention = std::chrono::hours{24 * 7};
    std::size_t queries_max = 10'000;  ///< waiting for read barriers or writes; more are refused
};

/// Whether the view may be relied on, and if not, why.
struct ViewReadiness {
    bool ready = false;
    std::string why;
    bool operator==(const ViewReadiness&) const = default;
};

/// The endpoint's view of all subscriptions: folds every partition of `subscriptions` into a store,
/// one fold::Fold each, and reports when it has read enough to deny that something exists.
///
/// Made, started and destroyed on the thread of `executor`, which folds. find(), ready(),
/// confirm() and wait_for() may be called from any thread; their answers come through the
/// executor that the caller names.
class SubscriptionView {
public:
    using Answer = fold::Answer;

    /// `readiness_changed` runs on the executor when the view becomes, or ceases to be, complete
    /// and able to go on.
    SubscriptionView(ViewConfig config, log::EventLog& log, core::Executor& executor,
                     const core::Clock& clock, store::SubscriptionStore& store,
                     IngestMetrics& metrics,
                     std::function<void(const ViewReadiness&)> readiness_changed);
    ~SubscriptionView();

    void start();

    /// True while read barriers have passed on every partition and none is stuck.
    bool ready() const { return ready_.load(std::memory_order_acquire); }

    core::Result<std::optional<store::SubscriptionStore::Subscription>> find(
        const core::Uaid& uaid, const core::ChannelId& channel) const {
        return store_.find(uaid, channel);
    }
    const store::SubscriptionStore& store() const { return store_; }

    /// Answers when the view has folded all records that were in the client's partition at the
    /// call: a client or channel that it does not know then does not exist. Errors: unavailable
    /// (not complete yet, restarted meanwhile, or the log is away), timed_out, full.
    void confirm(const core::Uaid& uaid, core::Executor& caller, Answer answer);

    /// Answers when the view has folded `offset` of the client's partition, so that the record
    /// written there is usable here. Errors: as confirm().
    void wait_for(const core::Uaid& uaid, core::Offset offset, core::Executor& caller,
                  Answer answer);

    /// How far each partition has come. On the executor's thread.
    std::vector<fold::Progress> progress() const;

private:
    class PartitionState;

    void update_readiness();
    ViewReadiness readiness() const;
    void measure();
    void confirm_here(core::Partition partition, core::Executor& caller, Answer answer);
    void wait_here(core::Partition partition, core::Offset offset, core::Executor& caller,
                   Answer answer);
    bool admit(core::Executor& caller, const Answer& answer);
    Answer counted(core::Executor& caller, Answer answer);
    fold::Fold& fold_of(core::Partition partition);

    const ViewConfig config_;
    core::Executor& executor_;
    const core::Clock& clock_;
    store::SubscriptionStore& store_;
    IngestMetrics& metrics_;
    const std::function<void(const ViewReadiness&)> readiness_changed_;

    std::unique_ptr<log::Publisher> publisher_;
    std::vector<std::unique_ptr<PartitionState>> partitions_;
    std::vector<fold::RestoreMeter> meters_;  ///< by partition
    std::string restored_;                    ///< as last measured; empty: nothing is restored
    std::size_t queries_ = 0;                 ///< without an answer
    ViewReadiness notified_;
    std::atomic<bool> ready_ = false;

    core::Lifetime lifetime_;
    const core::Lifetime::Remote remote_{lifetime_.remote()};
};

}  // namespace beckon::ingest
