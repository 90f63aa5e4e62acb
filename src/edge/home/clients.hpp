#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/tokens.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "edge/home/delivery/outcomes.hpp"
#include "edge/home/delivery/tombstone_outbox.hpp"
#include "edge/home/leadership.hpp"
#include "edge/home/registration/hellos.hpp"
#include "edge/home/registration/registrations.hpp"
#include "edge/home/registration/removals.hpp"
#include "edge/home/session/outbox.hpp"
#include "edge/home/session/sessions.hpp"
#include "edge/protocol/protocol.hpp"
#include "edge/switchboard/messages.hpp"
#include "fold/fold.hpp"
#include "store/edge_store.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace beckon::edge {

/// The clients of one home, from their attaching to their end. The one place that applies the
/// effects of a client's frame: decisions go into the store's next batch, and the frames that
/// answer the client wait in the outbox for the end of the turn.
class Clients {
public:
    /// The most memory of frames that wait for a write of the store that fails. Above it clients
    /// that send a frame, and clients that come, are closed at once.
    static constexpr std::size_t kOutboxBytesMax = 64U << 20;

    /// All of it outlives this.
    struct Context {
        store::PartitionStore& store;
        fold::Fold& fold;
        core::Tokens& tokens;
        const core::Clock& clock;
        const Leadership& leadership;
        Hellos& hellos;
        Sessions& sessions;
        Delivery& delivery;
        Outcomes& outcomes;
        TombstoneOutbox& tombstone_outbox;
        Registrations& registrations;
        const Removals& removals;
        Outbox& outbox;
        FrontTransport& fronts;
        DeliveryTimes times{};
    };
    explicit Clients(const Context& context) : context_(context) {}

    // --- from the fronts
    void attach(const Attach& message);
    void receive(const FromClient& message);
    void detach(const Detach& message);
    void front_lost(const core::NodeId& front);

    /// The home serves from now on.
    void began() { answered_hellos_ = 0; }
    /// The home has decided which UAID a client has: a session begins. Of two connections with one
    /// UAID the later hello wins.
    void identify(const SessionId& id, const Hellos::Offer& offer, const core::Uaid& uaid,
                  bool known);
    void end(Session& session, Closing closing);

    /// Since the home was made.
    struct Counts {
        std::uint64_t acked = 0;           ///< pending messages that their client acknowledged
        std::uint64_t refused_frames = 0;  ///< connections closed for a client's fault
        std::array<std::uint64_t, kAnswerCodes.size()> codes{};  ///< that clients gave
        std::array<std::uint64_t, kCommands.size()> commands{};  ///< well-formed ones, by kind
    };
    const Counts& counts() const { return counts_; }

private:
    void send_away(const SessionId& session);
    bool overloaded() const { return context_.outbox.bytes() > kOutboxBytesMax; }
    void apply(Session& session, Effects effects);
    void finish_acked(Session& session, const Effects& effects);
    void report_nacked(const Session& session, const Effects& effects);
    void observe_acks(Session& session);
    void count(const Effects& effects);
    void forget(const Session& session);

    const Context context_;
    Counts counts_;
    std::uint64_t answered_hellos_ = 0;  ///< of the leadership
};

}  // namespace beckon::edge
