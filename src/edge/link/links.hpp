#pragma once

#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "edge/edge_options.hpp"
#include "edge/link/link_connection.hpp"
#include "edge/switchboard/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::edge::link {

/// The state of one link, for operators.
struct LinkStatus {
    core::NodeId peer;
    bool up = false;
    bool refused = false;  ///< by the other node or by this one: its key ring or log is another one
    std::string why_down;  ///< the last reason; empty while it is up
    std::size_t waiting_bytes = 0;
};

/// The links of an edge node: one connection with every other node, TLS by the key ring, kept up
/// with back-off. Of two nodes the one with the smaller id calls, so that each pair has one; while
/// there is none, the other one calls too, to see whether somebody listens there, and hangs up.
///
/// A thread of its own (`edge-link`) calls, reads and watches; the sending thread writes to the
/// socket itself, at flush(). Messages to one peer keep the order in which a thread sent them; when
/// a link is lost, messages that waited for it are dropped, and `down` notifies their senders,
/// which send them again or end their sessions.
class Links final : public NodeTransport {
public:
    /// Connections that were accepted and have not greeted yet; more are closed at once.
    static constexpr std::size_t kUnnamedMax = 64;
    /// The pauses between two calls: the first, and the longest.
    static constexpr core::Duration kRetryFirst = std::chrono::milliseconds{50};
    static constexpr core::Duration kRetryMost = std::chrono::seconds{2};
    /// So many refused calls in a row say that a node is dead.
    static constexpr int kRefusals = 2;

    /// On the thread of the links, except congested().
    struct Events {
        std::function<void(const core::NodeId& from, Messages)> arrived;
        std::function<void(const core::NodeId&)> up;
        std::function<void(const core::NodeId&, const core::Error&)> down;
        /// While there is no link to a node, calls to it were refused several times in a row:
        /// nobody listens there. Reported once until there is a link again.
        std::function<void(const core::NodeId&)> dead = {};
        /// A connection ended before it had a name: the peer's key ring or log is another one, or
        /// it is no node at all.
        std::function<void(const core::Error&)> refused = {};
        /// True while this node cannot take more: then the links stop reading.
        std::function<bool()> congested;
    };

    /// Listens. Throws std::runtime_error naming host, port and cause.
    Links(EdgeOptions options, std::shared_ptr<const core::KeyRing> keys, const core::Clock& clock,
          Events events);
    /// Closes all links and joins the thread.
    ~Links() override;

    std::uint16_t port() const;

    /// The other nodes and where each listens, "host:port" ("[::1]:8081" for IPv6); links to nodes
    /// that are not named any more are closed. Any thread.
    void set_peers(std::map<core::NodeId, std::string> addresses);

    /// `full`: too much waits for that node, or the message is larger than a frame may be; `away`:
    /// there is no link to it. Any thread.
    Sent to_home(const core::NodeId& node, const ToHome& message) override;
    Sent to_front(const core::NodeId& node, const ToFront& message) override;
    void flush() override;

    /// Any thread but the links' own.
    std::vector<LinkStatus> status() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge::link
