#include "edge/frames.hpp"
#include "edge/home/home_impl.hpp"
#include "edge/new_uaid.hpp"

namespace beckon::edge {

void Home::Impl::say(const SessionId& id, std::string text) {
    ports.fronts.to_front(ToClient{id, std::move(text)});
}

void Home::Impl::close(const SessionId& id, Closing closing) {
    ports.fronts.to_front(CloseClient{id, closing.code, std::string{closing.reason}});
}

void Home::Impl::drop(const core::Uaid& uaid) {
    const auto it = sessions.find(uaid);
    if (it == sessions.end()) return;
    seen_due.erase({it->second.seen_due, uaid});
    renamed.erase(it->second.id);
    refill_soon.erase(uaid);
    blocked.erase(uaid);
    sessions.erase(it);
}

void Home::Impl::attach(Attach message) {
    notice_standstill();
    const auto frame = parser.parse(message.hello);
    if (!frame) {
        ++counters.refused_frames;
        close(message.session, closing_for(frame.error()));
        return;
    }
    if (!std::holds_alternative<Hello>(*frame)) {
        ++counters.refused_frames;
        close(message.session, closing::kOutOfPlace);
        return;
    }
    ++counters.commands[frame->index()];
    AwaitingHello session{message.session, {message.uaid, message.offered}};
    if (state == State::serving) {
        answer_hello(std::move(session));
        return;
    }
    const bool soon = wanted || state == State::starting || state == State::restoring;
    if (!soon || awaiting.size() >= kAwaitingMax) {
        close(message.session, {CloseCode::try_again, "not serving"});
        return;
    }
    awaiting.emplace(message.session, std::move(session));
}

/// A known UAID is answered at once, an unknown one only after a mark: "I do not know you" makes
/// Firefox drop every subscription (DESIGN §5 "Never answer from the past").
void Home::Impl::answer_hello(AwaitingHello session) {
    if (!session.wish.offered) {
        const auto uaid = session.wish.uaid;
        identify(std::move(session), uaid, false);
        return;
    }
    if (!suspect && store->client(session.wish.uaid)) {
        const auto uaid = session.wish.uaid;
        identify(std::move(session), uaid, true);
        return;
    }
    if (awaiting.size() >= kAwaitingMax) {
        close(session.id, {CloseCode::try_again, "too many wait"});
        return;
    }
    const auto id = session.id;
    awaiting.emplace(id, std::move(session));
    subscriptions.marker->ask(guarded(
        [id](Impl& self, const core::Result<void>& marked) { self.settle_hello(id, marked); }));
}

void Home::Impl::settle_hello(const SessionId& id, const core::Result<void>& marked) {
    auto node = awaiting.extract(id);
    if (node.empty()) return;  // gone, or closed with all the others
    if (!marked || state != State::serving) {
        close(id, {CloseCode::try_again, "cannot tell"});
        return;
    }
    auto& session = node.mapped();
    const bool known = store->client(session.wish.uaid).has_value();
    const auto uaid =
        known ? session.wish.uaid : new_uaid_in(options.partition, options.partitions);
    identify(std::move(session), uaid, known);
}

void Home::Impl::identify(AwaitingHello from, const core::Uaid& uaid, bool known) {
    const auto id = from.id;
    const auto offered = from.wish.uaid;
    if (const auto older = sessions.find(uaid); older != sessions.end()) {
        close(older->second.id, {CloseCode::internal, "SM"});  // the later one wins (§9)
        drop(uaid);
    }
    auto& session = sessions.try_emplace(uaid, id, uaid).first->second;
    if (uaid != offered) renamed[id] = uaid;
    session.seen_due = ports.clock.mono() + kSeenEvery;
    seen_due.emplace(session.seen_due, uaid);

    ports.fronts.to_front(Attached{id, uaid});
    say(id, hello_frame(uaid));
    if (known) {
        see(session);
        send_held(session);
        session.draining = true;
        session.cursor = {.topics = true, .after = -1, .until = notifications.next};
        refill(session);
        if (store->dirty()) schedule_turn();  // expired ones were met
    }
    for (const auto& text : std::move(from).take_early()) {
        auto* still = find(id, uaid);
        if (!still) return;
        hear(*still, text);
    }
}

Identified* Home::Impl::find(const SessionId& id, const core::Uaid& uaid) {
    auto it = sessions.find(uaid);
    if (it == sessions.end() || it->second.id != id) {
        const auto now = renamed.find(id);
        if (now == renamed.end()) return nullptr;
        it = sessions.find(now->second);
    }
    return it != sessions.end() && it->second.id == id ? &it->second : nullptr;
}

void Home::Impl::hear(FromClient message) {
    if (auto* session = find(message.session, message.uaid)) {
        hear(*session, message.text);
        return;
    }
    const auto early = awaiting.find(message.session);
    if (early == awaiting.end()) {
        close(message.session, {CloseCode::try_again, "not attached"});
    } else if (!early->second.keep(std::move(message.text))) {
        ++counters.refused_frames;
        awaiting.erase(early);
        close(message.session, closing::kOutOfPlace);
    }
}

void Home::Impl::detach(const Detach& message) {
    awaiting.erase(message.session);
    if (const auto* session = find(message.session, message.uaid)) drop(session->uaid);
}

void Home::Impl::hear(Identified& session, std::string_view text) {
    const auto refuse = [&](Closing why) {
        ++counters.refused_frames;
        close(session.id, why);
        drop(core::Uaid{session.uaid});  // the session goes, its uaid with it
    };
    const auto frame = parser.parse(text);
    if (!frame) {
        refuse(closing_for(frame.error()));
        return;
    }
    ++counters.commands[frame->index()];
    std::visit(core::Overloaded{
                   [&](const Hello&) { refuse(closing::kOutOfPlace); },
                   [&](const Register& wish) { change(session, wish); },
                   [&](const Unregister& wish) { change(session, wish); },
                   [](const BroadcastSubscribe&) {},  // nothing is ever broadcast yet
                   [&](const Ack& said) { ack(session, said); },
                   [&](const Nack& said) {
                       session.nacked(said.version);
                       refill_soon.insert(session.uaid);
                       schedule_turn();
                   },
                   [&](const Ping&) { say(session.id, ping_frame()); },
               },
               *frame);
}

}  // namespace beckon::edge
