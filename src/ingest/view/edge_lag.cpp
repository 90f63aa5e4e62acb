#include "ingest/view/edge_lag.hpp"

#include "core/logger.hpp"
#include "records/edge_lag.hpp"

#include <algorithm>
#include <utility>

namespace beckon::ingest {

using cluster::EdgeLagRecord;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kWatchEvery{1'000};

}  // namespace

EdgeLag::EdgeLag(core::Partition partitions, log::EventLog& log, core::Executor& executor,
                 const core::Clock& clock)
    : executor_(executor),
      clock_(clock),
      behind_until_(static_cast<std::size_t>(partitions)),
      lifetime_(executor),
      state_(
          {.folder = "ingest", .inputs = {{log::Topic::kOwnership, 0}}, .proof = fold::Proof::end},
          {.log = log, .executor = executor, .clock = clock},
          {.apply = [this](auto, const core::RecordView& record) { apply(record); },
           .cleared = [this] { forget_all(); }}) {
    state_.start();
    watch();
}

bool EdgeLag::is_behind(core::Partition partition) const {
    const auto& until = behind_until_[static_cast<std::size_t>(partition)];
    const auto rep = until.load(std::memory_order_relaxed);
    return rep != 0 && clock_.mono().time_since_epoch().count() < rep;
}

/// How long ago the log appended the record, by the log's clock, at least; every record of the
/// topic shows how far that clock has got. It is taken to run slower than ours, so that one that
/// steps back, as with a new leader of the partition, is believed again after ten times the step.
core::Duration EdgeLag::age_of(const core::RecordView& record) {
    const auto now = clock_.mono();
    if (newest_read_) {
        const auto passed = now - *newest_read_;
        const auto log_now = newest_ + passed - passed / 10;
        if (record.time < log_now) return log_now - record.time;
    }
    newest_ = record.time;
    newest_read_ = now;
    return {};
}

/// Records that were there before this process came say nothing about now, nor do those that
/// stand in the log after the endpoint could not read it for a while.
void EdgeLag::apply(const core::RecordView& record) {
    const auto left = EdgeLagRecord::kCountsFor - age_of(record);
    if (!state_.complete() || !cluster::is_edge_lag_key(record.key)) return;
    auto said = cluster::decode_edge_lag(record);
    if (!said) return;
    if (const auto before = edges_.find(said->node.text); before != edges_.end()) {
        count(before->second, {});
        edges_.erase(before);
    }
    if (said->partitions.empty() || left <= core::Duration::zero()) return;
    if (edges_.size() >= kEdgesMax) return;
    const auto until = clock_.mono() + left;
    const auto now =
        edges_.emplace(said->node.text, Said{said->lag, std::move(said->partitions), until});
    count(now.first->second, until);
    log_changes();
}

void EdgeLag::forget_all() {
    for (const auto& [node, said] : edges_) count(said, {});
    edges_.clear();
}

void EdgeLag::count(const Said& said, core::MonoTime until) {
    for (const auto partition : said.partitions) {
        const auto index = static_cast<std::size_t>(partition);
        if (index < behind_until_.size()) behind_until_[index] = until.time_since_epoch().count();
    }
}

/// An edge that died is noticed here, once its last record has stopped counting.
void EdgeLag::watch() {
    const auto now = clock_.mono();
    std::erase_if(edges_, [&](const auto& edge) { return edge.second.counts_until <= now; });
    log_changes();
    executor_.post_after(kWatchEvery, lifetime_.guard([this] { watch(); }));
}

void EdgeLag::log_changes() {
    const auto now = clock_.mono();
    if (!edges_.empty()) {
        behind_at_ = now;
        if (std::exchange(behind_, true)) return;
        milliseconds most{0};
        for (const auto& [node, said] : edges_) most = std::max(most, said.lag);
        core::log_warn("ingest", "edges_are_behind", {{"lag_ms", most.count()}});
    } else if (behind_ && now - behind_at_ >= kKeepsUpAfter) {
        behind_ = false;
        core::log_info("ingest", "edges_keep_up_again");
    }
}

}  // namespace beckon::ingest
