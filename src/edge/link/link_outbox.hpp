#pragma once

#include "edge/link/link_frame.hpp"
#include "edge/switchboard/messages.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <variant>

namespace beckon::edge::link {

/// Frames that wait to be sent to one peer: shards append, whoever writes takes. Frames keep the
/// order in which each shard appended them. Any thread.
class LinkOutbox {
public:
    /// `bytes_max`: what may wait here and, taken but not sent, at the socket.
    explicit LinkOutbox(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    enum class Append {
        first,   ///< accepted, and nothing waited before: see that it is taken
        joined,  ///< accepted behind what is to be taken already
        full,    ///< refused: the peer takes too slowly, or is away
        closed,  ///< refused: there is no link to that peer
    };

    /// What is bounded by the number of sessions (Detach; to a front, all but ToClient) is accepted
    /// above the bound as well.
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

    /// Moves what waits behind `out`, whose size the bound goes on counting until sent() is called.
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
    /// `left` bytes of what was taken are not sent yet.
    void sent(std::size_t left) {
        const std::scoped_lock lock{mutex_};
        unsent_ = left;
    }

    /// Accepts messages from now on.
    void open() {
        const std::scoped_lock lock{mutex_};
        open_ = true;
    }
    /// Drops what waits and refuses messages until open().
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

}  // namespace beckon::edge::link
