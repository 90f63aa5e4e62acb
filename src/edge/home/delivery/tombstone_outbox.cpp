#include "edge/home/delivery/tombstone_outbox.hpp"

#include "core/client_code.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "log/until.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace beckon::edge {

namespace {

constexpr core::Duration kRetryFirst = std::chrono::milliseconds{200};
constexpr core::Duration kRetryMax = std::chrono::seconds{5};
/// When the other homes of the shard use all that may be in flight.
constexpr core::Duration kWaitForOthers = std::chrono::milliseconds{20};
constexpr std::size_t kReadBatch = 1'024;

}  // namespace

TombstoneOutbox::TombstoneOutbox(const PartContext& context, Delivery& delivery)
    : context_(context),
      delivery_(delivery),
      milestones_(context.options.milestones),
      outcomes_(context),
      retry_{kRetryFirst, kRetryMax},
      lifetime_(context_.executor) {}

TombstoneOutbox::~TombstoneOutbox() { stop(); }

void TombstoneOutbox::begin() {
    publishing_ = true;
    more_in_store_ = true;
    take_new();
}

/// A tombstone in flight may reach the log or not; the next home finds the pending tombstone in its
/// store.
void TombstoneOutbox::stop() {
    lifetime_.renew();
    outcomes_.stop();
    context_.tombstones.count -= std::exchange(mine_in_flight_, 0);
    publishing_ = false;
    held_.clear();
    codes_.clear();
    waiting_.clear();
    replaced_.clear();
    lingering_ = false;
    pump_later_ = false;
    retry_.worked();
}

void TombstoneOutbox::take_new() {
    if (!publishing_) return;
    const auto fresh = context_.store.take_new_pending_tombstones();
    more_in_store_ |= fresh.left_out || held_.size() + fresh.pending_tombstones.size() > kHeldMax;
    if (more_in_store_) {
        read_more();
    } else {
        for (const auto& pending : fresh.pending_tombstones) add(pending);
    }
    pump_soon();
}

/// In the order of the puts from the start, so that of one client's tombstones nothing newer is
/// held while something older is not.
void TombstoneOutbox::read_more() {
    if (!more_in_store_ || held_.size() > kHeldMax / 2) return;
    std::optional<store::PendingTombstone> last;
    while (held_.size() < kHeldMax) {
        const auto read = context_.store.pending_tombstones_after(last, kReadBatch);
        for (const auto& pending : read) add(pending);
        if (read.size() < kReadBatch) {
            more_in_store_ = false;
            return;
        }
        last = read.back();
    }
}

void TombstoneOutbox::add(const store::PendingTombstone& pending) {
    const auto [at, added] = held_.emplace(pending.key, Entry{pending});
    if (!added) return;
    if (is_reported(pending)) {
        at->second.stage = Stage::reporting;
        report(pending);
    } else {
        waiting_.emplace(pending.put_offset, pending.key);
    }
    if (pending.reason == core::FinishReason::replaced) {
        replaced_[pending.uaid].insert(pending.put_offset);
    }
}

bool TombstoneOutbox::is_reported(const store::PendingTombstone& pending) const {
    return (pending.milestone() && milestones_) || outcomes_.wanted(pending.key);
}

void TombstoneOutbox::report(const store::PendingTombstone& pending) {
    const auto milestone = pending.milestone();
    if (!milestone || !milestones_) return notify_sender(pending);
    const auto& message = pending.end->message;
    milestones_->reached_then(
        message.id, message.expires, *milestone,
        [back = lifetime_.remote(), then = lifetime_.guard([this, key = pending.key] {
            milestone_reported(key);
        })] { back.post(then); });
}

void TombstoneOutbox::milestone_reported(const core::MessageKey& key) {
    const auto it = held_.find(key);
    if (it == held_.end() || it->second.stage != Stage::reporting) return;
    if (!std::exchange(it->second.milestone_reported, true))
        notify_sender(store::PendingTombstone{it->second.pending});
}

void TombstoneOutbox::notify_sender(const store::PendingTombstone& pending) {
    const bool wanted = outcomes_.publish_outcome(pending.key, pending.reason,
                                                  [this, key = pending.key] { reported(key); });
    if (!wanted && !context_.store.broken()) reported(pending.key);
}

void TombstoneOutbox::reported(const core::MessageKey& key) {
    const auto it = held_.find(key);
    if (it == held_.end() || it->second.stage != Stage::reporting) return;
    it->second.stage = Stage::waiting;
    waiting_.emplace(it->second.pending.put_offset, key);
    pump_soon();
}

bool TombstoneOutbox::must_wait(const store::PendingTombstone& pending) const {
    if (replaced_.empty() || pending.reason == core::FinishReason::replaced) return false;
    const auto older = replaced_.find(pending.uaid);
    return older != replaced_.end() && *older->second.begin() < pending.put_offset;
}

void TombstoneOutbox::pump_soon() {
    if (waiting_.size() >= kFullBatch) return pump();
    if (waiting_.empty() || lingering_) return;
    context_.executor.post_after(kLinger, lifetime_.guard([this] {
        lingering_ = false;
        pump();
    }));
    lingering_ = true;
}

void TombstoneOutbox::flush() {
    pump_later_ = false;
    std::vector<core::MessageKey> reporting;
    for (const auto& [key, entry] : held_) {
        const bool waits = entry.pending.milestone() && milestones_ && !entry.milestone_reported;
        if (entry.stage == Stage::reporting && waits) reporting.push_back(key);
    }
    for (const auto& key : reporting) milestone_reported(key);
    pump();
}

void TombstoneOutbox::pump() {
    if (pump_later_) return;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        if (context_.tombstones.count >= TombstonesInFlight::kMax) {
            if (mine_in_flight_ == 0) pump_after(kWaitForOthers);
            return;
        }
        auto& entry = held_.at(it->second);
        if (must_wait(entry.pending)) {
            ++it;
            continue;
        }
        try {
            publish(entry);
        } catch (...) {
            back_off();
            throw;
        }
        it = waiting_.erase(it);
    }
}

void TombstoneOutbox::publish(Entry& entry) {
    const auto& pending = entry.pending;
    auto tombstone = core::encode(core::NotificationFinished{
        .uaid = pending.uaid, .key = pending.key, .reason = pending.reason, .source = {}});
    if (const auto code = codes_.find(pending.key); code != codes_.end()) {
        core::add_client_code(tombstone, code->second);
    }
    if (pending.reason == core::FinishReason::expired) {
        if (const auto sent = context_.sessions.sent(pending.uaid, pending.key)) {
            tombstone.headers.push_back(
                {core::kSentHeader,
                 std::string{sent->acked ? core::kSentAcked : core::kSentUnanswered}});
        }
    }
    context_.fold.publisher().publish(
        {log::Topic::kNotifications, context_.partition}, std::move(tombstone),
        lifetime_.guard([this, key = pending.key](const core::Result<log::Appended>& result) {
            answered(key, result.has_value());
        }));
    // Behind what may throw: then the entry waits as before.
    entry.stage = Stage::in_flight;
    ++context_.tombstones.count;
    ++mine_in_flight_;
}

void TombstoneOutbox::answered(const core::MessageKey& key, bool ok) {
    --context_.tombstones.count;
    --mine_in_flight_;
    const auto it = held_.find(key);
    // If it is gone, it was published and read back, and needs no report.
    if (it != held_.end() && it->second.stage == Stage::in_flight) {
        if (ok) {
            it->second.stage = Stage::durable;
            made_durable(it->second.pending);
        } else {
            it->second.stage = Stage::waiting;
            waiting_.emplace(it->second.pending.put_offset, key);
        }
    }
    if (ok) {
        retry_.worked();
        pump_soon();
    } else {
        back_off();
    }
}

/// The log has its tombstone.
void TombstoneOutbox::made_durable(const store::PendingTombstone& pending) {
    const auto of_client = pending.reason == core::FinishReason::replaced
                               ? replaced_.find(pending.uaid)
                               : replaced_.end();
    if (of_client != replaced_.end()) {
        of_client->second.erase(pending.put_offset);
        if (of_client->second.empty()) replaced_.erase(of_client);
    }
    auto* session = context_.sessions.of(pending.uaid);
    if (!session) return;
    session->durable(pending.key);
    if (delivery_.made_capacity(*session)) context_.fold.request_turn();
}

void TombstoneOutbox::back_off() {
    if (pump_later_) return;
    pump_after(retry_.pause());
}

void TombstoneOutbox::pump_after(core::Duration delay) {
    context_.executor.post_after(delay, lifetime_.guard([this] {
        pump_later_ = false;
        pump();
    }));
    pump_later_ = true;
}

void TombstoneOutbox::acked_with(const core::MessageKey& key, std::uint16_t code) {
    if (codes_.size() < kHeldMax) codes_.emplace(key, code);
}

void TombstoneOutbox::read_back(const core::MessageKey& key) {
    codes_.erase(key);
    const auto it = held_.find(key);
    if (it == held_.end()) return;
    const auto held = held_.extract(it);
    const auto& entry = held.mapped();
    if (entry.stage == Stage::durable) return;
    waiting_.erase({entry.pending.put_offset, key});
    made_durable(entry.pending);
}

void Outcomes::stop() {
    lifetime_.renew();
    notifying_.clear();
    waiting_.clear();
    removed_.clear();
    awaiting_ = 0;
    context_.outcomes.count -= std::exchange(in_flight_, 0);
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
        if (context_.outcomes.count >= OutcomesInFlight::kOutcomesMax && in_flight_ > 0) return;
        const auto message = waiting_.front();
        publish(message, notifying_.at(message).what);
        waiting_.pop_front();
    }
}

void Outcomes::publish(const core::MessageKey& message, const core::ReceiptOutcome& what) {
    log::until_written(
        {lifetime_, context_.executor}, context_.fold.publisher(),
        {log::Topic::kEvents, core::partition_of(what.to.id, context_.options.partitions)},
        [what] { return core::encode(what); }, [this, message](const auto&) { written(message); });
    ++in_flight_;
    ++context_.outcomes.count;
}

void Outcomes::written(const core::MessageKey& message) {
    --in_flight_;
    --context_.outcomes.count;
    const auto reported = std::move(notifying_.extract(message).mapped().reported);
    reported();
    pump();
}

}  // namespace beckon::edge
