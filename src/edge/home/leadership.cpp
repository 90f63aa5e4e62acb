#include "edge/home/leadership.hpp"

#include "core/logger.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace beckon::edge {

namespace {

/// After a lease was lost, at least; as much again at random.
constexpr core::Duration kReclaimAfter = std::chrono::seconds{1};

}  // namespace

Leadership::Leadership(const PartContext& context)
    : context_(context),
      random_(static_cast<unsigned>(std::hash<std::string>{}(context.options.node.text) +
                                    static_cast<std::size_t>(context.partition))),
      lifetime_(context.executor),
      lease_(
          context.partition, context.options.node, "edge", context.fold.publisher(),
          cluster::PartitionLease::Events{.serving = [this](core::Epoch) { won_ = true; },
                                          .lost = [this](const core::Error& why) { lost(why); }}) {}

void Leadership::placed_here(core::Epoch floor) {
    wanted_ = true;
    floor_ = std::max(floor_, floor);
    claim();
}

/// The home serves on until it reads the next home's lease: so the partition is served at almost
/// any time, and if the next home dies before it claims, this one need not be asked twice.
void Leadership::placed_elsewhere() {
    wanted_ = false;
    if (state_ == State::serving) return;
    lease_.release();
    end(closing::kMoved);
}

void Leadership::caught_up() {
    caught_up_ = true;
    if (wanted_) claim();
}

void Leadership::restarted() {
    caught_up_ = false;
    lease_.release();
    end(closing::kRestoring);
}

/// A claim follows read barriers: a serving home has read all records of the home before it.
void Leadership::claim() {
    if (state_ != State::standby || !caught_up_) return;
    state_ = State::claiming;
    context_.fold.confirm(lifetime_.guard([this](const core::Result<void>& confirmed) {
        if (state_ != State::claiming) return;
        if (!confirmed) {
            state_ = State::standby;
            claim_later();
            return;
        }
        lease_.claim(floor_);
    }));
}

void Leadership::claim_later() {
    const auto jitter = kReclaimAfter * static_cast<int>(random_() % 1000) / 1000;
    context_.executor.post_after(kReclaimAfter + jitter, lifetime_.guard([this] {
        if (wanted_) claim();
    }));
}

void Leadership::turn_ended() {
    if (!std::exchange(won_, false)) return;
    state_ = State::serving;
    core::log_debug("edge", "serving",
                    {{"partition", context_.partition}, {"epoch", lease_.epoch()}});
    context_.home.began();
}

void Leadership::lost(const core::Error& why) {
    core::log_warn("edge", "lease_lost",
                   {{"partition", context_.partition},
                    {"fault", core::to_string(why.fault)},
                    {"why", why.message}});
    end(wanted_ ? closing::kLeaseLost : closing::kMoved);
    if (wanted_) claim_later();
}

void Leadership::end(Closing closing) {
    lifetime_.renew();
    won_ = false;
    state_ = State::standby;
    context_.home.ended(closing);
}

}  // namespace beckon::edge
