#include "edge/home/delivery/delivery.hpp"

#include "core/log_clock.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "edge/protocol/frames.hpp"
#include "records/expiry.hpp"
#include "records/receipt.hpp"

#include <algorithm>
#include <chrono>

#include <prometheus/histogram.h>

namespace beckon::edge {

namespace {

/// The difference between the host's clock and the log's time varies a little between readings.
constexpr core::Duration kWorthAReading = std::chrono::seconds{1};

/// The report for a frame of a message that has just come from the log.
std::optional<Report> live_report(const std::optional<core::Tracked>& message,
                                  core::Timestamp logged) {
    using enum core::Milestone;
    if (!message) return std::nullopt;
    return Report{
        .message = *message, .reached = {int_accepted, transmitted, accepted}, .logged = logged};
}

std::optional<Report> retrieved_report(const store::MessageView& message) {
    if (!message.reliability_id) return std::nullopt;
    return Report{
        .message = {.id = std::string{*message.reliability_id}, .expires = message.expiry},
        .reached = {core::Milestone::retrieved},
        .logged = {}};
}

}  // namespace

/// nullopt also if there is no receiver of reports.
std::optional<core::Tracked> Delivery::tracked(const core::RecordView& record,
                                               const core::NotificationAccepted& message) const {
    if (!message.reliability_id || !context_.output.reports()) return std::nullopt;
    return core::Tracked{.id = std::string{*message.reliability_id},
                         .expires = core::expiry_of(record.time, message.ttl_s)};
}

/// Only a serving home reports where a message is: a standby folds it too.
void Delivery::report(const std::optional<core::Tracked>& message, core::Milestone milestone) {
    if (!message || !serving_since_) return;
    context_.output.report({.message = *message, .reached = {milestone}, .logged = {}});
}

/// A message that was put again after its end is not reported: its tombstone reported it.
void Delivery::fold_receipt(const core::RecordView& record,
                            const core::NotificationAccepted& message, store::PutOutcome outcome) {
    const auto subscription = record.header(core::kReceiptHeader);
    const bool over =
        outcome == store::PutOutcome::repeated || outcome == store::PutOutcome::finished;
    if (!subscription || over) return;
    context_.store.put_receipt(message.key, {.uaid = message.uaid,
                                             .expiry = core::expiry_of(record.time, message.ttl_s),
                                             .ttl_zero = outcome == store::PutOutcome::ttl_zero,
                                             .subscription = std::string{*subscription},
                                             .message_id = std::string{message.message_id}});
}

bool Delivery::fold(const core::RecordView& record, const core::NotificationAccepted& message) {
    replace_awaiting(message);
    std::optional<core::MessageKey> replaced;
    const auto outcome = context_.store.put(record.offset, record.time, message, &replaced);
    if (replaced) finished(message.uaid, *replaced, core::FinishReason::replaced);
    fold_receipt(record, message, outcome);
    const bool ttl_zero = outcome == store::PutOutcome::ttl_zero;
    if (outcome != store::PutOutcome::pending && !ttl_zero) return false;
    const auto tracked = this->tracked(record, message);
    auto* session = context_.sessions.of(message.uaid);
    if (!session) {
        ttl_zero ? await_client(record, message) : report(tracked, core::Milestone::stored);
        return !ttl_zero;
    }
    if (!ttl_zero && expired(core::expiry_of(record.time, message.ttl_s))) {
        context_.store.add_tombstone(message.uaid, message.key, core::FinishReason::expired,
                                     core::Milestone::expired);
        return false;
    }
    auto effects = session->on(message, record.offset, context_.clock.mono());
    if (context_.times.append_to_frame && !effects.frames.empty()) {
        const std::chrono::duration<double> late =
            core::shown_now(context_.likely_log_now(), context_.clock.wall()) - record.time;
        context_.times.append_to_frame->Observe(std::max(late.count(), 0.0));  // clocks differ
    }
    if (effects.frames.empty()) report(tracked, core::Milestone::stored);
    if (ttl_zero) {
        await_ack(message.key, tracked);
        context_.sessions.remember(message.key, context_.clock.mono());
    }
    send(*session, std::move(effects), live_report(tracked, record.time));
    if (!session->live()) blocked_.insert(message.uaid);
    return !ttl_zero;
}

/// At most one frame.
void Delivery::send(const Session& session, Effects effects, std::optional<Report> report) {
    for (auto& frame : effects.frames) {
        if (frame.message && core::log_enabled(core::LogLevel::debug)) {
            core::log_debug("edge", "message_sent",
                            {{"message", core::log_name(*frame.message)},
                             {"client", core::log_name(session.uaid)}});
        }
        context_.output.frame(session.id, std::move(frame.text), frame.message,
                              std::exchange(report, std::nullopt));
        ++context_.counters.delivered;
    }
}

/// Its pending tombstone has the reason `expired` in any case, so its last milestone is reported
/// from here.
void Delivery::await_ack(const core::MessageKey& message,
                         const std::optional<core::Tracked>& tracked) {
    if (!tracked) return;
    if (awaiting_ack_.size() >= kAwaitingAckMax) awaiting_ack_.pop_front();
    awaiting_ack_.push_back({message, *tracked});
}

void Delivery::acknowledged(const core::MessageKey& message, core::Milestone end) {
    const auto sent = std::find_if(awaiting_ack_.begin(), awaiting_ack_.end(),
                                   [&](const AwaitingAck& one) { return one.message == message; });
    if (sent == awaiting_ack_.end()) return;
    report(sent->tracked, end);
    awaiting_ack_.erase(sent);
}

void Delivery::finished(const core::Uaid& client, const core::MessageKey& message,
                        core::FinishReason why) {
    context_.output.withdraw(message);
    if (why == core::FinishReason::deleted) acknowledged(message, core::Milestone::deleted);
    if (why != core::FinishReason::expired || !serving_since_) {
        std::erase_if(awaiting_, [&](const AwaitingClient& one) {
            if (one.message != message) return false;
            if (why == core::FinishReason::deleted) report(one.tracked, core::Milestone::deleted);
            return true;
        });
    }
    auto* session = context_.sessions.of(client);
    if (!session) return;
    session->finished(message);
    made_capacity(*session);
}

/// A client that was attached at another home before the take-over connects again now.
void Delivery::await_client(const core::RecordView& record,
                            const core::NotificationAccepted& message) {
    const auto now = context_.clock.mono();
    const auto tracked = this->tracked(record, message);
    const bool past_grace = serving_since_ && now - *serving_since_ > kTakeoverGrace;
    if (past_grace || outlived_grace(record.time)) return report(tracked, core::Milestone::expired);
    if (awaiting_.size() >= kAwaitingMax) awaiting_.pop_front();
    std::optional<std::string> topic;
    if (message.topic) topic = *message.topic;
    awaiting_.push_back({message.uaid, message.channel, std::move(topic), message.key, record.time,
                         notification_frame(message), tracked});
}

/// The store does not know a held message, so a newer message of the Topic replaces it here.
void Delivery::replace_awaiting(const core::NotificationAccepted& newer) {
    if (!newer.topic) return;
    std::erase_if(awaiting_, [&](const AwaitingClient& one) {
        const bool older =
            one.client == newer.uaid && one.channel == newer.channel && one.topic == newer.topic;
        if (older) report(one.tracked, core::Milestone::replaced);
        return older;
    });
}

void Delivery::expire_awaiting() {
    const bool over = serving_since_ && context_.clock.mono() - *serving_since_ > kTakeoverGrace;
    if (over) awaiting_.clear();
    while (!awaiting_.empty() && outlived_grace(awaiting_.front().appended)) awaiting_.pop_front();
}

void Delivery::send_awaiting(const Session& session) {
    expire_awaiting();
    for (auto& one : awaiting_) {
        if (one.client != session.uaid) continue;
        await_ack(one.message, one.tracked);
        context_.sessions.remember(one.message, context_.clock.mono());
        context_.output.frame(session.id, std::move(one.text), one.message,
                              live_report(one.tracked, one.appended));
        ++context_.counters.delivered;
    }
    std::erase_if(awaiting_, [&](const AwaitingClient& one) { return one.client == session.uaid; });
}

void Delivery::attached(Session& session) {
    send_awaiting(session);
    session.read_store();
    due_.insert(session.uaid);
}

bool Delivery::made_capacity(Session& session) {
    const bool worth_it = session.wants_read(context_.clock.mono());
    if (worth_it) due_.insert(session.uaid);
    return worth_it;
}

void Delivery::stop() {
    serving_since_.reset();
    awaiting_ack_.clear();
    due_.clear();
    blocked_.clear();
    withheld_.clear();
}

bool Delivery::turn() {
    std::size_t budget = kReadBudget;
    while (!due_.empty() && budget > 0) {
        const auto client = due_.extract(due_.begin()).value();
        blocked_.erase(client);
        auto* session = context_.sessions.of(client);
        if (session) budget -= std::min(budget, read(*session, budget));
    }
    return !due_.empty();
}

/// Sends a client's waiting messages while there is space; returns the number of messages that were
/// read.
std::size_t Delivery::read(Session& session, std::size_t budget) {
    std::size_t used = 0;
    while (!session.live()) {
        const auto capacity = session.capacity(context_.clock.mono());
        if (capacity == 0) {
            blocked_.insert(session.uaid);  // an ack, or time, makes space
            return used;
        }
        if (used >= budget) {
            due_.insert(session.uaid);
            return used;
        }
        const auto read = read_once(session, std::min({capacity, budget - used, kReadAtOnce}));
        if (read == 0) return used;
        used += read;
    }
    return used;
}

/// 0: the next message does not fit.
std::size_t Delivery::read_once(Session& session, std::size_t at_most) {
    const auto now = context_.clock.mono();
    const auto log_now = context_.log_now();
    auto& cursor = session.cursor(context_.position());
    const auto read = context_.store.read_pending(
        session.uaid, cursor, at_most, log_now, [&](const store::MessageView& message) {
            if (may_be_over(message, log_now)) {
                withheld_.insert(session.uaid);
                return;
            }
            send(session, session.on(message, now), retrieved_report(message));
        });
    context_.store.expire(session.uaid, read.expired);
    if (session.read_over(read.done)) {
        blocked_.insert(session.uaid);
        return 0;
    }
    // Expired messages that are skipped, a limited number in one read, cost too.
    const bool skipped = !read.done && read.messages < at_most;
    return read.messages + (skipped ? store::PartitionStore::kSkipMax : 1);
}

/// A message that is in flight already is not sent twice: its session knows it.
void Delivery::release_withheld() {
    missing_ = context_.log.missing_time();
    bool lower = false;
    auto most = missing_;
    for (std::size_t i = 0; i < withheld_by_.parts.size(); ++i) {
        const auto before = withheld_by_.parts[i].most;
        const bool is_there = i < most.parts.size();
        lower |= (is_there ? most.parts[i].most : core::Duration::zero()) + kWorthAReading < before;
        if (is_there) most.parts[i].most = std::max(most.parts[i].most, before);
    }
    withheld_by_ = lower ? missing_ : std::move(most);
    if (!lower) return;
    for (const auto& client : std::exchange(withheld_, {})) {
        auto* session = context_.sessions.of(client);
        if (!session) continue;
        session->read_store();
        due_.insert(client);
    }
}

void Delivery::tick() {
    expire_awaiting();
    release_withheld();
    due_.insert(blocked_.begin(), blocked_.end());
}

}  // namespace beckon::edge
