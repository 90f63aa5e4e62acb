#pragma once

#include "core/clock.hpp"
#include "edge/link/link_frame.hpp"
#include "edge/switchboard/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace beckon::edge::link {

/// Frames that wait to be sent to one peer: shards append them, the thread that writes takes them.
/// Frames keep the order in which each shard appended them. Any thread.
class LinkQueue {
public:
    /// `bytes_max`: the limit of bytes that wait here, or are taken and not sent yet.
    explicit LinkQueue(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    enum class Append {
        first,   ///< accepted, and no frame waited before: the caller schedules take()
        joined,  ///< accepted behind other frames, whose take() is scheduled
        full,    ///< refused: the peer takes too slowly, or is away
        closed,  ///< refused: there is no link to that peer
    };

    /// Messages that the number of sessions bounds (Detach; to a front, all but ToClient) are
    /// accepted above the bound as well.
    template <class Message>
    Append append(const Message& message) {
        const std::scoped_lock lock{mutex_};
        if (!open_) return Append::closed;
        const bool full = waiting_.size() + unsent_ >= bytes_max_;
        if (full && !bounded_by_sessions(message)) return Append::full;
        const bool first = waiting_.empty();
        if (!append_frame(waiting_, message)) return Append::full;
        return first ? Append::first : Append::joined;
    }

    /// Moves the waiting frames behind `out`; the bound goes on counting its size until sent() is
    /// called.
    void take(std::string& out) {
        const std::scoped_lock lock{mutex_};
        if (out.empty()) {
            std::swap(out, waiting_);
        } else {
            out += waiting_;
        }
        waiting_.clear();
        unsent_ = out.size();
    }
    /// `left` of the taken bytes are not sent yet.
    void sent(std::size_t left) {
        const std::scoped_lock lock{mutex_};
        unsent_ = left;
    }

    /// Accepts messages from now on.
    void open() {
        const std::scoped_lock lock{mutex_};
        open_ = true;
    }
    /// Drops waiting frames and refuses messages until open().
    void close() {
        const std::scoped_lock lock{mutex_};
        open_ = false;
        waiting_ = {};
        unsent_ = 0;
    }

    std::size_t waiting_bytes() const {
        const std::scoped_lock lock{mutex_};
        return waiting_.size() + unsent_;
    }

private:
    static bool bounded_by_sessions(const ToHome& message) {
        return std::holds_alternative<Detach>(message);
    }
    static bool bounded_by_sessions(const ToFront& message) {
        return !std::holds_alternative<ToClient>(message);
    }

    const std::size_t bytes_max_;
    mutable std::mutex mutex_;
    std::string waiting_;
    std::size_t unsent_ = 0;
    bool open_ = false;
};

/// The protocol of one link connection, without a socket: bytes and time in, bytes and messages
/// out (docs/formats/link.md). Each side begins with a greeting, the called end before the caller;
/// then messages flow both ways, and pings show whether the peer is still there. One thread.
class LinkConnection {
public:
    struct Options {
        Greeting self;
        /// The node that we called; nullopt on the called end, which learns its peer from the
        /// greeting.
        std::optional<core::NodeId> expected;
        core::Duration greeting_timeout = std::chrono::seconds{3};
        core::Duration ping_after = std::chrono::seconds{1};  ///< of silence
        core::Duration lost_after = std::chrono::seconds{4};  ///< of silence
    };

    LinkConnection(Options options, core::MonoTime now);

    /// The bytes to send as soon as the connection is open: at the called end its greeting, at the
    /// caller's end nothing. The caller greets only once it knows which node it has reached: if the
    /// address has passed to another node, that node would take the greeting for a new link and
    /// replace the one that it has.
    std::string opening() const;

    /// Takes bytes from the peer. Appends replies to `reply` and messages to `arrivals`. Errors end
    /// the connection: invalid (the peer's bytes break the format), unauthorized (it is another
    /// node than expected, or of another log), conflict (no common version), too_large.
    core::Result<void> receive(std::string_view bytes, core::MonoTime now, std::string& reply,
                               Messages& arrivals);

    /// Call it about every half second. Appends a ping if the peer has been silent. Errors:
    /// timed_out (no greeting in time, or silence for too long).
    core::Result<void> tick(core::MonoTime now, std::string& out);

    /// This node itself does not read from the peer now, so the peer's silence proves nothing. Call
    /// it again and again until the node reads; silence counts from the last call on.
    void not_reading(core::MonoTime now) { unread_at_ = now; }

    /// Known once the peer's greeting was read; messages flow from then on.
    const std::optional<core::NodeId>& peer() const { return peer_; }

private:
    core::Result<void> greeted(const Greeting& peer, std::string& reply);
    core::Result<void> check(const Greeting& peer) const;
    core::Result<void> handle(Frame frame, std::string& reply, Messages& arrivals);

    const Options options_;
    FrameReader reader_;
    std::optional<core::NodeId> peer_;
    core::MonoTime opened_;
    core::MonoTime received_at_;
    core::MonoTime unread_at_;  ///< when this node last did not read
    std::uint64_t pings_ = 0;
    core::MonoTime pinged_{};
};

}  // namespace beckon::edge::link
