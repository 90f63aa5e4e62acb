#pragma once

#include <cstdint>
#include <string_view>

/// Every end of a connection that we decide: the code and the reason text of its close frame. The
/// texts of code 1011 are those that clients know from autopush; all others are one word for the
/// reason, in the same style.
namespace beckon::edge {

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

struct Closing {
    CloseCode code = CloseCode::internal;
    std::string_view reason;  ///< of static storage
    bool operator==(const Closing&) const = default;
};

namespace closing {

// --- the client did something that is not allowed
/// A frame that is not one of the protocol's.
inline constexpr Closing kMalformed{CloseCode::internal, "Json"};
/// A valid frame at a time when it is not allowed: anything but hello first, or a second hello.
inline constexpr Closing kOutOfPlace{CloseCode::internal, "SM"};
/// No hello in time.
inline constexpr Closing kHandshakeTimeout{CloseCode::internal, "HandshakeTimeout"};
/// No pong in time.
inline constexpr Closing kPongTimeout{CloseCode::internal, "PongTimeout"};
/// Too much sent before the hello was answered.
inline constexpr Closing kEarlyFrames{CloseCode::internal, "EarlyFrames"};
/// A binary frame, or one in needless pieces.
inline constexpr Closing kUnsupported{CloseCode::unsupported, "UnsupportedMessage"};
inline constexpr Closing kTooBig{CloseCode::too_big, "TooBig"};
/// A message was begun and not ended in time.
inline constexpr Closing kUnfinished{CloseCode::internal, "UnfinishedMessage"};

// --- the request cannot be served, and the fault is ours
/// The code that serves the client threw; the client connects again.
inline constexpr Closing kFailed{CloseCode::internal, "Internal"};

// --- a later connection has the same UAID
inline constexpr Closing kReplaced{CloseCode::internal, "SM"};

// --- not here or not now: the client connects again and finds its messages
/// This process stops.
inline constexpr Closing kShutdown{CloseCode::going_away, "Shutdown"};
/// No home at present, or it does not answer.
inline constexpr Closing kTryAgain{CloseCode::try_again, "TryAgain"};
/// The home does not serve its partition and will not soon.
inline constexpr Closing kNotServing{CloseCode::try_again, "NotServing"};
/// The partition was placed elsewhere.
inline constexpr Closing kMoved{CloseCode::try_again, "Moved"};
/// Another home holds the lease.
inline constexpr Closing kLeaseLost{CloseCode::try_again, "LeaseLost"};
/// The home restores its state from the log.
inline constexpr Closing kRestoring{CloseCode::try_again, "Restoring"};
/// Whether the UAID is known could not be proven.
inline constexpr Closing kUnproven{CloseCode::try_again, "Unproven"};
/// A bounded queue on the way is full.
inline constexpr Closing kOverloaded{CloseCode::try_again, "Overloaded"};
/// The home has no such session.
inline constexpr Closing kNotAttached{CloseCode::try_again, "NotAttached"};
/// The client was known when it said hello, and has been removed since: its next hello gets a new
/// UAID.
inline constexpr Closing kRemoved{CloseCode::try_again, "Removed"};

/// More messages waited for the client than may: it is removed, and its next hello gets a new UAID.
inline constexpr Closing kReset{CloseCode::normal, "Reset"};
/// The client pinged sooner than it may.
inline constexpr Closing kPingTooSoon{CloseCode::internal, "SM"};
/// The client sends more than it may.
inline constexpr Closing kFlood{CloseCode::internal, "Flood"};

}  // namespace closing
}  // namespace beckon::edge
