#pragma once

#include "client/url.hpp"
#include "core/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace beckon::client {

using core::Result;

/// How far a TLS peer is trusted.
struct TlsTrust {
    bool insecure = false;  ///< take any certificate (self-made ones on a developer's machine)
    std::filesystem::path ca_file = {};  ///< PEM; empty: the system's
};

struct WsOptions {
    TlsTrust tls = {};
    std::chrono::milliseconds connect_timeout{10'000};  ///< name look-up to end of upgrade
    std::chrono::milliseconds send_timeout{10'000};
    std::size_t message_bytes_max = 1U << 20;
    std::size_t received_max = 10'000;              ///< waiting; more stops the reading
    std::string subprotocol = "push-notification";  ///< offered; the server's choice is ignored
};

/// One text message and when its last byte was read.
struct WsMessage {
    std::string text;
    std::chrono::steady_clock::time_point arrived;
};

/// A WebSocket client (RFC 6455) with calls that wait. It reads only while one of its calls runs.
/// One thread at a time; `interrupt` alone may come from any thread.
class WsSocket {
public:
    explicit WsSocket(WsOptions options);
    ~WsSocket();
    WsSocket(WsSocket&&) noexcept;
    WsSocket& operator=(WsSocket&&) = delete;

    /// Connects, shakes hands and upgrades. `unavailable` or `timed_out` with the step that failed.
    Result<void> connect(const Url& url);

    /// `unavailable` if the connection is or gets closed, `timed_out` if the peer takes nothing.
    Result<void> send(std::string_view text);

    /// The next text message; nullopt if none came in time or `interrupt` was called. Binary
    /// messages are skipped. `unavailable` once the connection has ended and nothing waits any
    /// more, with the reason.
    Result<std::optional<WsMessage>> receive(std::chrono::milliseconds timeout);

    bool open() const;

    /// Sends a close frame (1000, or 1001 "going away") and drops the connection within 0.5 s.
    void close();

    /// From now on no call waits for the peer any longer: a running `receive` returns nullopt.
    void interrupt();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::client
