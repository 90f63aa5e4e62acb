#pragma once

#include "core/clock.hpp"
#include "core/codec.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "fold/marker.hpp"
#include "ingest/metrics/ingest_metrics.hpp"
#include "log/event_log.hpp"
#include "store/subscription_store.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::ingest {

struct ViewConfig {
    core::NodeId node;
    core::Partition partitions = 0;
    core::Duration delete_retention = std::chrono::hours{24 * 7};
    std::size_t questions_max = 10'000;  ///< waiting for marks or writes; more are refused
};

/// The endpoint's view of all subscriptions (DESIGN §4): folds every partition of
/// `subscriptions` into a store, and says when it has seen enough to deny something.
///
/// Made, started and destroyed on the thread of `executor`, which folds. find(), ready(),
/// confirm() and wait_for() may be called from any thread; their answers come through the
/// executor that the caller names.
class SubscriptionView {
public:
    using Answer = std::function<void(const core::Result<void>&)>;

    /// `ready_changed` runs on the executor when the view becomes, or ceases to be, complete.
    SubscriptionView(ViewConfig config, log::EventLog& log, core::Executor& executor,
                     const core::Clock& clock, store::SubscriptionStore& store,
                     IngestMetrics& metrics, std::function<void(bool)> ready_changed);
    ~SubscriptionView();
    SubscriptionView(const SubscriptionView&) = delete;
    SubscriptionView& operator=(const SubscriptionView&) = delete;

    void start();

    /// True once every partition's fold has passed its first mark.
    bool ready() const { return unready_.load(std::memory_order_acquire) == 0; }

    std::optional<store::SubscriptionStore::Subscription> find(
        const core::Uaid& uaid, const core::ChannelId& channel) const {
        return store_.find(uaid, channel);
    }
    const store::SubscriptionStore& store() const { return store_; }
    /// False once the store has met rows that it cannot read back: absence proves nothing then.
    bool can_deny() const { return !store_.unreadable(); }

    /// Answers when the view has seen all that stood in the client's partition when this was
    /// called: what it still does not know then does not exist. Errors: unavailable (not complete
    /// yet, or the log is away), timed_out, full.
    void confirm(const core::Uaid& uaid, core::Executor& caller, Answer answer);

    /// Answers when the view has folded `offset` of the client's partition, so that what was
    /// written there is usable here. Errors: timed_out, full.
    void wait_for(const core::Uaid& uaid, core::Offset offset, core::Executor& caller,
                  Answer answer);

private:
    struct Fold;  ///< one partition
    struct Door;  ///< what other threads reach, also when the view is gone already

    void learn_clock();
    void open(core::Partition partition);
    void opened(core::Partition partition, const core::Result<log::Ends>& ends);
    void read_from(Fold& fold, core::Offset from);
    void first_mark(core::Partition partition);
    void restart(Fold& fold);
    void schedule_round();
    void round();
    bool take(Fold& fold);
    void passed(Fold& fold);
    void set_ready(Fold& fold, bool ready);
    void measure_lag();
    void confirm_here(core::Partition partition, core::Executor& caller, Answer answer);
    void wait_here(core::Partition partition, core::Offset offset, core::Executor& caller,
                   Answer answer);

    const ViewConfig config_;
    log::EventLog& log_;
    core::Executor& executor_;
    const core::Clock& clock_;
    store::SubscriptionStore& store_;
    IngestMetrics& metrics_;
    const std::function<void(bool)> ready_changed_;

    core::LogClock log_clock_;
    std::unique_ptr<log::Publisher> publisher_;
    std::vector<std::unique_ptr<Fold>> folds_;
    core::DecodeScratch scratch_;
    bool round_scheduled_ = false;
    bool commit_failed_ = false;
    std::atomic<int> unready_;
    std::shared_ptr<Door> door_;
};

}  // namespace beckon::ingest
