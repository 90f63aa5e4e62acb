#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/tokens.hpp"
#include "edge/edge_options.hpp"
#include "edge/home/session/window.hpp"
#include "edge/protocol/closings.hpp"
#include "edge/protocol/protocol.hpp"
#include "edge/switchboard/messages.hpp"
#include "records/events.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beckon::edge {

/// A register or unregister that a client asks for.
struct ChannelChange {
    enum class Kind { add, remove };
    Kind kind = Kind::add;
    core::ChannelId channel;
    std::optional<core::Sha256> vapid;    ///< of the key that the subscription is bound to
    std::optional<std::uint32_t> code{};  ///< why it is removed; absent: 200
    bool operator==(const ChannelChange&) const = default;
};

/// The effects of one input to a session. Nothing of it has happened when a session returns it:
/// its home applies it in one place, and frames leave at the end of the turn.
struct Effects {
    struct Frame {
        std::string text;
        std::optional<core::MessageKey> message;  ///< that the frame carries
        bool operator==(const Frame&) const = default;
    };
    /// A message that the client has answered.
    struct Answered {
        core::MessageKey key;
        core::Milestone end = core::Milestone::delivered;  ///< by the answer's code
        std::optional<std::uint16_t> code{};               ///< of an ack, unless it is 100
        bool operator==(const Answered&) const = default;
    };
    std::vector<Frame> frames{};     ///< to the client, in this order
    std::vector<Answered> acked{};   ///< their tombstones are pending
    std::vector<Answered> nacked{};  ///< they stay pending
    std::vector<ChannelChange> changes{};
    std::vector<std::size_t> codes{};      ///< that the client gave: places in kAnswerCodes
    std::optional<std::size_t> command{};  ///< a frame came: its place in kCommands
    std::optional<Closing> close{};        ///< the session is over
    bool operator==(const Effects&) const = default;
};

/// The protocol with one client that has its UAID: a machine without I/O. Frames, messages and the
/// passing of time go in, effects come out.
class Session {
public:
    /// Registers and unregisters without an answer.
    static constexpr std::size_t kChangesInFlightMax = 256;

    /// `options` outlives the session.
    Session(SessionId session, const core::Uaid& client, const EdgeOptions& options)
        : id(std::move(session)), uaid(client), options_(options), window_(options.window) {}

    const SessionId id;
    const core::Uaid uaid;
    /// The stamp of its hello, which any home may have answered: of two sessions of a client the
    /// one with the lower stamp ends.
    SessionStamp stamp;
    /// The client has a record in the log, and its front knows.
    bool persisted = false;
    /// When it was attached to this home.
    core::MonoTime attached{};
    // Kept by Registrations.
    core::MonoTime seen_due{};      ///< when `last_seen` is to be written next
    std::size_t channels_left = 0;  ///< that it may add before its channels are counted again
    core::MonoTime count_again{};   ///< not before then

    Effects on(const ClientCommand& command, core::Tokens& tokens, core::MonoTime now);
    /// When the messages were sent which the last frame has acknowledged.
    std::vector<core::MonoTime> take_acked() { return window_.take_acked(); }
    /// A message was folded for this client at `offset`, and has not expired. It is sent if nothing
    /// older waits in the store and there is space; else it waits there. With TTL 0 it is sent in
    /// any case and takes no place in the window; its ack ends no pending message, and is reported
    /// if the message is tracked or has a receipt.
    Effects on(const core::NotificationAccepted& message, core::Offset offset, core::MonoTime now);

    /// The message is finished, by this home or another process.
    void finished(const core::MessageKey& message);
    /// The log has the tombstone of an acknowledged message.
    void durable(const core::MessageKey& message) { window_.durable(message); }
    /// `message` is acknowledged here, and its tombstone is pending.
    void add_pending_tombstone(const core::MessageKey& message) {
        window_.add_pending_tombstone(message);
    }
    /// A register or unregister has its answer.
    void change_answered() { --changes_in_flight_; }
    std::size_t changes_in_flight() const { return changes_in_flight_; }

    // --- waiting messages in the store
    /// No message waits there: the next folded message may be sent at once.
    bool live() const { return !draining_ && !behind_; }
    /// Something may wait there.
    void read_store() { waits(0); }
    /// How many messages may be read now.
    std::size_t capacity(core::MonoTime now) { return window_.capacity(now); }
    /// Whether there is enough space that a read is worth its cost.
    bool wants_read(core::MonoTime now);
    /// From where to read. A reading begins with the first message that was not sent on this
    /// session, and ends below `until`, the position of the fold when it began, so that nothing
    /// which is folded meanwhile is sent twice.
    store::DrainCursor& cursor(core::Offset until);
    /// The next message that was read there.
    Effects on(const store::MessageView& message, core::MonoTime now);
    /// The read is over; `done`: nothing was left below `until`. True if the last message that was
    /// read did not fit, so that an ack must come first.
    bool read_over(bool done);

    std::size_t unacked() const { return window_.unacked(); }
    /// When the message was sent, if its answer is awaited.
    std::optional<core::MonoTime> sent_at(const core::MessageKey& message) const {
        return window_.sent_at(message);
    }

    /// The messages whose answers are awaited, the oldest first, at most `most`, and when they were
    /// sent.
    std::vector<std::pair<core::MessageKey, core::MonoTime>> oldest_sent(std::size_t most) const {
        return window_.oldest(most);
    }

private:
    void apply(Effects& effects, const Register& frame);
    void apply(Effects& effects, const Unregister& frame);
    void apply(Effects& effects, const Ack& frame, core::Tokens& tokens);
    void ping(Effects& effects, core::MonoTime now);
    bool may_change(Effects& effects, std::string refusal);
    void waits(core::Offset offset);

    const EdgeOptions& options_;
    Window window_;
    std::size_t changes_in_flight_ = 0;
    std::optional<core::MonoTime> pinged_;  ///< when the client last did
    store::DrainCursor cursor_;             ///< only while draining_
    /// The cursor before the first message that was read and did not fit.
    std::optional<store::DrainCursor> before_unfit_;
    bool draining_ = false;
    /// Something was folded for this client after the reading's `until` and was not sent.
    bool behind_ = false;
    core::Offset unsent_from_ = 0;  ///< the first such; all before it was sent, or is being read
};

}  // namespace beckon::edge
