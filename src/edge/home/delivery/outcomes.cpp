#include "edge/home/delivery/outcomes.hpp"

#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "log/until.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge {

Outcomes::Outcomes(const PartContext& context, OutcomesInFlight& in_flight)
    : context_(context), all_in_flight_(in_flight), lifetime_(context.executor) {}

void Outcomes::stop() {
    lifetime_.renew();
    notifying_.clear();
    waiting_.clear();
    removed_.clear();
    awaiting_ = 0;
    all_in_flight_.count -= std::exchange(in_flight_, 0);
}

/// A reference that does not decode names no receiver, and holds nothing up.
bool Outcomes::publish_outcome(const core::MessageKey& message, core::FinishReason reason,
                               std::function<void()> reported) {
    const auto receipt = context_.store.receipt(message);
    if (!receipt) return false;
    const auto to = core::parse_receipt(receipt->subscription);
    if (!to) {
        core::log_warn("edge", "broken_receipt", {{"message", core::log_name(message)}});
        return false;
    }
    const auto [at, is_new] = notifying_.try_emplace(message);
    at->second.reported = std::move(reported);
    if (!is_new) return true;
    at->second.what = {.to = *to, .message_id = receipt->message_id, .reason = reason};
    ++awaiting_;
    if (receipt->ttl_zero && awaiting_ <= kAwaitMax) {
        context_.executor.post_after(kAckWait,
                                     lifetime_.guard([this, message] { enqueue(message); }));
    } else {
        enqueue(message);
    }
    return true;
}

void Outcomes::acknowledged(const core::MessageKey& message) {
    const auto found = notifying_.find(message);
    if (found == notifying_.end() || found->second.stage != Stage::awaiting_ack) return;
    found->second.what.reason = core::FinishReason::acked;
    enqueue(message);
}

/// The outcome of a message whose tombstone is pending is reported with that. If no home served for
/// an hour after a message's end, the store has dropped the message, and only its receipt is left.
void Outcomes::expire() {
    const auto due = context_.store.receipts_due(context_.log_now(), kExpireMax);
    std::erase_if(removed_, [&](const auto& message) {
        return std::find(due.begin(), due.end(), message) == due.end();  // read back
    });
    for (const auto& message : due) {
        const auto receipt = context_.store.receipt(message);
        if (!receipt || notifying_.contains(message) || removed_.contains(message)) continue;
        const auto& client = receipt->uaid;
        const bool is_pending =
            context_.store.add_tombstone(client, message, core::FinishReason::expired,
                                         core::Milestone::expired) ||
            context_.store.tombstone_pending(client, message);
        if (is_pending) continue;
        const auto remove = [this, client, message] { this->remove(client, message); };
        if (!publish_outcome(message, core::FinishReason::expired, remove) &&
            !context_.store.broken())
            remove();
    }
}

/// Once the tombstone is read, the receipt is forgotten. If it fails, the next tick reports and
/// tries again.
void Outcomes::remove(const core::Uaid& client, const core::MessageKey& message) {
    removed_.insert(message);
    context_.fold.publisher().publish(
        {log::Topic::kNotifications, context_.partition},
        core::encode(core::NotificationFinished{
            .uaid = client, .key = message, .reason = core::FinishReason::expired, .source = {}}),
        lifetime_.guard([this, message](const core::Result<log::Appended>& at) {
            if (!at) removed_.erase(message);
        }));
}

void Outcomes::enqueue(const core::MessageKey& message) {
    const auto found = notifying_.find(message);
    if (found == notifying_.end() || found->second.stage != Stage::awaiting_ack) return;
    found->second.stage = Stage::waiting;
    --awaiting_;
    waiting_.push_back(message);
    pump();
}

void Outcomes::pump() {
    while (!waiting_.empty() && in_flight_ < kInFlightMax) {
        // A home that has none under way always gets one, so that no other can starve it.
        if (all_in_flight_.count >= OutcomesInFlight::kMax && in_flight_ > 0) return;
        const auto message = waiting_.front();
        publish(message, notifying_.at(message).what);
        waiting_.pop_front();
    }
}

void Outcomes::publish(const core::MessageKey& message, const core::ReceiptOutcome& what) {
    log::until_written(
        {lifetime_, context_.executor}, context_.fold.publisher(),
        {log::Topic::kEvents, core::partition_of(what.to.id, context_.partitions)},
        [what] { return core::encode(what); }, [this, message](const auto&) { written(message); });
    ++in_flight_;
    ++all_in_flight_.count;
}

void Outcomes::written(const core::MessageKey& message) {
    --in_flight_;
    --all_in_flight_.count;
    const auto reported = std::move(notifying_.extract(message).mapped().reported);
    reported();
    pump();
}

}  // namespace beckon::edge
