#include "edge/home/registration/gone_events.hpp"

#include "core/logger.hpp"

#include <utility>

namespace beckon::edge {

void GoneEvents::report(core::SubscriptionGone gone) {
    if (context_.wanted && !context_.wanted(gone.owner)) return;
    if (waiting_.size() >= kWaitingMax || !is_allowed(gone)) {
        ++left_out_;
        return;
    }
    waiting_.push_back(std::move(gone));
    pump();
}

/// A client is removed once, and its unregisters come as often as it likes.
bool GoneEvents::is_allowed(const core::SubscriptionGone& gone) {
    const auto now = context_.clock.mono();
    if (gone.reason == core::GoneReason::unregistered &&
        !of_client_.try_take(core::to_hex(gone.uaid), now)) {
        return false;
    }
    return of_owner_.try_take(gone.owner, now);
}

void GoneEvents::stop() {
    lifetime_.renew();
    left_out_ += waiting_.size();
    waiting_.clear();
    in_flight_ = 0;
    log_left_out();
}

void GoneEvents::pump() {
    while (!waiting_.empty() && in_flight_ < kInFlightMax) {
        publish(waiting_.front());
        waiting_.pop_front();
    }
    if (waiting_.empty()) log_left_out();
}

void GoneEvents::publish(const core::SubscriptionGone& gone) {
    const auto event = core::event_of(gone);
    context_.publisher.publish({log::Topic::kEvents, core::partition_of(event, partitions_)},
                               core::encode(event), lifetime_.guard([this](const auto&) {
                                   --in_flight_;
                                   pump();
                               }));
    ++in_flight_;
}

void GoneEvents::log_left_out() {
    const auto count = std::exchange(left_out_, 0);
    if (count > 0) core::log_warn("edge", "gone_subscriptions_not_published", {{"count", count}});
}

}  // namespace beckon::edge
