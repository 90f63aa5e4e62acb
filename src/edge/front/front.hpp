#pragma once

#include "core/clock.hpp"
#include "edge/front/client_table.hpp"
#include "edge/messages.hpp"
#include "edge/protocol.hpp"
#include "edge/sockets.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace prometheus {
class Counter;
class Gauge;
}  // namespace prometheus

namespace beckon::edge {

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

/// Holds the clients of one shard (docs/design.md#shards): knows a client's UAID and nothing else,
/// forwards frames to its home and from it, and watches over hello, pings and the end. No socket
/// and no loop in it; one thread, that of its shard.
class Front final : public ClientEvents {
public:
    /// Chooses a UAID for a client that offers none, near this front; nullopt: nobody serves.
    using NewUaid = std::function<std::optional<core::Uaid>()>;

    Front(FrontOptions options, Sockets& sockets, HomePort& homes, NewUaid new_uaid,
          FrontMetrics metrics);

    // --- from the sockets
    void opened(Client& client) override;
    void text(Client& client, std::string frame) override;
    void pong(Client& client) override;
    void timer(Client& client) override;
    void gone(Client& client) override;

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
    void end(Client& client, Closing closing, ClosedBy why);
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
