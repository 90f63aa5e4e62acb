#include "edge/home/home_shard.hpp"

#include "core/logger.hpp"

#include <utility>

namespace beckon::edge {

namespace {

/// States change within turns of this loop, so looking at their end misses none; not at every one,
/// since there may be thousands of partitions.
constexpr core::Duration kLookEvery = std::chrono::milliseconds{20};

}  // namespace

struct HomeShard::Watch {
    HomeShard* shard = nullptr;
    bool again = false;  ///< a look is posted
};

HomeShard::HomeShard(HomeOptions options, Ports ports)
    : options_(std::move(options)),
      ports_(std::move(ports)),
      publisher_(ports_.log.open_publisher(ports_.loop)),
      tokens_(ports_.keys),
      watch_(std::make_shared<Watch>(Watch{.shard = this})) {
    ports_.loop.at_turn_end([watch = watch_] {
        if (!watch->shard || watch->shard->look() || watch->again) return false;
        watch->again = true;
        watch->shard->ports_.loop.post_after(kLookEvery, [watch] { watch->again = false; });
        return false;
    });
}

HomeShard::~HomeShard() {
    watch_->shard = nullptr;
    for (const auto& [partition, held] : homes_) {
        ports_.board.set_serving(partition, false);
        ports_.board.connect_home(partition, {});
    }
}

void HomeShard::place(core::Partition partition, Duty duty, core::Epoch floor) {
    switch (duty) {
        case Duty::home: hold(partition).home->take(floor); break;
        case Duty::standby:
            // Folding goes on, so that a later take needs seconds of log, not hours.
            hold(partition).home->give_up();
            break;
        case Duty::none: forget(partition); break;
    }
    looked_ = {};
}

HomeShard::Held& HomeShard::hold(core::Partition partition) {
    auto& held = homes_[partition];
    if (held.home) return held;
    HomeOptions options = options_;
    options.partition = partition;
    held.home = std::make_unique<Home>(options,
                                       Home::Ports{.log = ports_.log,
                                                   .publisher = *publisher_,
                                                   .fronts = ports_.fronts,
                                                   .executor = ports_.loop,
                                                   .clock = ports_.clock,
                                                   .tokens = tokens_,
                                                   .tombstones = tombstones_},
                                       ports_.store.open_partition(partition));
    ports_.board.connect_home(
        partition, [home = held.home.get()](ToHome message) { home->receive(std::move(message)); });
    held.home->start();
    return held;
}

/// Leaves nothing behind: a checkpoint that grows old is not to be trusted
/// (docs/design.md#trust-in-a-checkpoint).
void HomeShard::forget(core::Partition partition) {
    const auto at = homes_.find(partition);
    if (at == homes_.end()) return;
    at->second.home->give_up();
    ports_.board.set_serving(partition, false);
    ports_.board.connect_home(partition, {});
    const auto counted = at->second.home->status();
    forgotten_.add_counters(counted);
    homes_.erase(at);
    if (const auto cleared = ports_.store.open_partition(partition)->clear(); !cleared) {
        core::log_warn("edge", "partition_not_cleared",
                       {{"partition", partition}, {"why", cleared.error().message}});
    }
    ports_.changed();
}

/// False if it is too early to look again.
bool HomeShard::look() {
    const auto now = ports_.clock.mono();
    if (now - looked_ < kLookEvery) return false;
    looked_ = now;
    report();
    bool changed = false;
    for (auto& [partition, held] : homes_) {
        const bool stuck = held.home->stuck().has_value();
        changed |= std::exchange(held.stuck, stuck) != stuck;
        const auto state = held.home->state();
        if (state == held.state) continue;
        held.state = state;
        changed = true;
        ports_.board.set_serving(partition, state == Home::State::serving);
    }
    if (changed) ports_.changed();
    return true;
}

void HomeShard::report() {
    HomeTotals now = forgotten_;
    for (const auto& [partition, held] : homes_) now.add(held.home->status());
    ports_.metrics.report(now, reported_);
    reported_ = now;
}

std::map<core::Partition, Home::State> HomeShard::states() const {
    std::map<core::Partition, Home::State> states;
    for (const auto& [partition, held] : homes_) states[partition] = held.home->state();
    return states;
}

std::map<core::Partition, std::string> HomeShard::stuck() const {
    std::map<core::Partition, std::string> out;
    for (const auto& [partition, held] : homes_) {
        if (const auto& stuck = held.home->stuck()) out.emplace(partition, stuck->why);
    }
    return out;
}

std::optional<core::Timestamp> HomeShard::log_now() const {
    std::optional<core::Timestamp> earliest;
    for (const auto& [partition, held] : homes_) {
        const auto now = held.home->log_now();
        if (now && (!earliest || *now < *earliest)) earliest = now;
    }
    return earliest;
}

}  // namespace beckon::edge
