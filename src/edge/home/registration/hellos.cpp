#include "edge/home/registration/hellos.hpp"

#include "edge/home/registration/registrations.hpp"
#include "edge/switchboard/switchboard.hpp"

#include <utility>

namespace beckon::edge {

namespace {

/// Bridged clients are reached by the HTTP API and its secrets; a WebSocket with such a UAID is as
/// good as one with an unknown UAID.
bool may_attach(const std::optional<store::StoredClient>& client) {
    return client && client->router_type == core::RouterType::webpush;
}

}  // namespace

Hellos::Hellos(core::Partition partition, core::Partition partitions, Context context)
    : partition_(partition),
      partitions_(partitions),
      context_(std::move(context)),
      lifetime_(context_.executor) {}

void Hellos::answer(const SessionId& id, const Offer& offer) {
    const bool is_new = !offer.by_client && !offer.again;
    if (is_new) return context_.adopted(id, offer, offer.uaid, false);
    if (!context_.fold.suspect() && may_attach(context_.store.client(offer.uaid))) {
        return context_.adopted(id, offer, offer.uaid, true);
    }
    // A client without a record is known to this session alone, so no proof of its absence is
    // needed.
    const bool adopted = offer.again && !offer.again->persisted;
    if (adopted) return context_.adopted(id, offer, offer.uaid, false);
    wait_for_barrier(id, offer);
}

void Hellos::wait_for_barrier(const SessionId& id, const Offer& offer) {
    if (waiting_.size() >= kWaitingMax) return context_.outbox.close(id, closing::kOverloaded);
    waiting_.emplace(id, Waiting{offer});
    context_.fold.confirm(kSubscriptionsInput,
                          lifetime_.guard([this, id](const core::Result<void>& result) {
                              confirmed(id, result);
                              context_.flush_or_turn();
                          }));
}

/// A read that failed proves nothing either.
void Hellos::confirmed(const SessionId& id, const core::Result<void>& result) {
    const auto node = waiting_.extract(id);
    if (node.empty()) return;  // the client has gone
    const auto& offer = node.mapped().offer;
    const auto client = context_.store.client(offer.uaid);
    if (!result || context_.store.broken()) {
        return context_.outbox.close(id, closing::kUnproven);
    }
    const bool known = may_attach(client);
    if (!known && offer.again) return context_.outbox.close(id, closing::kRemoved);
    context_.adopted(id, offer, known ? offer.uaid : new_uaid_in(partition_, partitions_), known);
}

void Hellos::keep(const SessionId& id, const Offer& offer) {
    if (waiting_.size() >= kWaitingMax) return context_.outbox.close(id, closing::kOverloaded);
    const auto place = ++last_place_;
    if (waiting_.emplace(id, Waiting{offer, place}).second) kept_.emplace(place, id);
}

bool Hellos::turn() {
    for (std::size_t budget = kBudget; budget > 0 && !kept_.empty(); --budget) {
        const auto node = waiting_.extract(kept_.begin()->second);
        kept_.erase(kept_.begin());
        answer(node.key(), node.mapped().offer);
    }
    return !kept_.empty();
}

bool Hellos::forget(const SessionId& id) {
    const auto node = waiting_.extract(id);
    if (node.empty()) return false;
    kept_.erase(node.mapped().place);
    return true;
}

void Hellos::forget_front(const core::NodeId& front) {
    std::erase_if(waiting_, [&](const auto& entry) {
        if (entry.first.front != front) return false;
        kept_.erase(entry.second.place);
        return true;
    });
}

void Hellos::release_all(Closing closing) {
    lifetime_.renew();
    kept_.clear();
    for (const auto& [id, waiting] : std::exchange(waiting_, {}))
        context_.outbox.release(id, closing);
}

}  // namespace beckon::edge
