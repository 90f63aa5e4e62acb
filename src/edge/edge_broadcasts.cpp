#include "edge/edge_broadcasts.hpp"

#include "core/logger.hpp"

#include <utility>

namespace beckon::edge {

EdgeBroadcasts::EdgeBroadcasts(const EdgeOptions& options, Context context)
    : context_(context),
      lifetime_(context.control),
      fold_(options.node, {.log = context.log,
                           .executor = context.control,
                           .clock = context.clock,
                           .changed = [this](const BroadcastsPtr& now) { changed(now); }}) {
    if (options.broadcasts_url.empty()) return;
    poller_.emplace(options.broadcasts_url, options.broadcasts_interval,
                    [this, back = lifetime_.remote()](auto found) {
                        back.post([this, found = std::move(found)] { polled(found); });
                    });
}

void EdgeBroadcasts::poll(bool enabled) {
    if (poller_) poller_->enable(enabled);
}

void EdgeBroadcasts::set(BroadcastSet broadcast) {
    lifetime_.remote().post([this, broadcast = std::move(broadcast)] { publish(broadcast); });
}

BroadcastsPtr EdgeBroadcasts::now() const {
    const std::scoped_lock lock{mutex_};
    return now_;
}

void EdgeBroadcasts::changed(const BroadcastsPtr& now) {
    {
        const std::scoped_lock lock{mutex_};
        now_ = now;
    }
    context_.metrics.known->Set(static_cast<double>(now->versions.size()));
    context_.fronts.broadcasts(now);
}

/// A broadcast that the page no longer names keeps its version.
void EdgeBroadcasts::polled(const core::Result<std::vector<BroadcastSet>>& found) {
    if (found) {
        context_.metrics.polls_ok->Increment();
        if (!std::exchange(last_failure_, {}).empty()) {
            core::log_info("edge", "broadcasts_polled_again");
        }
        for (const auto& broadcast : *found) publish(broadcast);
        return;
    }
    context_.metrics.polls_failed->Increment();
    if (std::exchange(last_failure_, found.error().message) == last_failure_) return;
    core::log_warn("edge", "broadcasts_not_polled", {{"why", last_failure_}});
}

void EdgeBroadcasts::publish(const BroadcastSet& broadcast) {
    fold_.set(broadcast, [id = broadcast.id](const core::Result<void>& done) {
        if (done) return;
        core::log_warn("edge", "broadcast_not_set", {{"id", id}, {"why", done.error().message}});
    });
}

}  // namespace beckon::edge
