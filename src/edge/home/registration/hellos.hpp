#pragma once

#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "edge/home/session/outbox.hpp"
#include "edge/switchboard/messages.hpp"
#include "fold/fold.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>

namespace beckon::edge {

/// Decides which UAID a client has. A known one is answered at once, an unknown one only after a
/// read barrier: a new UAID in place of the offered one makes Firefox drop every subscription.
///
/// While the home does not serve yet, hellos wait; so do those that need a read barrier. In both
/// cases a client has no reason to say more: its front keeps what it says early.
class Hellos {
public:
    /// Clients whose hello waits.
    static constexpr std::size_t kWaitingMax = 10'000;
    /// Hellos answered in one turn, after a take-over.
    static constexpr std::size_t kBudget = 512;

    /// What a client offers, or its front proposes for it.
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
        /// The client has this UAID. `known`: it has one already and comes back.
        std::function<void(const SessionId&, const Offer&, const core::Uaid&, bool known)> adopted;
        /// Something was decided outside of a turn.
        std::function<void()> flush_or_turn;
    };
    Hellos(core::Partition partition, core::Partition partitions, Context context);

    /// The home serves.
    void answer(const SessionId& id, const Offer& offer);
    /// The home does not serve yet.
    void keep(const SessionId& id, const Offer& offer);
    /// What was kept is answered from now on; true if there is more to do.
    bool turn();
    /// False: no such hello waits.
    bool forget(const SessionId& id);
    /// The link to that node is lost.
    void forget_front(const core::NodeId& front);
    /// The home does not serve: other homes are to answer.
    void release_all(Closing closing);

private:
    void wait_for_barrier(const SessionId& id, const Offer& offer);
    void confirmed(const SessionId& id, const core::Result<void>& result);

    const core::Partition partition_;
    const core::Partition partitions_;
    Context context_;
    std::map<SessionId, Offer> waiting_;
    std::deque<SessionId> kept_;  ///< may name some that were forgotten
    core::Lifetime lifetime_;     ///< renewed by release_all()
};

}  // namespace beckon::edge
