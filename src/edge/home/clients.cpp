#include "edge/home/clients.hpp"

#include "core/log_names.hpp"
#include "core/logger.hpp"

#include <chrono>
#include <string>
#include <utility>

#include <prometheus/histogram.h>

namespace beckon::edge {

void Clients::attach(const Attach& message) {
    if (overloaded()) return send_away(message.session);
    if (!message.again) ++counts_.commands[kHelloCommand];
    const Hellos::Offer offer{
        .uaid = message.uaid, .by_client = message.offered, .again = message.again};
    if (context_.leadership.serving()) return context_.hellos.answer(message.session, offer);
    const bool soon =
        context_.leadership.wanted() || context_.fold.phase() != fold::Phase::following;
    if (!soon) return context_.outbox.release(message.session, closing::kNotServing);
    context_.hellos.keep(message.session, offer);
}

void Clients::identify(const SessionId& id, const Hellos::Offer& offer, const core::Uaid& uaid,
                       bool known) {
    auto& outbox = context_.outbox;
    if (context_.removals.holds(uaid)) return outbox.close(id, closing::kRemoved);
    const auto stamp = offer.again ? offer.again->stamp
                                   : SessionStamp{context_.leadership.epoch(), ++answered_hellos_};
    if (auto* other = context_.sessions.of(uaid)) {
        if (other->stamp > stamp) return outbox.close(id, closing::kReplaced);
        end(*other, closing::kReplaced);  // the later hello wins
    }
    auto& session = context_.sessions.open(id, uaid, offer.uaid);
    session.stamp = stamp;
    session.persisted = known;
    session.attached = context_.clock.mono();
    context_.registrations.attached(session);
    outbox.attached({.session = id, .uaid = uaid, .stamp = stamp, .persisted = known});
    if (!known) return;
    context_.delivery.attached(session);
    context_.fold.request_turn();
}

void Clients::receive(const FromClient& message) {
    if (auto* session = context_.sessions.find(message.session, message.uaid)) {
        apply(*session, session->on(message.command, context_.tokens, context_.clock.mono()));
        return;
    }
    if (context_.hellos.forget(message.session)) {
        context_.outbox.close(message.session, closing::kOutOfPlace);
    } else if (overloaded()) {
        send_away(message.session);
    } else {
        context_.outbox.release(message.session, closing::kNotAttached);
    }
}

/// This does not wait in the outbox: it follows from nothing, and would take space itself. Frames
/// that wait there for the client find no session at its front any more.
void Clients::send_away(const SessionId& session) {
    constexpr auto kWhy = closing::kOverloaded;
    context_.fronts.to_front(
        CloseClient{.session = session, .code = kWhy.code, .reason = std::string{kWhy.reason}});
}

void Clients::detach(const Detach& message) {
    context_.hellos.forget(message.session);
    if (auto* session = context_.sessions.find(message.session, message.uaid)) forget(*session);
}

void Clients::front_lost(const core::NodeId& front) {
    context_.hellos.forget_front(front);
    for (const auto& uaid : context_.sessions.of_front(front)) forget(*context_.sessions.of(uaid));
}

void Clients::apply(Session& session, Effects effects) {
    auto& outbox = context_.outbox;
    count(effects);
    for (auto& frame : effects.frames) outbox.frame(session.id, std::move(frame.text));
    finish_acked(session, effects);
    report_nacked(session, effects);
    observe_acks(session);
    for (const auto& change : effects.changes) context_.registrations.change(session, change);
    if (effects.close) {
        ++counts_.refused_frames;
        return end(session, *effects.close);
    }
    if (overloaded()) {
        send_away(session.id);
        return forget(session);
    }
    if (context_.delivery.made_capacity(session)) context_.fold.request_turn();
}

void Clients::count(const Effects& effects) {
    if (effects.command) ++counts_.commands[*effects.command];
    for (const auto code : effects.codes) ++counts_.codes[code];
}

void Clients::finish_acked(Session& session, const Effects& effects) {
    for (const auto& [message, as, code] : effects.acked) {
        if (!context_.store.add_acked_tombstone(session.uaid, message, as)) {
            context_.sessions.acknowledged(message);
            context_.delivery.acknowledged(message, as);
            context_.outcomes.acknowledged(message);
            continue;
        }
        session.add_pending_tombstone(message);
        if (code) context_.tombstone_outbox.acked_with(message, *code);
        ++counts_.acked;
        if (!core::log_enabled(core::LogLevel::debug)) continue;
        core::log_debug(
            "edge", "message_acked",
            {{"message", core::log_name(message)}, {"client", core::log_name(session.uaid)}});
    }
}

/// A message that the client could not use stays pending.
void Clients::report_nacked(const Session& session, const Effects& effects) {
    for (const auto& [message, as, code] : effects.nacked) {
        if (auto tracked = context_.store.tracked(session.uaid, message)) {
            context_.outbox.report({.message = std::move(*tracked), .reached = {as}, .logged = {}});
        }
    }
}

void Clients::observe_acks(Session& session) {
    for (const auto sent : session.take_acked()) {
        if (!context_.times.frame_to_ack) break;
        const std::chrono::duration<double> waited = context_.clock.mono() - sent;
        context_.times.frame_to_ack->Observe(waited.count());
    }
}

void Clients::end(Session& session, Closing closing) {
    context_.outbox.close(session.id, closing);
    forget(session);
}

void Clients::forget(const Session& session) {
    context_.registrations.detached(session);
    context_.sessions.erase(core::Uaid{session.uaid});  // the session goes, its uaid with it
}

}  // namespace beckon::edge
