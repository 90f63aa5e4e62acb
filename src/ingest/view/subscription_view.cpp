#include "ingest/view/subscription_view.hpp"

#include "records/client_gone.hpp"
#include "records/events.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace beckon::ingest {

using core::fail;
using core::Fault;

namespace {

constexpr std::size_t kTurnRecords = 512;
constexpr core::Duration kMeasureEvery = std::chrono::seconds{2};
/// Positions are reported under it, for lag tools.
constexpr const char* kGroup = "endpoint";

}  // namespace

/// One partition of the store, as its fold sees it.
class SubscriptionView::PartitionState final : public fold::State {
public:
    PartitionState(SubscriptionView& view, log::EventLog& log, core::Partition partition)
        : view_(view),
          partition_(partition),
          fold_({.folder = "ingest",
                 .inputs = {{log::Topic::kSubscriptions, partition}},
                 .node = view.config_.node,
                 .group = kGroup,
                 .delete_retention = view.config_.delete_retention,
                 .turn_records = kTurnRecords,
                 .queries_max = view.config_.queries_max},
                {log, *view.publisher_, view.executor_, view.clock_}, *this) {}

    fold::Fold& fold() { return fold_; }
    const fold::Fold& fold() const { return fold_; }

    std::optional<core::Checkpoint> checkpoint(fold::InputIndex) const override {
        return view_.store_.checkpoint(partition_);
    }
    void replay(fold::InputIndex, const core::RecordView& record) override {
        view_.metrics_.view_folded.Increment();
        if (const auto gone = core::decode_client_gone(record)) {
            dirty_ = true;
            return view_.store_.fold(partition_, *gone, record.time);
        }
        const auto event = core::decode_subscription(record, scratch_);
        if (std::holds_alternative<core::Unknown>(event)) {
            view_.metrics_.view_unknown.Increment();
            return;
        }
        dirty_ = true;
        view_.store_.fold(partition_, event, record.time);
    }
    void advance(fold::InputIndex, core::Offset next, std::optional<core::Timestamp> caught_up,
                 core::Timestamp youngest) override {
        dirty_ = true;
        next_ = next;
        view_.store_.advance(partition_, next, caught_up, youngest);
    }
    bool dirty() const override { return dirty_ || view_.store_.damaged(partition_); }
    bool commit_due() const override {
        return view_.store_.commit_due() || view_.store_.damaged(partition_);
    }
    core::Result<void> commit() override {
        if (view_.store_.damaged(partition_)) {
            return fail(Fault::corrupt, "a row of the view cannot be read back");
        }
        // All partitions share the store's batch, and a failure of another partition may have
        // dropped it.
        const auto kept = view_.store_.checkpoint(partition_);
        if (!kept || kept->next < next_) {
            return fail(Fault::unavailable, "uncommitted changes had to be dropped");
        }
        if (auto committed = view_.store_.commit(); !committed) return committed;
        dirty_ = false;
        return {};
    }
    core::Result<void> clear() override {
        dirty_ = false;
        next_ = 0;
        return view_.store_.clear(partition_);
    }
    void turn_ended() override {}
    void caught_up() override { view_.update_readiness(); }
    void restarted(std::string_view) override {
        dirty_ = false;
        next_ = 0;
        view_.update_readiness();
    }
    void progressed() override { view_.update_readiness(); }

private:
    SubscriptionView& view_;
    const core::Partition partition_;
    core::DecodeScratch scratch_;
    bool dirty_ = false;
    core::Offset next_ = 0;  ///< of the batch's content
    beckon::fold::Fold fold_;
};

SubscriptionView::SubscriptionView(ViewConfig config, log::EventLog& log, core::Executor& executor,
                                   const core::Clock& clock, store::SubscriptionStore& store,
                                   IngestMetrics& metrics,
                                   std::function<void(const ViewReadiness&)> readiness_changed)
    : config_(std::move(config)),
      executor_(executor),
      clock_(clock),
      store_(store),
      metrics_(metrics),
      readiness_changed_(std::move(readiness_changed)),
      publisher_(log.open_publisher(executor)),
      lifetime_(executor) {
    for (core::Partition p = 0; p < config_.partitions; ++p) {
        partitions_.push_back(std::make_unique<PartitionState>(*this, log, p));
    }
    meters_.resize(partitions_.size());
}

SubscriptionView::~SubscriptionView() { lifetime_.end(); }

void SubscriptionView::start() {
    for (const auto& partition : partitions_) partition->fold().start();
    executor_.post_after(kMeasureEvery, lifetime_.guard([this] { measure(); }));
}

fold::Fold& SubscriptionView::fold_of(core::Partition partition) {
    return partitions_[static_cast<std::size_t>(partition)]->fold();
}

std::vector<fold::Progress> SubscriptionView::progress() const {
    std::vector<fold::Progress> out;
    out.reserve(partitions_.size());
    for (const auto& partition : partitions_) out.push_back(partition->fold().progress());
    return out;
}

/// A stuck partition is the better reason, since it needs a person.
ViewReadiness SubscriptionView::readiness() const {
    ViewReadiness out{.ready = true, .why = {}};
    for (core::Partition p = 0; p < config_.partitions; ++p) {
        const auto now = partitions_[static_cast<std::size_t>(p)]->fold().progress();
        if (now.stuck) {
            return {false, "subscriptions/" + std::to_string(p) + " is stuck: " + now.stuck->why};
        }
        if (now.phase != fold::Phase::following) {
            out = {false, "the subscriptions are being read" +
                              (restored_.empty() ? std::string{} : ": " + restored_)};
        }
    }
    return out;
}

void SubscriptionView::update_readiness() {
    const auto now = readiness();
    if (now == notified_) return;
    notified_ = now;
    ready_.store(now.ready, std::memory_order_release);
    readiness_changed_(now);
}

void SubscriptionView::measure() {
    core::Offset records = 0;
    core::Duration oldest{};
    int stuck = 0;
    std::optional<fold::Restored> restored;
    for (core::Partition p = 0; p < config_.partitions; ++p) {
        const auto now = fold_of(p).progress();
        restored += meters_[static_cast<std::size_t>(p)].measure(now, clock_.mono());
        records += now.inputs.front().lag_records();
        if (now.phase != fold::Phase::opening) {
            metrics_.view_offset(p).Set(static_cast<double>(now.inputs.front().position));
        }
        oldest = std::max(oldest, now.inputs.front().lag);
        stuck += now.stuck ? 1 : 0;
    }
    metrics_.view_lag_records.Set(static_cast<double>(records));
    metrics_.view_lag_seconds.Set(std::chrono::duration<double>(oldest).count());
    metrics_.view_stuck.Set(stuck);
    restored_ = restored ? fold::to_string(*restored) : std::string{};
    update_readiness();
    executor_.post_after(kMeasureEvery, lifetime_.guard([this] { measure(); }));
}

void SubscriptionView::confirm(const core::Uaid& uaid, core::Executor& caller, Answer answer) {
    const auto partition = core::partition_of(uaid, config_.partitions);
    remote_.post([this, partition, &caller, answer = std::move(answer)] {
        confirm_here(partition, caller, answer);
    });
}

void SubscriptionView::wait_for(const core::Uaid& uaid, core::Offset offset, core::Executor& caller,
                                Answer answer) {
    const auto partition = core::partition_of(uaid, config_.partitions);
    remote_.post([this, partition, offset, &caller, answer = std::move(answer)] {
        wait_here(partition, offset, caller, answer);
    });
}

/// The bound holds for all partitions together.
bool SubscriptionView::admit(core::Executor& caller, const Answer& answer) {
    if (queries_ < config_.queries_max) {
        ++queries_;
        return true;
    }
    caller.post([answer] { answer(fail(Fault::full, "too many queries wait for the view")); });
    return false;
}

SubscriptionView::Answer SubscriptionView::counted(core::Executor& caller, Answer answer) {
    return [this, &caller, answer = std::move(answer)](const core::Result<void>& result) {
        --queries_;
        caller.post([answer, result] { answer(result); });
    };
}

void SubscriptionView::confirm_here(core::Partition partition, core::Executor& caller,
                                    Answer answer) {
    if (!admit(caller, answer)) {
        metrics_.count_barrier(BarrierOutcome::failed);
        return;
    }
    auto reply = counted(caller, std::move(answer));
    fold_of(partition).confirm(
        [this, asked = clock_.mono(), reply = std::move(reply)](const auto& barrier) {
            metrics_.count_barrier(barrier ? BarrierOutcome::passed : BarrierOutcome::failed);
            metrics_.barrier_seconds.Observe(
                std::chrono::duration<double>(clock_.mono() - asked).count());
            reply(barrier);
        });
}

void SubscriptionView::wait_here(core::Partition partition, core::Offset offset,
                                 core::Executor& caller, Answer answer) {
    if (!admit(caller, answer)) return;
    fold_of(partition).when_folded(0, offset, counted(caller, std::move(answer)));
}

}  // namespace beckon::ingest
