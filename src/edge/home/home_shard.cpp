#include "edge/home/home_shard.hpp"

#include "core/logger.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace beckon::edge {

namespace {

/// States change within turns of this loop, so looking at their end misses none; not at every one,
/// since there may be thousands of partitions.
constexpr core::Duration kNoticeEvery = std::chrono::milliseconds{20};
constexpr core::Duration kLagEvery = std::chrono::seconds{1};
/// A standby that falls back by more could not take over at once, and a node whose serving homes do
/// is not ready; both are again once they are within the lower limit.
constexpr core::Duration kBehind = std::chrono::seconds{5};
constexpr core::Duration kReadyAgain = std::chrono::seconds{1};
/// Endpoints take no message for a home that is far behind.
constexpr core::Duration kReportedLagEvery = std::chrono::milliseconds{100};

}  // namespace

HomeShard::HomeShard(EdgeOptions options, Context context)
    : options_(std::move(options)),
      context_(std::move(context)),
      publisher_(context_.log.open_publisher(context_.loop)),
      tokens_(context_.keys),
      lifetime_(context_.loop) {
    // The loop keeps its hooks for longer than this object lives.
    context_.loop.at_turn_end(
        [this, term = lifetime_.term()] { return !term.over() && turn_ended(); });
    context_.board.listen(context_.shard, {.peer_lost = [this, term = lifetime_.term()](
                                                            NodeNumber, const core::NodeId& front) {
                              if (!term.over()) front_lost(front);
                          }});
}

HomeShard::~HomeShard() {
    for (const auto& [partition, entry] : homes_) {
        entry.home->flush();
        context_.board.set_serving(partition, false);
        context_.board.connect_home(partition, {});
    }
}

void HomeShard::assign(core::Partition partition, Assignment assignment, core::Epoch floor) {
    if (const auto at = homes_.find(partition); at != homes_.end()) at->second.unwanted = false;
    switch (assignment) {
        case Assignment::home: entry_of(partition).home->placed_here(floor); break;
        case Assignment::standby:
            // Folding goes on, so that a later take-over needs seconds of log, not hours.
            entry_of(partition).home->placed_elsewhere();
            break;
        case Assignment::none: forget(partition); break;
    }
    noticed_ = {};
}

HomeShard::Entry& HomeShard::entry_of(core::Partition partition) {
    auto& entry = homes_[partition];
    if (entry.home) return entry;
    entry.home = std::make_unique<Home>(partition,
                                        HomeContext{.options = options_,
                                                    .log = context_.log,
                                                    .publisher = *publisher_,
                                                    .fronts = context_.board.fronts(context_.shard),
                                                    .executor = context_.loop,
                                                    .clock = context_.clock,
                                                    .tokens = tokens_,
                                                    .tombstones = tombstones_,
                                                    .outcomes = outcomes_,
                                                    .times = context_.metrics.times(),
                                                    .gone_wanted = context_.gone_wanted},
                                        context_.store.open_partition(partition));
    context_.board.connect_home(partition, [home = entry.home.get()](ToHome message) {
        home->receive(std::move(message));
    });
    entry.home->start();
    return entry;
}

/// Leaves nothing behind: a checkpoint that grows old is not to be trusted
/// (docs/design.md#trust-in-a-checkpoint).
void HomeShard::forget(core::Partition partition) {
    const auto at = homes_.find(partition);
    if (at == homes_.end()) return;
    at->second.home->placed_elsewhere();
    if (at->second.home->state() == Home::State::serving) {
        at->second.unwanted = true;
        return;
    }
    context_.board.set_serving(partition, false);
    context_.board.connect_home(partition, {});
    add(forgotten_, at->second.home->status());
    homes_.erase(at);
    if (const auto cleared = context_.store.open_partition(partition)->clear(); !cleared) {
        core::log_warn("edge", "partition_not_cleared",
                       {{"partition", partition}, {"why", cleared.error().message}});
    }
    context_.changed();
}

/// True: there were some.
bool HomeShard::forget_unwanted() {
    std::vector<core::Partition> over;
    for (const auto& [partition, entry] : homes_) {
        if (entry.unwanted && entry.home->state() != Home::State::serving) {
            over.push_back(partition);
        }
    }
    for (const auto partition : over) forget(partition);
    return !over.empty();
}

void HomeShard::front_lost(const core::NodeId& front) {
    for (const auto& [partition, entry] : homes_) entry.home->front_lost(front);
}

/// True: the messages of a home that was just forgotten leave at the end of another turn.
bool HomeShard::turn_ended() {
    const auto now = context_.clock.mono();
    if (now - noticed_ < kNoticeEvery) {
        if (again_) return false;
        context_.loop.post_after(kNoticeEvery, lifetime_.guard([this] { again_ = false; }));
        again_ = true;
        return false;
    }
    noticed_ = now;
    const bool forgot = forget_unwanted();
    report();
    notice_changes();
    return forgot;
}

void HomeShard::notice_changes() {
    const bool lags = noticed_ - lag_noticed_ >= kReportedLagEvery;
    if (lags) notice_lag();
    bool changed = false;
    for (auto& [partition, entry] : homes_) {
        if (lags) {
            const bool behind = entry.lag > (entry.behind ? kReadyAgain : kBehind);
            changed |= std::exchange(entry.behind, behind) != behind;
        }
        const bool stuck = entry.home->stuck().has_value();
        changed |= std::exchange(entry.stuck, stuck) != stuck;
        const auto state = entry.home->state();
        if (state == entry.state) continue;
        entry.state = state;
        changed = true;
        context_.board.set_serving(partition, state == Home::State::serving);
    }
    if (changed) context_.changed();
}

void HomeShard::notice_lag() {
    lag_noticed_ = noticed_;
    Lags lags;
    for (auto& [partition, entry] : homes_) {
        entry.lag = {};
        for (const auto& input : entry.home->progress().inputs) {
            entry.lag = std::max(entry.lag, input.lag);
        }
        if (entry.state == Home::State::serving) lags.emplace_back(partition, entry.lag);
    }
    if (context_.lag) context_.lag(lags);
}

void HomeShard::report() {
    HomeTotals now{forgotten_};
    for (const auto& [partition, entry] : homes_) now.add(entry.home->status());
    context_.metrics.report(now, reported_);
    reported_ = now;
    if (noticed_ - lag_reported_ >= kLagEvery) report_lag();
}

void HomeShard::report_lag() {
    lag_reported_ = noticed_;
    HomeLag lag;
    bool restoring = false;
    for (auto& [partition, entry] : homes_) {
        const auto progress = entry.home->progress();
        for (const auto& input : progress.inputs) {
            lag.records += input.lag_records();
            lag.age = std::max(lag.age, input.lag);
        }
        entry.restored = entry.restore.measure(progress, noticed_);
        if (!entry.restored) continue;
        restoring = true;
        lag.restored += entry.restored->folded;
        lag.to_restore += entry.restored->left;
    }
    context_.metrics.report_lag(context_.loop.name(), lag);
    if (restoring) context_.changed();
}

std::map<core::Partition, HomeShard::Report> HomeShard::reports() const {
    std::map<core::Partition, Report> out;
    for (const auto& [partition, entry] : homes_) {
        const auto& stuck = entry.home->stuck();
        out[partition] = {.state = entry.home->state(),
                          .behind = entry.behind,
                          .stuck = stuck ? std::optional{stuck->why} : std::nullopt,
                          .restored = entry.restored};
    }
    return out;
}

std::map<core::Partition, core::Offset> HomeShard::served_up_to() const {
    std::map<core::Partition, core::Offset> out;
    for (const auto& [partition, entry] : homes_) {
        const auto status = entry.home->status();
        if (status.state == Home::State::serving) out[partition] = status.notifications_next;
    }
    return out;
}

Home* HomeShard::find(core::Partition partition) {
    const auto at = homes_.find(partition);
    return at == homes_.end() ? nullptr : at->second.home.get();
}

const Home* HomeShard::find(core::Partition partition) const {
    return const_cast<HomeShard*>(this)->find(partition);
}

std::optional<core::Timestamp> HomeShard::log_now() const {
    std::optional<core::Timestamp> earliest;
    for (const auto& [partition, entry] : homes_) {
        const auto now = entry.home->log_now();
        if (now && (!earliest || *now < *earliest)) earliest = now;
    }
    return earliest;
}

}  // namespace beckon::edge
