#pragma once

#include "core/ids.hpp"
#include "core/result.hpp"
#include "edge/switchboard/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// The frames of a link between two edge nodes (docs/formats/link.md). A link carries the messages
/// between fronts and homes of different nodes, and a few frames of its own.
namespace beckon::edge::link {

/// Raised when a frame changes its meaning. Two nodes talk only if they have one in common.
inline constexpr std::uint16_t kVersionLowest = 3;
inline constexpr std::uint16_t kVersionHighest = 3;

/// The largest frame, its length field not counted. A client's frame is at most 65,536 bytes by
/// default; the largest message, 1 MB of record, bounds a home's frames to a client.
inline constexpr std::size_t kFrameBytesMax = 1U << 20;

/// The first frame in each direction: the sender's node, its versions of the protocol, and its log.
/// A peer of another log has other clients under the same partition numbers.
struct Greeting {
    std::uint16_t version_lowest = kVersionLowest;
    std::uint16_t version_highest = kVersionHighest;
    core::NodeId node;
    std::string log_id;
    bool operator==(const Greeting&) const = default;
};

/// A keep-alive query. The answer repeats the number.
struct Ping {
    std::uint64_t number = 0;
    bool operator==(const Ping&) const = default;
};
struct Pong {
    std::uint64_t number = 0;
    bool operator==(const Pong&) const = default;
};

using Frame = std::variant<Greeting, Ping, Pong, ToHome, ToFront>;

/// Appends one frame. A session's front is not written: on a link it is always the node that holds
/// the socket, which is the sender of a ToHome and the receiver of a ToFront.
/// Errors: too_large; then nothing is appended.
core::Result<void> append_frame(std::string& out, const Frame& frame);
/// Append one frame without making a Frame first.
core::Result<void> append_frame(std::string& out, const ToHome& message);
core::Result<void> append_frame(std::string& out, const ToFront& message);

/// The two ends of a link, as its reader sees them: they complete the session ids.
struct Ends {
    core::NodeId self;
    core::NodeId peer;
};

/// Takes frames out of a stream of bytes. One thread.
class FrameReader {
public:
    explicit FrameReader(Ends ends) : ends_(std::move(ends)) {}

    /// The name of the peer is known only once its greeting was read.
    void set_peer(core::NodeId peer) { ends_.peer = std::move(peer); }

    void append(std::string_view bytes);
    /// The next whole frame; nullopt: more bytes are needed. Errors: invalid (no frame of a known
    /// kind, or one with a wrong length), too_large. After an error the stream is of no more use.
    core::Result<std::optional<Frame>> next();

private:
    Ends ends_;
    std::string buffer_;
    std::size_t consumed_ = 0;  ///< of buffer_, by frames that were handed out
};

}  // namespace beckon::edge::link
