#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "edge/protocol/broadcasts.hpp"
#include "edge/protocol/closings.hpp"
#include "edge/switchboard/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// The interfaces between sockets and fronts.
namespace beckon::edge {

/// The reason why a connection ended: the metric's label, beside it the text of the close frame
/// where we send one.
enum class ClosedBy : std::uint8_t {
    client,         ///< its close frame
    lost,           ///< TCP ended without one
    home,           ///< the home decided: code and reason are its own
    hello_timeout,  ///< HandshakeTimeout
    pong_timeout,   ///< PongTimeout
    malformed,      ///< a frame that is none, or out of place: Json or SM
    early_frames,   ///< EarlyFrames: too much sent before the hello was answered
    unavailable,    ///< TryAgain: no home in time, or it does not answer; Overloaded
    unsupported,    ///< UnsupportedMessage: binary
    too_big,        ///< TooBig
    unfinished,     ///< UnfinishedMessage: begun and not ended in time; Overloaded
    protocol,       ///< Protocol: lws refused it (1002, 1007)
    flood,          ///< Flood: more frames than a client may send
    slow,           ///< reads too slowly: reset without a frame, which would not arrive
    shutdown,       ///< Shutdown
    failed,         ///< Internal: serving it threw
};
inline std::string_view to_string(ClosedBy cause) { return core::name_of(cause); }

/// A front's state of one connection. The socket's owner embeds it.
struct Client {
    enum class Phase : std::uint8_t {
        awaiting_hello,
        awaiting_answer,  ///< the hello is to be answered by a home
        identified,
        reattaching,  ///< was identified; its home has gone, and another one is to take it
        over,         ///< closed by us or gone; nothing more comes from it
    };
    /// The commands that are kept for a client that waits for a home, or for an answer.
    struct Kept {
        std::vector<ClientCommand> early;  ///< that wait for a home
        /// Registers and unregisters without an answer: the next home gets them again.
        std::deque<ClientCommand> changes;
        std::size_t pings = 0;  ///< without an answer; the next home is asked again
        bool empty() const { return early.empty() && changes.empty() && pings == 0; }
    };
    Phase phase = Phase::awaiting_hello;
    bool pinged = false;     ///< a pong is overdue when the timer fires
    bool offered = false;    ///< the UAID came from the client
    bool homeless = false;   ///< no home was asked yet, or the one that was has gone
    std::uint8_t tries = 0;  ///< at homes since the client became homeless
    std::uint64_t number = 0;
    core::Uaid uaid;         ///< routes to the home; known from awaiting_answer on
    NodeNumber home;         ///< the node that was asked; of no meaning while `homeless`
    Attach::Again answered;  ///< from the home that answered the hello
    std::unique_ptr<Kept> kept;
    std::unique_ptr<Follows> follows;  ///< null: the client follows no broadcast
};

/// The sockets of a front. No function here calls back into the front but close(), which calls
/// gone(), and send(), which may close the client with the most: a close that the sockets decide
/// and one that the front decides end in the same way.
class Sockets {
public:
    virtual ~Sockets() = default;
    /// Queues a text frame. A client with too much waiting is dropped as slow, and so is the
    /// largest where all clients together have too much.
    virtual void send(Client& client, std::string text) = 0;
    virtual void ping(Client& client) = 0;
    /// Sends a close frame behind the queued frames, and then ends the connection, soon and for
    /// sure.
    virtual void close(Client& client, Closing closing, ClosedBy why) = 0;
    /// ClientEvents::timer() once, after that time; each call replaces the one before.
    virtual void set_timer(Client& client, core::Duration after) = 0;
};

/// The events that sockets report to their front.
class ClientEvents {
public:
    virtual ~ClientEvents() = default;
    virtual void opened(Client& client) = 0;
    virtual void text(Client& client, std::string_view frame) = 0;
    virtual void pong(Client& client) = 0;
    virtual void timer(Client& client) = 0;
    /// The connection is over, ended by either side; the client is forgotten. May be repeated.
    virtual void gone(Client& client) = 0;
};

}  // namespace beckon::edge
