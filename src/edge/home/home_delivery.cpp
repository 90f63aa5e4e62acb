#include "edge/frames.hpp"
#include "edge/home/home_impl.hpp"

namespace beckon::edge {

void Home::Impl::deliver(Identified& session, const core::NotificationAccepted& message,
                         core::Timestamp expiry) {
    const auto now = ports.clock.mono();
    if (!session.live() || session.room(limits, now) == 0) {
        session.behind = true;
        if (!session.draining) blocked.insert(session.uaid);
        return;
    }
    if (ports.log_clock.now() >= expiry) {  // it lay in the log for longer than it wanted to live
        store->owe(message.uaid, message.key, core::FinishReason::expired);
        return;
    }
    outbox.push_back(ToClient{session.id, notification_frame(message)});
    session.sent(message.key, message.message_id, now);
    ++counters.delivered;
}

void Home::Impl::hold(const core::RecordView& record, const core::NotificationAccepted& message) {
    const bool grace =
        state != State::serving || ports.clock.mono() - serving_since <= kTakeoverGrace;
    if (!grace || ports.log_clock.now() - record.time > kTakeoverGrace) return;
    if (held.size() >= kHeldMax) held.pop_front();
    held.push_back(Held{message.uaid, record.time, notification_frame(message)});
}

void Home::Impl::send_held(const Identified& session) {
    for (auto it = held.begin(); it != held.end();) {
        if (it->uaid != session.uaid) {
            ++it;
            continue;
        }
        say(session.id, std::move(it->frame));
        ++counters.delivered;
        it = held.erase(it);
    }
}

void Home::Impl::refill_all() {
    if (state != State::serving) return;
    for (const auto& uaid : std::exchange(refill_soon, {})) {
        const auto session = sessions.find(uaid);
        if (session != sessions.end()) refill(session->second);
    }
}

/// Sends what waits in the store as far as there is room. A drain that comes to its end while more
/// was folded begins again with a fresh cursor and skips what is under way.
void Home::Impl::refill(Identified& session) {
    const auto now = ports.clock.mono();
    blocked.erase(session.uaid);
    for (std::size_t budget = kDrainBatch; !session.live();) {
        const auto room = std::min(session.room(limits, now), budget);
        if (room == 0) {
            if (budget > 0) {
                blocked.insert(session.uaid);  // an ack, or patience, makes room
            } else {
                refill_soon.insert(session.uaid);
                schedule_turn();
            }
            return;
        }
        if (!session.draining) {
            session.draining = true;
            session.behind = false;
            session.cursor = {.topics = true, .after = -1, .until = notifications.next};
        }
        const auto read =
            store->read_pending(session.uaid, session.cursor, room, ports.log_clock.now(),
                                [&](const store::MessageView& message) {
                                    if (session.was_sent(message.key)) return;
                                    say(session.id, notification_frame(message));
                                    session.sent(message.key, message.message_id, now);
                                    ++counters.delivered;
                                });
        if (read.done) session.draining = false;
        budget -= std::min(budget, std::max<std::size_t>(read.messages, 1));
    }
}

void Home::Impl::finished_elsewhere(const core::Uaid& uaid, const core::MessageKey& key) {
    const auto session = sessions.find(uaid);
    if (session == sessions.end() || !session->second.forget(key)) return;
    if (!session->second.live()) refill_soon.insert(uaid);
}

/// Takes effect in memory and in the store's next batch at once, in the log later. A version that
/// is not under way here may still be pending: of an earlier connection, or given up counting.
void Home::Impl::ack(Identified& session, const Ack& frame) {
    for (const auto& update : frame.updates) {
        auto key = session.acked(update.version);
        if (!key) {
            const auto ref = ports.tokens.open_message(update.version);
            if (!ref || ref->uaid != session.uaid) continue;
            key = ref->key;
        }
        if (!store->owe(session.uaid, *key, core::FinishReason::acked)) continue;
        ++session.acked_not_durable;
        ++counters.acked;
    }
    if (!session.live()) refill_soon.insert(session.uaid);
    schedule_turn();
}

void Home::Impl::durable(const store::Debt& debt) {
    if (debt.reason != core::FinishReason::acked) return;
    const auto it = sessions.find(debt.uaid);
    if (it == sessions.end() || it->second.acked_not_durable == 0) return;
    auto& session = it->second;
    const bool full = session.acked_not_durable-- >= limits.acked_not_durable_max;
    if (!full || session.live()) return;
    refill_soon.insert(session.uaid);
    schedule_turn();
}

}  // namespace beckon::edge
