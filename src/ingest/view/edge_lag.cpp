#include "ingest/view/edge_lag.hpp"

#include "core/logger.hpp"
#include "records/edge_lag.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace beckon::ingest {

using cluster::EdgeLagRecord;
using std::chrono::milliseconds;

EdgeLag::EdgeLag(milliseconds lag_max, log::EventLog& log, core::Executor& executor,
                 const core::Clock& clock)
    : lag_max_(lag_max),
      executor_(executor),
      clock_(clock),
      lifetime_(executor),
      state_(
          {.folder = "ingest", .inputs = {{log::Topic::kOwnership, 0}}, .proof = fold::Proof::end},
          {.log = log, .executor = executor, .clock = clock},
          {.apply = [this](auto, const core::RecordView& record) { apply(record); },
           .cleared = [this] { edges_.clear(); }}) {
    state_.start();
    watch();
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
    const auto said = cluster::decode_edge_lag(record);
    if (!said) return;
    const auto edge = edges_.find(said->node.text);
    if (!said->lag || left <= core::Duration::zero()) {
        if (edge != edges_.end()) edges_.erase(edge);
    } else if (edge != edges_.end()) {
        edge->second = {*said->lag, clock_.mono() + left};
    } else if (edges_.size() < kEdgesMax) {
        edges_.emplace(said->node.text, Said{*said->lag, clock_.mono() + left});
    }
    update();
}

void EdgeLag::update() {
    const auto now = clock_.mono();
    std::erase_if(edges_, [&](const auto& edge) { return edge.second.counts_until <= now; });
    milliseconds most{0};
    for (const auto& [node, said] : edges_) most = std::max(most, said.lag);
    lag_ms_ = most.count();
}

/// An edge that died is noticed here, once its last record has stopped counting.
void EdgeLag::watch() {
    update();
    steer();
    log_changes();
    executor_.post_after(kSteerEvery, lifetime_.guard([this] { watch(); }));
}

/// A lag that falls by a second in a second, since nothing comes, is not helped by a longer delay:
/// by then it would be too long for the lag that is left. Nor is a moment's lag, far below the
/// setting, a reason to wait.
void EdgeLag::steer() {
    const auto now_lag = lag();
    const auto share = [](milliseconds part, milliseconds whole) {
        return std::clamp(static_cast<double>(part.count()) / static_cast<double>(whole.count()),
                          -1.0, 1.0);
    };
    const double most_growth = now_lag > lag_max_ / 2 ? 1.0 : 0.0;
    const double too_much =
        share(now_lag - lag_max_, lag_max_) + share(now_lag - steered_by_, kSteerEvery);
    steered_by_ = now_lag;
    const std::chrono::duration<double, std::micro> least = kDelayLeast;
    const std::chrono::duration<double, std::micro> most = kDelayMax;
    const auto before = std::max(least.count(), static_cast<double>(delay_us_.load()));
    const auto now = before * std::exp(kGain * std::clamp(too_much, -1.0, most_growth));
    delay_us_ = now <= least.count() ? 0 : std::llround(std::min(now, most.count()));
}

/// While the edges just keep up, the delay comes and goes.
void EdgeLag::log_changes() {
    const auto now = clock_.mono();
    if (delay_us_ > 0) {
        delayed_at_ = now;
        if (lag() <= lag_max_ || std::exchange(behind_, true)) return;
        core::log_warn("ingest", "edges_are_behind",
                       {{"lag_ms", lag().count()}, {"edge_lag_max_ms", lag_max_.count()}});
    } else if (behind_ && now - delayed_at_ >= kKeepsUpAfter) {
        behind_ = false;
        core::log_info("ingest", "edges_keep_up_again", {{"lag_ms", lag().count()}});
    }
}

EdgeLag::Verdict EdgeLag::verdict() const {
    const std::chrono::microseconds delay{delay_us_.load()};
    if (delay == kDelayMax && lag() >= 2 * lag_max_) return {.refuse = true};
    return {.delay = delay};
}

}  // namespace beckon::ingest
