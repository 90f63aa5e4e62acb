#include "edge/home/clients.hpp"

#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "edge/switchboard/switchboard.hpp"

#include <chrono>
#include <string>
#include <utility>

#include <prometheus/histogram.h>

namespace beckon::edge {

namespace {

/// Bridged clients are reached by the HTTP API and its secrets; a WebSocket with such a UAID is as
/// good as one with an unknown UAID.
bool may_attach(const std::optional<store::StoredClient>& client) {
    return client && client->router_type == core::RouterType::webpush;
}

}  // namespace

void Clients::attach(const Attach& message) {
    if (overloaded()) return send_away(message.session);
    if (!message.again) ++context_.counters.commands[kHelloCommand];
    const Offer offer{.uaid = message.uaid, .by_client = message.offered, .again = message.again};
    if (parts_.leadership.serving()) return answer(message.session, offer);
    const bool soon = parts_.leadership.wanted() || context_.fold.phase() != fold::Phase::following;
    if (!soon) return context_.output.release(message.session, closing::kNotServing);
    keep(message.session, offer);
}

void Clients::answer(const SessionId& id, const Offer& offer) {
    const bool is_new = !offer.by_client && !offer.again;
    if (is_new) return identify(id, offer, offer.uaid, false);
    if (!context_.fold.stalled() && may_attach(context_.store.client(offer.uaid))) {
        return identify(id, offer, offer.uaid, true);
    }
    // A client without a record is known to this session alone, so no proof of its absence is
    // needed.
    const bool adopted = offer.again && !offer.again->persisted;
    if (adopted) return identify(id, offer, offer.uaid, false);
    wait_for_barrier(id, offer);
}

void Clients::wait_for_barrier(const SessionId& id, const Offer& offer) {
    if (hellos_.size() >= kHellosMax) return context_.output.close(id, closing::kOverloaded);
    hellos_.emplace(id, Hello{offer});
    context_.fold.confirm(kSubscriptionsInput,
                          lifetime_.guard([this, id](const core::Result<void>& result) {
                              confirmed(id, result);
                              context_.home.flush_or_turn();
                          }));
}

/// A read that failed proves nothing either.
void Clients::confirmed(const SessionId& id, const core::Result<void>& result) {
    const auto node = hellos_.extract(id);
    if (node.empty()) return;  // the client has gone
    const auto& offer = node.mapped().offer;
    const auto client = context_.store.client(offer.uaid);
    if (!result || context_.store.broken()) {
        return context_.output.close(id, closing::kUnproven);
    }
    const bool known = may_attach(client);
    if (!known && offer.again) return context_.output.close(id, closing::kRemoved);
    identify(id, offer,
             known ? offer.uaid : new_uaid_in(context_.partition, context_.options.partitions),
             known);
}

void Clients::keep(const SessionId& id, const Offer& offer) {
    if (hellos_.size() >= kHellosMax) return context_.output.close(id, closing::kOverloaded);
    const auto place = ++last_place_;
    if (hellos_.emplace(id, Hello{offer, place}).second) kept_.emplace(place, id);
}

bool Clients::turn() {
    for (std::size_t budget = kHellosBudget; budget > 0 && !kept_.empty(); --budget) {
        const auto node = hellos_.extract(kept_.begin()->second);
        kept_.erase(kept_.begin());
        answer(node.key(), node.mapped().offer);
    }
    return !kept_.empty();
}

bool Clients::forget_hello(const SessionId& id) {
    const auto node = hellos_.extract(id);
    if (node.empty()) return false;
    kept_.erase(node.mapped().place);
    return true;
}

void Clients::release_hellos(Closing closing) {
    lifetime_.renew();
    kept_.clear();
    for (const auto& [id, waiting] : std::exchange(hellos_, {}))
        context_.output.release(id, closing);
}

/// A session begins. Of two connections with one UAID the later hello wins.
void Clients::identify(const SessionId& id, const Offer& offer, const core::Uaid& uaid,
                       bool known) {
    auto& output = context_.output;
    if (parts_.removals.holds(uaid)) return output.close(id, closing::kRemoved);
    const auto stamp = offer.again ? offer.again->stamp
                                   : SessionStamp{parts_.leadership.epoch(), ++answered_hellos_};
    if (auto* other = context_.sessions.of(uaid)) {
        if (other->stamp > stamp) return output.close(id, closing::kReplaced);
        end(*other, closing::kReplaced);  // the later hello wins
    }
    auto& session = context_.sessions.open(id, uaid, offer.uaid);
    session.stamp = stamp;
    session.persisted = known;
    session.attached = context_.clock.mono();
    parts_.registrations.attached(session);
    output.attached({.session = id, .uaid = uaid, .stamp = stamp, .persisted = known});
    if (!known) return;
    parts_.delivery.attached(session);
    context_.fold.request_turn();
}

void Clients::receive(const FromClient& message) {
    if (auto* session = context_.sessions.find(message.session, message.uaid)) {
        apply(*session, session->on(message.command, context_.tokens, context_.clock.mono()));
        return;
    }
    if (forget_hello(message.session)) {
        context_.output.close(message.session, closing::kOutOfPlace);
    } else if (overloaded()) {
        send_away(message.session);
    } else {
        context_.output.release(message.session, closing::kNotAttached);
    }
}

/// This does not wait in the output: it follows from nothing, and would take space itself. Frames
/// that wait there for the client find no session at its front any more.
void Clients::send_away(const SessionId& session) {
    context_.fronts.to_front(
        close_client(session, closing::kOverloaded, CloseClient::Kind::closed));
}

void Clients::detach(const Detach& message) {
    forget_hello(message.session);
    if (auto* session = context_.sessions.find(message.session, message.uaid)) forget(*session);
}

void Clients::front_lost(const core::NodeId& front) {
    std::erase_if(hellos_, [&](const auto& entry) {
        if (entry.first.front != front) return false;
        kept_.erase(entry.second.place);
        return true;
    });
    for (const auto& uaid : context_.sessions.of_front(front)) forget(*context_.sessions.of(uaid));
}

void Clients::apply(Session& session, Effects effects) {
    auto& output = context_.output;
    count(effects);
    for (auto& frame : effects.frames) output.frame(session.id, std::move(frame.text));
    finish_acked(session, effects);
    report_nacked(session, effects);
    observe_acks(session);
    for (const auto& change : effects.changes) parts_.registrations.change(session, change);
    if (effects.close) {
        ++context_.counters.refused_frames;
        return end(session, *effects.close);
    }
    if (overloaded()) {
        send_away(session.id);
        return forget(session);
    }
    if (parts_.delivery.made_capacity(session)) context_.fold.request_turn();
}

void Clients::count(const Effects& effects) {
    if (effects.command) ++context_.counters.commands[*effects.command];
    for (const auto code : effects.codes) ++context_.counters.codes[code];
}

void Clients::finish_acked(Session& session, const Effects& effects) {
    for (const auto& [message, as, code] : effects.acked) {
        if (!context_.store.add_acked_tombstone(session.uaid, message, as)) {
            context_.sessions.acknowledged(message);
            parts_.delivery.acknowledged(message, as);
            parts_.tombstone_outbox.outcomes().acknowledged(message);
            continue;
        }
        session.add_pending_tombstone(message);
        if (code) parts_.tombstone_outbox.acked_with(message, *code);
        ++context_.counters.acked;
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
            context_.output.report({.message = std::move(*tracked), .reached = {as}, .logged = {}});
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
    context_.output.close(session.id, closing);
    forget(session);
}

void Clients::forget(const Session& session) {
    parts_.registrations.detached(session);
    context_.sessions.erase(core::Uaid{session.uaid});  // the session goes, its uaid with it
}

}  // namespace beckon::edge
