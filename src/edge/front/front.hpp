#pragma once

#include "core/clock.hpp"
#include "edge/front/client_table.hpp"
#include "edge/messages.hpp"
#include "edge/protocol.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
}  // namespace prometheus

namespace beckon::edge {

/// Why a connection ended: the metric's label, with the text of the close frame beside it where we
/// send one.
enum class ClosedBy : std::uint8_t {
    client,         ///< its close frame
    lost,           ///< TCP ended without one
    home,           ///< the home decided: code and reason are its own
    hello_timeout,  ///< HandshakeTimeout
    pong_timeout,   ///< PongTimeout
    malformed,      ///< first frame is not a hello: Json or SM
    early_frames,   ///< EarlyFrames: too much sent before the hello was answered
    unavailable,    ///< TryAgain: no home at present, or it does not answer
    unsupported,    ///< UnsupportedMessage: binary or fragmented
    too_big,        ///< TooBig
    protocol,       ///< Protocol: lws refused it (1002, 1007)
    slow,           ///< reads too slowly: reset without a frame, which would not arrive
    shutdown,       ///< Shutdown
};
inline constexpr std::size_t kClosedByCount = 13;
std::string_view to_string(ClosedBy cause);

/// What a front knows of one connection. The socket's owner embeds it.
struct Client {
    enum class Phase : std::uint8_t {
        awaiting_hello,
        awaiting_answer,  ///< hello went to a home
        identified,
        over,  ///< closed by us or gone; nothing more comes from it
    };
    Phase phase = Phase::awaiting_hello;
    bool pinged = false;  ///< a pong is overdue when the timer fires
    std::uint64_t number = 0;
    core::Uaid uaid;  ///< routes to the home; known from awaiting_answer on
    std::unique_ptr<std::vector<std::string>> early;  ///< frames that wait for the hello's answer
};

/// What a front may ask of its sockets. None of these calls back into the front, except that
/// close() repeats gone(), so that a close which the sockets decide takes the same way.
class Sockets {
public:
    virtual ~Sockets() = default;
    /// Queues a text frame. A client with more than `outbox_bytes_max` waiting is dropped as slow.
    virtual void send(Client& client, std::string text) = 0;
    virtual void ping(Client& client) = 0;
    /// Close frame behind what is queued, then the end of the connection, soon and for sure.
    virtual void close(Client& client, CloseCode code, std::string_view reason, ClosedBy why) = 0;
    /// Front::timer() once, after that time; each call replaces the one before.
    virtual void set_timer(Client& client, core::Duration after) = 0;
};

struct FrontOptions {
    core::NodeId node;
    std::uint32_t shard = 0;
    core::Duration hello_timeout = std::chrono::seconds{5};
    /// How long a home may take to answer a hello (a take-over, a mark); then "try again".
    core::Duration answer_timeout = std::chrono::seconds{15};
    core::Duration ping_interval = std::chrono::seconds{300};
    core::Duration ping_timeout = std::chrono::seconds{4};
    std::size_t early_frames_max = 32;
    std::size_t early_bytes_max = 65'536;
};

struct FrontMetrics {
    prometheus::Counter* frames_in = nullptr;
    prometheus::Counter* frames_out = nullptr;
    prometheus::Gauge* clients = nullptr;  ///< identified
};

/// Holds the clients of one shard (DESIGN §5 "Shards"): knows a client's UAID and nothing else,
/// forwards frames to its home and from it, and watches over hello, pings and the end. No socket
/// and no loop in it; one thread, that of its shard.
class Front {
public:
    /// Chooses a UAID for a client that offers none, near this front; nullopt: nobody serves.
    using NewUaid = std::function<std::optional<core::Uaid>()>;

    Front(FrontOptions options, Sockets& sockets, HomePort& homes, NewUaid new_uaid,
          FrontMetrics metrics);

    // --- from the sockets
    void opened(Client& client);
    void text(Client& client, std::string frame);
    void pong(Client& client);
    void timer(Client& client);
    /// The connection is over, whoever ended it; the client is forgotten. May be repeated.
    void gone(Client& client);

    // --- from the homes
    void receive(ToFront message);

    /// Closes up to `at_most` clients with 1001; returns how many are left. For a stop, in
    /// portions, so that they do not all reconnect at once.
    std::size_t go_away(std::size_t at_most);

    std::size_t clients() const { return table_.size(); }
    std::size_t identified() const { return identified_; }

private:
    SessionId session_of(const Client& client) const;
    void hello(Client& client, std::string frame);
    void keep_early(Client& client, std::string frame);
    void forward(Client& client, std::string frame);
    void end(Client& client, CloseCode code, std::string_view reason, ClosedBy why);
    void leave(Client& client);
    void deliver(ToClient message);
    void deliver(const CloseClient& message);
    void deliver(const Attached& message);
    Client* find(const SessionId& session) const;

    const FrontOptions options_;
    Sockets& sockets_;
    HomePort& homes_;
    const NewUaid new_uaid_;
    const FrontMetrics metrics_;
    FrameParser parser_;
    ClientTable table_;
    std::size_t identified_ = 0;
    std::size_t going_ = 0;  ///< go_away(): place in the table
};

}  // namespace beckon::edge
