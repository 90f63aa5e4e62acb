#include "edge/home/delivery/debts.hpp"

#include "core/client_code.hpp"
#include "core/codec.hpp"

#include <algorithm>
#include <optional>

namespace beckon::edge {

namespace {

constexpr core::Duration kRetryFirst = std::chrono::milliseconds{200};
constexpr core::Duration kRetryMax = std::chrono::seconds{5};
/// When the other homes of the shard use all that may be in flight.
constexpr core::Duration kWaitForOthers = std::chrono::milliseconds{20};
constexpr std::size_t kReadBatch = 1'024;

}  // namespace

Debts::Debts(core::Partition partition, Context context)
    : partition_(partition),
      context_(std::move(context)),
      retry_after_(kRetryFirst),
      lifetime_(context_.executor) {}

Debts::~Debts() { stop(); }

void Debts::begin() {
    paying_ = true;
    more_in_store_ = true;
    take_new();
}

/// What is in flight may reach the log or not; whoever serves next finds the debt in its store.
void Debts::stop() {
    lifetime_.renew();
    context_.outcomes.stop();
    context_.in_flight.count -= std::exchange(mine_in_flight_, 0);
    paying_ = false;
    held_.clear();
    codes_.clear();
    waiting_.clear();
    replaced_.clear();
    lingering_ = false;
    pump_later_ = false;
    retry_after_ = kRetryFirst;
}

void Debts::take_new() {
    if (!paying_) return;
    const auto fresh = context_.store.take_new_debts();
    more_in_store_ |= fresh.left_out || held_.size() + fresh.debts.size() > kHeldMax;
    if (more_in_store_) {
        read_more();
    } else {
        for (const auto& debt : fresh.debts) add(debt);
    }
    pump_soon();
}

/// In the order of the puts from the start, so that of what one client is owed nothing newer is
/// held while something older is not.
void Debts::read_more() {
    if (!more_in_store_ || held_.size() > kHeldMax / 2) return;
    std::optional<store::Debt> last;
    while (held_.size() < kHeldMax) {
        const auto read = context_.store.debts_after(last, kReadBatch);
        for (const auto& debt : read) add(debt);
        if (read.size() < kReadBatch) {
            more_in_store_ = false;
            return;
        }
        last = read.back();
    }
}

void Debts::add(const store::Debt& debt) {
    const auto [at, added] = held_.emplace(debt.key, Owed{debt});
    if (!added) return;
    if (is_told(debt)) {
        at->second.stage = Stage::telling;
        tell(debt);
    } else {
        waiting_.emplace(debt.put_offset, debt.key);
    }
    if (debt.reason == core::FinishReason::replaced) {
        replaced_[debt.uaid].insert(debt.put_offset);
    }
}

bool Debts::is_told(const store::Debt& debt) const {
    return (debt.end && context_.milestones) || context_.outcomes.wanted(debt.key);
}

void Debts::tell(const store::Debt& debt) {
    if (!debt.end || !context_.milestones) return tell_sender(debt);
    const auto& [message, milestone] = *debt.end;
    context_.milestones->reached_then(
        message.id, message.expires, milestone,
        [back = lifetime_.remote(), then = lifetime_.guard([this, key = debt.key] {
            milestone_told(key);
        })] { back.post(then); });
}

void Debts::milestone_told(const core::MessageKey& key) {
    const auto it = held_.find(key);
    if (it == held_.end() || it->second.stage != Stage::telling) return;
    if (!std::exchange(it->second.milestone_told, true)) tell_sender(store::Debt{it->second.debt});
}

void Debts::tell_sender(const store::Debt& debt) {
    const bool wanted =
        context_.outcomes.tell(debt.key, debt.reason, [this, key = debt.key] { told(key); });
    if (!wanted && !context_.store.broken()) told(debt.key);
}

void Debts::told(const core::MessageKey& key) {
    const auto it = held_.find(key);
    if (it == held_.end() || it->second.stage != Stage::telling) return;
    it->second.stage = Stage::waiting;
    waiting_.emplace(it->second.debt.put_offset, key);
    pump_soon();
}

bool Debts::must_wait(const store::Debt& debt) const {
    if (replaced_.empty() || debt.reason == core::FinishReason::replaced) return false;
    const auto older = replaced_.find(debt.uaid);
    return older != replaced_.end() && *older->second.begin() < debt.put_offset;
}

void Debts::pump_soon() {
    if (waiting_.size() >= kFullBatch) return pump();
    if (waiting_.empty() || std::exchange(lingering_, true)) return;
    context_.executor.post_after(kLinger, lifetime_.guard([this] {
        lingering_ = false;
        pump();
    }));
}

void Debts::flush() {
    pump_later_ = false;
    std::vector<core::MessageKey> telling;
    for (const auto& [key, owed] : held_) {
        const bool waits = owed.debt.end && context_.milestones && !owed.milestone_told;
        if (owed.stage == Stage::telling && waits) telling.push_back(key);
    }
    for (const auto& key : telling) milestone_told(key);
    pump();
}

void Debts::pump() {
    if (pump_later_) return;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        if (context_.in_flight.count >= TombstonesInFlight::kMax) {
            if (mine_in_flight_ == 0) pump_after(kWaitForOthers);
            return;
        }
        auto& entry = held_.at(it->second);
        if (must_wait(entry.debt)) {
            ++it;
            continue;
        }
        it = waiting_.erase(it);
        publish(entry);
    }
}

void Debts::publish(Owed& entry) {
    entry.stage = Stage::in_flight;
    ++context_.in_flight.count;
    ++mine_in_flight_;
    const auto& debt = entry.debt;
    auto tombstone = core::encode(core::NotificationFinished{
        .uaid = debt.uaid, .key = debt.key, .reason = debt.reason, .source = {}});
    if (const auto said = codes_.find(debt.key); said != codes_.end()) {
        core::add_client_code(tombstone, said->second);
    }
    context_.publisher.publish(
        {log::Topic::kNotifications, partition_}, std::move(tombstone),
        lifetime_.guard([this, key = debt.key](const core::Result<log::Appended>& result) {
            answered(key, result.has_value());
        }));
}

void Debts::answered(const core::MessageKey& key, bool ok) {
    --context_.in_flight.count;
    --mine_in_flight_;
    const auto it = held_.find(key);
    // Paid already if it is gone: what is read back needs no report.
    if (it != held_.end() && it->second.stage == Stage::in_flight) {
        if (ok) {
            it->second.stage = Stage::durable;
            settle(it->second.debt);
        } else {
            it->second.stage = Stage::waiting;
            waiting_.emplace(it->second.debt.put_offset, key);
        }
    }
    if (ok) {
        retry_after_ = kRetryFirst;
        pump_soon();
    } else {
        back_off();
    }
}

/// The log has its tombstone.
void Debts::settle(const store::Debt& debt) {
    const auto of_client =
        debt.reason == core::FinishReason::replaced ? replaced_.find(debt.uaid) : replaced_.end();
    if (of_client != replaced_.end()) {
        of_client->second.erase(debt.put_offset);
        if (of_client->second.empty()) replaced_.erase(of_client);
    }
    context_.durable(debt);
}

void Debts::back_off() {
    if (pump_later_) return;
    pump_after(retry_after_);
    retry_after_ = std::min(retry_after_ * 2, kRetryMax);
}

void Debts::pump_after(core::Duration delay) {
    pump_later_ = true;
    context_.executor.post_after(delay, lifetime_.guard([this] {
        pump_later_ = false;
        pump();
    }));
}

void Debts::said(const core::MessageKey& key, std::uint16_t code) {
    if (codes_.size() < kHeldMax) codes_.emplace(key, code);
}

void Debts::read_back(const core::MessageKey& key) {
    codes_.erase(key);
    const auto it = held_.find(key);
    if (it == held_.end()) return;
    const auto paid = it->second;
    held_.erase(it);
    if (paid.stage == Stage::durable) return;
    waiting_.erase({paid.debt.put_offset, key});
    settle(paid.debt);
}

}  // namespace beckon::edge
