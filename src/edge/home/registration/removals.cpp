#include "edge/home/registration/removals.hpp"

#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "core/time_guard.hpp"

#include <utility>

namespace beckon::edge {

void Removals::begin() {
    searched_.reset();
    search_again_ = context_.clock.mono();
}

void Removals::stop() {
    lifetime_.renew();
    for (const auto& [client, removal] : std::exchange(under_way_, {})) {
        if (removal.done) removal.done(false);
    }
}

void Removals::tick() {
    if (context_.clock.mono() < search_again_ || under_way_.size() >= kUnderWayMax) return;
    const auto page = context_.store.clients_after(searched_, kPage);
    for (const auto& [client, stored] : page.clients) {
        if (under_way_.size() >= kUnderWayMax) return;  // from here on in the next tick
        if (is_absent(client, stored)) remove(client, Why::absent);
        searched_ = client;
    }
    searched_ = page.next;
    if (searched_) return;
    search_again_ = context_.clock.mono() + kSearchEvery;
}

/// A bridged client never attaches: whether it is still there is known to its bridge.
bool Removals::is_absent(const core::Uaid& client, const store::StoredClient& stored) const {
    if (stored.router_type != core::RouterType::webpush || context_.sessions.of(client))
        return false;
    const auto past = core::certainly_past(context_.log_now(), context_.clock.wall());
    return past - stored.last_seen >= context_.options.client_ttl;
}

void Removals::start(const core::Uaid& client, Removal removal) {
    if (under_way_.size() >= kUnderWayMax || under_way_.contains(client)) {
        if (removal.done) removal.done(false);
        return;
    }
    under_way_.emplace(client, std::move(removal));
    context_.fold.confirm(kSubscriptionsInput,
                          lifetime_.guard([this, client](const core::Result<void>& result) {
                              confirmed(client, result);
                              context_.home.flush_or_turn();
                          }));
}

void Removals::over(const core::Uaid& client, bool removed) {
    const auto removal = under_way_.extract(client);
    if (removal.mapped().done) removal.mapped().done(removed);
}

void Removals::confirmed(const core::Uaid& client, const core::Result<void>& result) {
    const auto stored = context_.store.client(client);
    const auto why = under_way_.at(client).why;
    if (!result || context_.store.broken()) return over(client, false);
    if (!stored && why == Why::erased) return purge(client);
    if (!stored || (why == Why::absent && !is_absent(client, *stored))) {
        return over(client, false);
    }
    registrations_.remove_client(
        client, lifetime_.guard([this, client](bool is_folded) { folded(client, is_folded); }));
}

/// If it is unknown whether the log has the tombstone, the client says hello again.
void Removals::folded(const core::Uaid& client, bool is_folded) {
    if (!is_folded) {
        if (auto* session = context_.sessions.of(client)) {
            context_.home.end(*session, closing::kRemoved);
        }
        over(client, false);
        return context_.home.flush_or_turn();
    }
    const auto why = under_way_.at(client).why;
    ++context_.counters.removed[why];
    core::log_info("edge", "client_removed",
                   {{"client", core::log_name(client)}, {"why", core::name_of(why)}});
    purge(client);
}

/// Finishes the messages of a client that the log no longer has.
void Removals::purge(const core::Uaid& client) {
    if (auto* session = context_.sessions.of(client)) context_.home.end(*session, closing::kReset);
    registrations_.purge(client, lifetime_.guard([this, client] { over(client, true); }));
    context_.fold.request_turn();
}

}  // namespace beckon::edge
