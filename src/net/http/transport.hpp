#pragma once

#include "net/tls.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct ssl_st;

namespace beckon::net {

/// Bytes of a non-blocking socket, with or without TLS on it. Reading and writing never wait: they
/// return the event to wait for. Does not own the socket. One thread.
class Transport {
public:
    enum class Io : std::uint8_t { done, want_read, want_write, ended, broken };
    struct Outcome {
        Io io = Io::broken;
        std::size_t bytes = 0;
    };

    /// `tls` null: plain.
    Transport(int socket, std::shared_ptr<const TlsContext> tls);
    ~Transport();
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    bool secure() const { return ssl_ != nullptr; }
    Outcome handshake();
    Outcome read(std::span<char> into);
    Outcome write(std::span<const char> from);

    /// There may be input that no readiness of the socket will announce.
    bool has_buffered() const;
    /// Bytes wait in the socket.
    bool has_input() const;
    /// Announces the end of sending; reading goes on.
    void end_output();

private:
    Outcome outcome_of(int result);

    const int socket_;
    const std::shared_ptr<const TlsContext> tls_;  ///< keeps the certificate of this connection
    ssl_st* ssl_ = nullptr;
};

}  // namespace beckon::net
