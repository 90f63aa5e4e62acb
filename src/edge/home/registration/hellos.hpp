#pragma once

#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "edge/home/session/outbox.hpp"
#include "edge/switchboard/messages.hpp"
#include "fold/fold.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace beckon::edge {

/// Decides the UAID of a client. A known one is answered at once, an unknown one only after a read
/// barrier: a new UAID in place of the offered one makes Firefox drop every subscription.
///
/// Hellos wait while the home does not serve yet, and while they need a read barrier. A client has
/// no reason to send more meanwhile; its front keeps frames that come early.
class Hellos {
public:
    /// Clients whose hello waits.
    static constexpr std::size_t kWaitingMax = 10'000;
    /// Hellos answered in one turn, after a take-over.
    static constexpr std::size_t kBudget = 512;

    /// The UAID that a client offers, or that its front proposes for it.
    struct Offer {
        core::Uaid uaid;
        bool by_client = false;
        /// Another home has answered the hello, and the client has the UAID already.
        std::optional<Attach::Again> again = std::nullopt;
    };

    struct Context {
        store::PartitionStore& store;
        fold::Fold& fold;
        core::Executor& executor;
        Outbox& outbox;
        /// The client gets this UAID. `known`: it had it before and comes back.
        std::function<void(const SessionId&, const Offer&, const core::Uaid&, bool known)> adopted;
        /// A decision was made outside of a turn.
        std::function<void()> flush_or_turn;
    };
    Hellos(core::Partition partition, core::Partition partitions, Context context);

    /// The home serves.
    void answer(const SessionId& id, const Offer& offer);
    /// The home does not serve yet.
    void keep(const SessionId& id, const Offer& offer);
    /// Answers kept hellos; true if there are more.
    bool turn();
    /// Drops a hello that waits; false: it does not wait.
    bool forget(const SessionId& id);
    /// The link to that node is lost.
    void forget_front(const core::NodeId& front);
    /// The home does not serve: releases all hellos to other homes.
    void release_all(Closing closing);

private:
    struct Waiting {
        Offer offer;
        std::uint64_t place = 0;  ///< in kept_; 0: it waits for a read barrier
    };
    void wait_for_barrier(const SessionId& id, const Offer& offer);
    void confirmed(const SessionId& id, const core::Result<void>& result);

    const core::Partition partition_;
    const core::Partition partitions_;
    Context context_;
    std::map<SessionId, Waiting> waiting_;
    std::map<std::uint64_t, SessionId> kept_;  ///< of those, in the order in which they came
    std::uint64_t last_place_ = 0;
    core::Lifetime lifetime_;  ///< renewed by release_all()
};

}  // namespace beckon::edge
