#pragma once

#include "core/ids.hpp"
#include "edge/protocol/closings.hpp"
#include "edge/protocol/protocol.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The messages between fronts and homes (docs/design.md#shards): the only contract between them.
/// Same shard: a function call; same process: a shard's mailbox; other node: a frame on the link
/// (docs/formats/link.md).
namespace beckon::edge {

/// One client at one home, named by its front. The number is never used twice within a process; a
/// client that is attached again, at this home or another one, gets a new number.
struct SessionId {
    core::NodeId front;
    std::uint32_t shard = 0;  ///< of the front, so that the way back needs no look-up
    std::uint64_t number = 0;
    auto operator<=>(const SessionId&) const = default;
};

/// The version of a session, which a home assigns when it answers the hello. The front keeps it and
/// shows it to the next home (docs/design.md#sessions-survive-their-home).
struct SessionStamp {
    core::Epoch epoch = 0;  ///< of the lease of the home that answered the hello; 0: no answer yet
    std::uint64_t sequence = 0;  ///< of that hello within the epoch
    auto operator<=>(const SessionStamp&) const = default;
};

// --- front to home. `uaid` routes: it determines the partition, and so the home.

/// A client that a front attaches to a home, which answers its hello; or again, after its first
/// home has gone, without a word to the client.
struct Attach {
    SessionId session;
    core::Uaid uaid;
    /// False: the client offered none (or not a UUID); the front chose one, and the home takes it
    /// as new without a read barrier.
    bool offered = false;
    /// The state of a client whose hello was answered by another home, or by this one earlier.
    struct Again {
        SessionStamp stamp;
        /// The client has a record in the log: if this home does not know it, it was removed.
        bool persisted = false;
        bool operator==(const Again&) const = default;
    };
    std::optional<Again> again = std::nullopt;  ///< nullopt: the hello has no answer yet
    bool operator==(const Attach&) const = default;
};

/// Any later frame of the client.
struct FromClient {
    SessionId session;
    core::Uaid uaid;
    ClientCommand command;
    bool operator==(const FromClient&) const = default;
};

/// The socket is gone, or the front has closed it or attached the client elsewhere. Sent once for
/// each Attach, unless the home ended the session itself.
struct Detach {
    SessionId session;
    core::Uaid uaid;
    bool operator==(const Detach&) const = default;
};

using ToHome = std::variant<Attach, FromClient, Detach>;

// --- home to front

/// One text frame for the client.
struct ToClient {
    SessionId session;
    std::string text;
    bool operator==(const ToClient&) const = default;
};

/// The end of a session.
struct CloseClient {
    enum class Kind : std::uint8_t {
        /// Made on the way from the home, which still has the session and needs a Detach. The
        /// connection ends with a close frame.
        held = 0,
        /// The home has forgotten the session; no Detach follows. The connection ends with a close
        /// frame.
        closed = 1,
        /// The home has forgotten the session because it does not serve. The connection stays: its
        /// front attaches the client where the partition lives now.
        released = 2,
    };
    SessionId session;
    CloseCode code = CloseCode::internal;
    std::string reason;
    Kind kind = Kind::closed;
    bool operator==(const CloseClient&) const = default;
};
inline CloseClient close_client(const SessionId& session, Closing closing, CloseClient::Kind kind) {
    return {session, closing.code, std::string{closing.reason}, kind};
}

/// The answer to an Attach: from now on the session has this UAID (a home may replace the offered
/// one). The front words the frame that answers a hello: one that followed this could be lost with
/// a link. Sent again when `persisted` becomes true.
struct Attached {
    SessionId session;
    core::Uaid uaid;
    SessionStamp stamp;
    bool persisted = false;  ///< as Attach::Again has it
    bool operator==(const Attached&) const = default;
};

using ToFront = std::variant<ToClient, CloseClient, Attached>;

/// The messages of one turn that travel together, in order.
struct Messages {
    std::vector<ToHome> to_homes;
    std::vector<ToFront> to_fronts;
    bool empty() const { return to_homes.empty() && to_fronts.empty(); }
};

/// The outcome of sending a message.
enum class Sent : std::uint8_t {
    yes,
    full,  ///< too many messages are on their way there
    away,  ///< there is no receiver at present
};

/// A node as a front knows it: 0 is this process, the switchboard numbers all others.
struct NodeNumber {
    std::uint32_t value = 0;
    bool operator==(const NodeNumber&) const = default;
};

/// Where a front sends. Implemented by the process's switchboard; called on the front's shard.
class HomeTransport {
public:
    virtual ~HomeTransport() = default;
    /// The node of the home of that UAID's partition; nullopt: no home is placed.
    virtual std::optional<NodeNumber> home_of(const core::Uaid& uaid) const = 0;
    /// `message` is moved from only if the answer is yes. A Detach is never `full`.
    virtual Sent to_home(NodeNumber node, ToHome&& message) = 0;
};

/// Where a home sends. Called on the home's shard; a session that is gone is ignored.
class FrontTransport {
public:
    virtual ~FrontTransport() = default;
    virtual void to_front(ToFront message) = 0;
};

/// The way to the other nodes. Any thread.
class NodeTransport {
public:
    virtual ~NodeTransport() = default;
    virtual Sent to_home(const core::NodeId& node, const ToHome& message) = 0;
    virtual Sent to_front(const core::NodeId& node, const ToFront& message) = 0;
    /// Sends the messages of a turn. Call it at the end of each turn that sent any.
    virtual void flush() = 0;
};

}  // namespace beckon::edge
