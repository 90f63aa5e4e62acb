#pragma once

#include "client/ws_socket.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/role.hpp>

namespace beckon::client {

/// A TCP connection with or without TLS: the layer below a WebSocket, which Beast calls an
/// AsyncStream. It is one type for both, and all its callbacks have one type, so that a compiler
/// makes Asio's templates once in tcp_connection.cpp, and Beast's once in ws_socket.cpp. It calls
/// back on the thread that runs `io`, and has to outlive each operation that it began.
class TcpConnection {
public:
    using executor_type = boost::asio::io_context::executor_type;
    using Error = boost::system::error_code;
    using Done = std::function<void(Error)>;
    using Transferred = std::function<void(Error, std::size_t)>;

    explicit TcpConnection(boost::asio::io_context& io);
    ~TcpConnection();
    TcpConnection(const TcpConnection&) = delete;
    TcpConnection& operator=(const TcpConnection&) = delete;

    executor_type get_executor();

    /// Looks up the addresses of a host, which connect() then tries in their order.
    void resolve(const std::string& host, std::uint16_t port, Done done);
    void connect(Done done);
    /// Reads the trusted certificates for start_tls(), which then shakes hands and checks that the
    /// peer's certificate belongs to `host`. `invalid`: the certificates cannot be read.
    Result<void> prepare_tls(const TlsTrust& trust, const std::string& host);
    void start_tls(Done done);
    /// Closes the socket; operations that are under way end with an error.
    void close();
    /// Sends the end of the stream, and calls `done` when the peer has closed as well.
    void end(const std::function<void()>& done);

    template <class Buffers, class Handler>
    void async_read_some(const Buffers& buffers, Handler&& handler) {
        boost::asio::mutable_buffer first;
        for (const boost::asio::mutable_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
            first = buffer;
            if (first.size() != 0) break;
        }
        read(first, shared(std::forward<Handler>(handler)));
    }

    /// Copies: nobody sends much here, and a frame's head and body leave in one packet.
    template <class Buffers, class Handler>
    void async_write_some(const Buffers& buffers, Handler&& handler) {
        std::string bytes;
        for (const boost::asio::const_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
            bytes.append(static_cast<const char*>(buffer.data()), buffer.size());
        }
        write(std::move(bytes), shared(std::forward<Handler>(handler)));
    }

private:
    template <class Handler>
    static Transferred shared(Handler&& handler) {  // std::function copies; handlers only move
        auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
        return [kept](Error error, std::size_t size) { (*kept)(error, size); };
    }

    void read(boost::asio::mutable_buffer buffer, Transferred done);
    void write(std::string bytes, Transferred done);

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Beast calls these two: at a time-out, and once both sides have sent their close frames.
inline void beast_close_socket(TcpConnection& connection) { connection.close(); }

template <class Handler>
void async_teardown(boost::beast::role_type, TcpConnection& connection, Handler&& handler) {
    auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    connection.end([kept] { (*kept)(TcpConnection::Error{}); });
}

}  // namespace beckon::client
