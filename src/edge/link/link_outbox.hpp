#pragma once

#include "edge/link/link_frame.hpp"
#include "edge/switchboard/messages.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <variant>

namespace beckon::edge::link {

/// Frames that wait to be sent to one peer: shards append them, the thread that writes takes them.
/// Frames keep the order in which each shard appended them. Any thread.
class LinkOutbox {
public:
    /// `bytes_max`: the limit of bytes that wait here, or are taken and not sent yet.
    explicit LinkOutbox(std::size_t bytes_max) : bytes_max_(bytes_max) {}

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

}  // namespace beckon::edge::link
