#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <variant>

/// What fronts and homes say to each other (docs/design.md#shards): the only contract between them.
/// Same shard: a function call; same process: a shard's mailbox; other node (later): a frame on the
/// link.
namespace beckon::edge {

/// One attached client, named by its front. The number is never reused within a process.
struct SessionId {
    core::NodeId front;
    std::uint32_t shard = 0;  ///< of the front, so that the way back needs no look-up
    std::uint64_t number = 0;
    auto operator<=>(const SessionId&) const = default;
};

// --- front to home. `uaid` routes: it says which partition, hence which home.

/// A client's first frame, still text: the home parses and answers it.
struct Attach {
    SessionId session;
    core::Uaid uaid;
    /// False: the client offered none (or not a UUID); the front chose one of a partition that its
    /// own shard serves, and the home takes it as new without a mark.
    bool offered = false;
    std::string hello;
};

/// Any later frame of the client.
struct FromClient {
    SessionId session;
    core::Uaid uaid;
    std::string text;
};

/// The socket is gone, or the front has closed it. Sent once for each Attach, unless the home
/// closed the session itself.
struct Detach {
    SessionId session;
    core::Uaid uaid;
};

using ToHome = std::variant<Attach, FromClient, Detach>;

// --- home to front

/// WebSocket close codes (docs/protocol/errors.md#close-codes).
enum class CloseCode : std::uint16_t {
    normal = 1000,
    going_away = 1001,
    protocol = 1002,
    unsupported = 1003,
    too_big = 1009,
    internal = 1011,
    try_again = 1013,
};

/// One text frame for the client.
struct ToClient {
    SessionId session;
    std::string text;
};

/// Send a close frame, then drop the connection.
struct CloseClient {
    SessionId session;
    CloseCode code = CloseCode::internal;
    std::string reason;
    /// True: the home has forgotten the session, and no Detach follows. False: the order was made
    /// on the way from the home, which still has the session and needs a Detach.
    bool from_home = true;
};

/// The hello was answered: from now on the session has this UAID (a home may replace the offered
/// one).
struct Attached {
    SessionId session;
    core::Uaid uaid;
};

using ToFront = std::variant<ToClient, CloseClient, Attached>;

/// Where a front sends. Implemented by the process's switchboard; called on the front's shard.
class HomePort {
public:
    virtual ~HomePort() = default;
    /// False: nobody serves that partition at present, or its mailbox is full; the front closes the
    /// session with "try again" (1013).
    virtual bool to_home(ToHome message) = 0;
};

/// Where a home sends. Called on the home's shard; a session that is gone is ignored.
class FrontPort {
public:
    virtual ~FrontPort() = default;
    virtual void to_front(ToFront message) = 0;
};

}  // namespace beckon::edge
