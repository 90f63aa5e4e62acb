#include "client/ws_socket.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/websocket/stream.hpp>

namespace beckon::client {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using std::chrono::steady_clock;

/// A TCP connection with or without TLS: the layer below a WebSocket, which Beast calls an
/// AsyncStream. It is one type for both, and all its callbacks have one type, so that Asio's
/// and Beast's templates are made once. It calls back on the thread that runs `io`, and has to
/// outlive each operation that it began.
class TcpConnection {
public:
    using executor_type = asio::io_context::executor_type;
    using Error = boost::system::error_code;
    using Done = std::function<void(Error)>;
    using Transferred = std::function<void(Error, std::size_t)>;

    explicit TcpConnection(asio::io_context& io) : io_(io), resolver_(io), plain_(io) {}
    TcpConnection(const TcpConnection&) = delete;
    TcpConnection& operator=(const TcpConnection&) = delete;

    executor_type get_executor() { return io_.get_executor(); }

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
        asio::mutable_buffer first;
        for (const asio::mutable_buffer buffer : beast::buffers_range_ref(buffers)) {
            first = buffer;
            if (first.size() != 0) break;
        }
        read(first, shared(std::forward<Handler>(handler)));
    }

    /// Copies: nobody sends much here, and a frame's head and body leave in one packet.
    template <class Buffers, class Handler>
    void async_write_some(const Buffers& buffers, Handler&& handler) {
        std::string bytes;
        for (const asio::const_buffer buffer : beast::buffers_range_ref(buffers)) {
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

    void read(asio::mutable_buffer buffer, Transferred done);
    void write(std::string bytes, Transferred done);
    void drain(const std::function<void()>& done);

    asio::io_context& io_;
    tcp::resolver resolver_;
    tcp::resolver::results_type addresses_;
    tcp::socket plain_;
    std::optional<asio::ssl::context> context_;
    std::optional<asio::ssl::stream<tcp::socket&>> tls_;
    std::string unsent_;  ///< of the one write that is under way
    std::array<char, 4096> unread_{};
};

/// Beast calls these two: at a time-out, and once both sides have sent their close frames.
inline void beast_close_socket(TcpConnection& connection) { connection.close(); }

template <class Handler>
void async_teardown(beast::role_type, TcpConnection& connection, Handler&& handler) {
    auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    connection.end([kept] { (*kept)(TcpConnection::Error{}); });
}

void TcpConnection::resolve(const std::string& host, std::uint16_t port, Done done) {
    resolver_.async_resolve(
        host, std::to_string(port),
        [this, done = std::move(done)](Error error, tcp::resolver::results_type found) {
            if (!error) addresses_ = std::move(found);
            done(error);
        });
}

void TcpConnection::connect(Done done) {
    asio::async_connect(plain_, addresses_,
                        [this, done = std::move(done)](Error error, const tcp::endpoint&) {
                            Error ignored;
                            plain_.set_option(tcp::no_delay{true}, ignored);
                            done(error);
                        });
}

Result<void> TcpConnection::prepare_tls(const TlsTrust& trust, const std::string& host) {
    Error error;
    auto& context = context_.emplace(asio::ssl::context::tls_client);
    if (trust.insecure) {
        context.set_verify_mode(asio::ssl::verify_none);
    } else {
        context.set_verify_mode(asio::ssl::verify_peer);
        context.set_verify_callback(asio::ssl::host_name_verification(host));
        if (!trust.ca_file.empty()) {
            context.load_verify_file(trust.ca_file.string(), error);
        } else {
            context.set_default_verify_paths(error);
        }
        if (error) {
            return core::fail(core::Fault::invalid,
                              "cannot read the trusted certificates: " + error.message());
        }
    }
    auto& tls = tls_.emplace(plain_, context);
    SSL_set_tlsext_host_name(tls.native_handle(), host.c_str());
    return {};
}

void TcpConnection::start_tls(Done done) {
    tls_->async_handshake(asio::ssl::stream_base::client, std::move(done));
}

void TcpConnection::close() {
    Error ignored;
    resolver_.cancel();
    plain_.close(ignored);
}

void TcpConnection::end(const std::function<void()>& done) {
    Error ignored;
    plain_.shutdown(tcp::socket::shutdown_send, ignored);
    drain(done);
}

void TcpConnection::drain(const std::function<void()>& done) {
    plain_.async_read_some(asio::buffer(unread_),
                           Transferred{[this, done](Error error, std::size_t) {
                               if (error) return done();
                               drain(done);
                           }});
}

void TcpConnection::read(asio::mutable_buffer buffer, Transferred done) {
    if (tls_) {
        tls_->async_read_some(buffer, std::move(done));
    } else {
        plain_.async_read_some(buffer, std::move(done));
    }
}

void TcpConnection::write(std::string bytes, Transferred done) {
    unsent_ = std::move(bytes);
    const auto unsent = asio::buffer(std::as_const(unsent_));
    if (tls_) {
        tls_->async_write_some(unsent, std::move(done));
    } else {
        plain_.async_write_some(unsent, std::move(done));
    }
}

namespace {

constexpr std::chrono::milliseconds kCloseTimeout{500};

/// Without compression, which the tools do not offer.
using Stream = websocket::stream<TcpConnection, false>;

/// Statuses of requests that the server would refuse again (RFC 9110 section 15.5).
bool is_refusal(unsigned status) {
    constexpr unsigned kTimeout = 408;
    constexpr unsigned kTooEarly = 425;
    constexpr unsigned kTooMany = 429;
    return status >= 400 && status < 500 && status != kTimeout && status != kTooEarly &&
           status != kTooMany;
}

}  // namespace

struct WsSocket::Impl {
    /// How a connection ended.
    struct Closed {
        std::uint16_t code = 0;  ///< of the server's close frame; 0: there was none
        std::string reason;
    };

    explicit Impl(WsOptions o) : options(std::move(o)) {}

    /// Runs the loop until `done` or the deadline; false at the deadline.
    bool run_until(const std::function<bool()>& done, steady_clock::time_point deadline) {
        while (!done()) {
            io.restart();
            if (io.run_one_until(deadline) == 0 && steady_clock::now() >= deadline) return false;
        }
        return true;
    }

    /// Waits for one asynchronous step of connecting. The step's objects live until it ends: at the
    /// deadline the socket is closed, which ends the step.
    Result<void> step(const std::string& name, steady_clock::time_point deadline,
                      const std::function<void(TcpConnection::Done)>& start) {
        auto outcome = std::make_shared<std::optional<beast::error_code>>();
        start([outcome](beast::error_code error) { *outcome = error; });
        run_until([&] { return outcome->has_value() || interrupted; }, deadline);
        if (!outcome->has_value()) {
            abandon();
            return core::fail(core::Fault::timed_out,
                              name + (interrupted ? ": interrupted" : ": no answer in time"));
        }
        if (**outcome) {
            abandon();
            return core::fail(core::Fault::unavailable, name + ": " + (*outcome)->message());
        }
        return {};
    }

    /// Forgets the connection; the loop runs dry so that no handler outlives its stream.
    void abandon() {
        if (stream) stream->next_layer().close();
        io.restart();
        io.run_for(kCloseTimeout);
        is_open = false;
        reading = false;
        stream.reset();
    }

    Result<void> connect(const Url& url);
    Result<void> upgrade(const Url& url, steady_clock::time_point deadline);
    void read_next();
    void on_read(beast::error_code error, bool text);

    const WsOptions options;
    asio::io_context io{1};
    std::unique_ptr<Stream> stream;
    beast::flat_buffer buffer;
    std::deque<WsMessage> received;
    Closed closed;
    bool is_open = false;
    bool reading = false;
    std::atomic<bool> interrupted = false;
};

Result<void> WsSocket::Impl::upgrade(const Url& url, steady_clock::time_point deadline) {
    stream->read_message_max(options.message_bytes_max);
    stream->set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
        request.set(beast::http::field::sec_websocket_protocol, options.subprotocol);
        request.set(beast::http::field::user_agent, "beckon");
    }));
    auto response = std::make_shared<websocket::response_type>();
    auto upgraded = step("WebSocket upgrade", deadline, [&](const TcpConnection::Done& done) {
        stream->async_handshake(*response, url.authority(), url.target,
                                [done, response](beast::error_code error) { done(error); });
    });
    const auto status = response->result_int();
    if (!upgraded && status != 0 && status != 101) {
        return core::fail(is_refusal(status) ? core::Fault::invalid : core::Fault::unavailable,
                          "WebSocket upgrade: the server answered HTTP " + std::to_string(status) +
                              " instead of 101");
    }
    return upgraded;
}

Result<void> WsSocket::Impl::connect(const Url& url) {
    const auto deadline = steady_clock::now() + options.connect_timeout;
    abandon();
    received.clear();
    buffer.clear();
    closed = {};
    stream = std::make_unique<Stream>(io);
    TcpConnection& connection = stream->next_layer();
    auto done = step("look up " + url.host, deadline, [&](TcpConnection::Done finished) {
        connection.resolve(url.host, url.port, std::move(finished));
    });
    if (!done) return done;
    done = step("connect to " + url.host + ':' + std::to_string(url.port), deadline,
                [&](TcpConnection::Done finished) { connection.connect(std::move(finished)); });
    if (!done) return done;
    if (url.tls()) {
        done = connection.prepare_tls(options.tls, url.host);
        if (!done) return done;
        done = step("TLS handshake", deadline, [&](TcpConnection::Done finished) {
            connection.start_tls(std::move(finished));
        });
        if (!done) return done;
    }
    done = upgrade(url, deadline);
    if (done) {
        is_open = true;
        read_next();
    }
    return done;
}

void WsSocket::Impl::read_next() {
    if (reading || !is_open || received.size() >= options.received_max) return;
    reading = true;
    stream->async_read(buffer, [this](beast::error_code error, std::size_t) {
        reading = false;
        if (error == websocket::error::closed) {
            closed = {stream->reason().code, std::string{stream->reason().reason.c_str()}};
        }
        on_read(error, !error && stream->got_text());
    });
}

void WsSocket::Impl::on_read(beast::error_code error, bool text) {
    if (error) {
        if (closed.code == 0 && closed.reason.empty()) closed.reason = error.message();
        is_open = false;
        return;
    }
    if (text) received.push_back({beast::buffers_to_string(buffer.data()), steady_clock::now()});
    buffer.clear();
    read_next();
}

WsSocket::WsSocket(WsOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

WsSocket::~WsSocket() {
    if (impl_) impl_->abandon();
}

WsSocket::WsSocket(WsSocket&&) noexcept = default;

Result<void> WsSocket::connect(const Url& url) { return impl_->connect(url); }

Result<void> WsSocket::send(std::string_view text) {
    if (!impl_->is_open) return core::fail(core::Fault::unavailable, "the connection is closed");
    auto outcome = std::make_shared<std::optional<beast::error_code>>();
    auto owned = std::make_shared<std::string>(text);
    impl_->stream->text(true);
    impl_->stream->async_write(
        asio::buffer(*owned),
        [outcome, owned](beast::error_code error, std::size_t) { *outcome = error; });
    const auto deadline = steady_clock::now() + impl_->options.send_timeout;
    if (!impl_->run_until([&] { return outcome->has_value(); }, deadline)) {
        impl_->closed = {0, "the server takes no data"};
        impl_->abandon();
        return core::fail(core::Fault::timed_out, "the server takes no data");
    }
    if (**outcome) {
        return core::fail(core::Fault::unavailable,
                          "the connection is closed: " + (*outcome)->message());
    }
    return {};
}

Result<std::optional<WsMessage>> WsSocket::receive(std::chrono::milliseconds timeout) {
    impl_->read_next();
    impl_->run_until(
        [this] { return !impl_->received.empty() || !impl_->is_open || impl_->interrupted; },
        steady_clock::now() + timeout);
    if (!impl_->received.empty()) {
        WsMessage message = std::move(impl_->received.front());
        impl_->received.pop_front();
        return message;
    }
    if (!impl_->is_open) {
        const auto& [code, reason] = impl_->closed;
        return core::fail(core::Fault::unavailable,
                          code ? "closed by the server: " + std::to_string(code) + ' ' + reason
                               : "connection lost: " + reason);
    }
    return std::optional<WsMessage>{};
}

bool WsSocket::open() const { return impl_->is_open; }

void WsSocket::close() {
    if (impl_->is_open) {
        auto done = std::make_shared<bool>(false);
        impl_->stream->async_close(websocket::close_code::normal,
                                   [done](beast::error_code) { *done = true; });
        impl_->run_until([&] { return *done; }, steady_clock::now() + kCloseTimeout);
    }
    impl_->abandon();
}

void WsSocket::interrupt() {
    impl_->interrupted = true;
    asio::post(impl_->io, [] {});
}

}  // namespace beckon::client
