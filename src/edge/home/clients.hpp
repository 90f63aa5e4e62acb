#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "edge/home/delivery/tombstone_outbox.hpp"
#include "edge/home/leadership.hpp"
#include "edge/home/part_context.hpp"
#include "edge/home/registration/registrations.hpp"
#include "edge/home/registration/removals.hpp"
#include "edge/protocol/protocol.hpp"
#include "edge/switchboard/messages.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace beckon::edge {

/// The clients of one home, from their hello to their end. The one place that applies the effects
/// of a client's frame: decisions go into the store's next batch, and the frames that answer the
/// client wait in the output for the end of the turn.
///
/// A hello gives a client its UAID. A known one is answered at once, an unknown one only after a
/// read barrier: a new UAID in place of the offered one makes Firefox drop every subscription.
/// Hellos wait while the home does not serve yet, and while they need a read barrier. A client has
/// no reason to send more meanwhile; its front keeps frames that come early.
class Clients {
public:
    /// Clients whose hello waits.
    static constexpr std::size_t kHellosMax = 10'000;
    /// Hellos answered in one turn, after a take-over.
    static constexpr std::size_t kHellosBudget = 512;
    /// The most memory of frames that wait for a write of the store that fails. Above it clients
    /// that send a frame, and clients that come, are closed at once.
    static constexpr std::size_t kOutputBytesMax = 64U << 20;

    /// All of it outlives this.
    struct Parts {
        const Leadership& leadership;
        Delivery& delivery;
        TombstoneOutbox& tombstone_outbox;
        Registrations& registrations;
        const Removals& removals;
    };
    Clients(const PartContext& context, const Parts& parts)
        : context_(context), parts_(parts), lifetime_(context.executor) {}

    // --- from the fronts
    void attach(const Attach& message);
    void receive(const FromClient& message);
    void detach(const Detach& message);
    void front_lost(const core::NodeId& front);

    /// The home serves from now on.
    void began() { answered_hellos_ = 0; }
    /// Answers kept hellos; true if there are more.
    bool turn();
    /// The home does not serve: releases all hellos to other homes.
    void release_hellos(Closing closing);
    void end(Session& session, Closing closing);

private:
    /// The UAID that a client offers, or that its front proposes for it.
    struct Offer {
        core::Uaid uaid;
        bool by_client = false;
        /// Another home has answered the hello, and the client has the UAID already.
        std::optional<Attach::Again> again = std::nullopt;
    };
    struct Hello {
        Offer offer;
        std::uint64_t place = 0;  ///< in kept_; 0: it waits for a read barrier
    };

    void answer(const SessionId& id, const Offer& offer);
    void keep(const SessionId& id, const Offer& offer);
    void wait_for_barrier(const SessionId& id, const Offer& offer);
    void confirmed(const SessionId& id, const core::Result<void>& result);
    bool forget_hello(const SessionId& id);
    void identify(const SessionId& id, const Offer& offer, const core::Uaid& uaid, bool known);
    void send_away(const SessionId& session);
    bool overloaded() const { return context_.output.bytes() > kOutputBytesMax; }
    void apply(Session& session, Effects effects);
    void finish_acked(Session& session, const Effects& effects);
    void report_nacked(const Session& session, const Effects& effects);
    void observe_acks(Session& session);
    void count(const Effects& effects);
    void forget(const Session& session);

    const PartContext& context_;
    const Parts parts_;
    std::map<SessionId, Hello> hellos_;        ///< that wait
    std::map<std::uint64_t, SessionId> kept_;  ///< of those, in the order in which they came
    std::uint64_t last_place_ = 0;
    std::uint64_t answered_hellos_ = 0;  ///< of the leadership
    core::Lifetime lifetime_;            ///< renewed by release_hellos()
};

}  // namespace beckon::edge
