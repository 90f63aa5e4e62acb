#include "client/ws_socket.hpp"

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>

namespace beckon::client {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCloseTimeout{500};

/// A TCP connection with or without TLS: one type for both, with one type of callback, so that a
/// compiler makes Beast's WebSocket once. It is what Beast calls an AsyncStream.
class Connection {
public:
    using executor_type = tcp::socket::executor_type;
    using Done = std::function<void(beast::error_code, std::size_t)>;

    explicit Connection(asio::io_context& io) : socket_(io) {}

    executor_type get_executor() { return socket_.get_executor(); }
    tcp::socket& socket() { return socket_; }

    template <class Finished>
    void start_tls(asio::ssl::context& context, const std::string& host, Finished finished) {
        tls_.emplace(socket_, context);
        SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
        tls_->async_handshake(asio::ssl::stream_base::client, std::move(finished));
    }

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
        unsent_ = beast::buffers_to_string(buffers);
        write(shared(std::forward<Handler>(handler)));
    }

    /// Says that nothing more will be sent, and calls `done` when the peer has closed as well.
    void end(const std::function<void()>& done) {
        beast::error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_send, ignored);
        drain(done);
    }

private:
    template <class Handler>
    static Done shared(Handler&& handler) {  // std::function copies, and handlers cannot be copied
        auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
        return [kept](beast::error_code error, std::size_t size) { (*kept)(error, size); };
    }

    void read(asio::mutable_buffer buffer, Done done) {
        if (tls_) {
            tls_->async_read_some(buffer, std::move(done));
        } else {
            socket_.async_read_some(buffer, std::move(done));
        }
    }

    void write(Done done) {
        if (tls_) {
            tls_->async_write_some(asio::buffer(unsent_), std::move(done));
        } else {
            socket_.async_write_some(asio::buffer(unsent_), std::move(done));
        }
    }

    void drain(const std::function<void()>& done) {
        socket_.async_read_some(asio::buffer(unread_),
                                Done{[this, done](beast::error_code error, std::size_t) {
                                    if (error) return done();
                                    drain(done);
                                }});
    }

    tcp::socket socket_;
    std::optional<asio::ssl::stream<tcp::socket&>> tls_;
    std::string unsent_;  ///< of the one write that is under way
    std::array<char, 4096> unread_{};
};

/// Beast calls these two: at a time-out, and once both sides have sent their close frames.
void beast_close_socket(Connection& connection) {
    beast::error_code ignored;
    connection.socket().close(ignored);
}

template <class Handler>
void async_teardown(beast::role_type, Connection& connection, Handler&& handler) {
    auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    connection.end([kept] { (*kept)(beast::error_code{}); });
}

/// Without compression: nobody offers it here.
using Stream = websocket::stream<Connection, false>;

}  // namespace

struct WsSocket::Impl {
    explicit Impl(WsOptions o) : options(std::move(o)), resolver(io) {}

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
    template <class Start>
    Result<void> step(const std::string& name, steady_clock::time_point deadline, Start start) {
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
        resolver.cancel();
        if (stream) {
            beast::error_code ignored;
            stream->next_layer().socket().close(ignored);
        }
        io.restart();
        io.run_for(kCloseTimeout);
        is_open = false;
        writing = false;
        reading = false;
        stream.reset();
    }

    Result<void> connect(const Url& url);
    Result<void> upgrade(const Url& url, steady_clock::time_point deadline);
    Result<void> start_tls(const Url& url, steady_clock::time_point deadline);
    void read_next();
    void on_read(beast::error_code error, bool text);

    const WsOptions options;
    asio::io_context io{1};
    tcp::resolver resolver;
    std::optional<asio::ssl::context> tls_context;
    std::unique_ptr<Stream> stream;
    beast::flat_buffer buffer;
    std::deque<WsMessage> received;
    WsClosed closed;
    bool is_open = false;
    bool reading = false;
    bool writing = false;
    std::atomic<bool> interrupted = false;
};

Result<void> WsSocket::Impl::start_tls(const Url& url, steady_clock::time_point deadline) {
    beast::error_code error;
    tls_context.emplace(asio::ssl::context::tls_client);
    if (options.tls.insecure) {
        tls_context->set_verify_mode(asio::ssl::verify_none);
    } else {
        tls_context->set_verify_mode(asio::ssl::verify_peer);
        tls_context->set_verify_callback(asio::ssl::host_name_verification(url.host));
        if (!options.tls.ca_file.empty()) {
            tls_context->load_verify_file(options.tls.ca_file.string(), error);
        } else {
            tls_context->set_default_verify_paths(error);
        }
        if (error) {
            return core::fail(core::Fault::invalid,
                              "cannot read the trusted certificates: " + error.message());
        }
    }
    return step("TLS handshake", deadline,
                [&](auto done) { stream->next_layer().start_tls(*tls_context, url.host, done); });
}

Result<void> WsSocket::Impl::upgrade(const Url& url, steady_clock::time_point deadline) {
    stream->read_message_max(options.message_bytes_max);
    stream->set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
        request.set(beast::http::field::sec_websocket_protocol, options.subprotocol);
        request.set(beast::http::field::user_agent, "beckon");
    }));
    auto response = std::make_shared<websocket::response_type>();
    auto upgraded = step("WebSocket upgrade", deadline, [&](auto done) {
        stream->async_handshake(*response, url.authority(), url.target,
                                [done, response](beast::error_code error) { done(error); });
    });
    if (!upgraded && response->result_int() != 0 && response->result_int() != 101) {
        return core::fail(core::Fault::unavailable, "WebSocket upgrade: the server answered HTTP " +
                                                        std::to_string(response->result_int()) +
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
    auto found = std::make_shared<tcp::resolver::results_type>();
    const std::string place = url.host + ':' + std::to_string(url.port);
    auto done = step("look up " + url.host, deadline, [&](auto finished) {
        resolver.async_resolve(url.host, std::to_string(url.port),
                               [found, finished](beast::error_code error, auto results) {
                                   *found = std::move(results);
                                   finished(error);
                               });
    });
    if (!done) return done;
    done = step("connect to " + place, deadline, [&](auto finished) {
        asio::async_connect(
            stream->next_layer().socket(), *found,
            [finished, found](beast::error_code error, const tcp::endpoint&) { finished(error); });
    });
    if (!done) return done;
    beast::error_code ignored;
    stream->next_layer().socket().set_option(tcp::no_delay{true}, ignored);
    if (url.tls()) {
        done = start_tls(url, deadline);
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

const WsClosed& WsSocket::closed() const { return impl_->closed; }

void WsSocket::close() {
    if (impl_->is_open) {
        auto done = std::make_shared<bool>(false);
        impl_->stream->async_close(websocket::close_code::normal,
                                   [done](beast::error_code) { *done = true; });
        impl_->run_until([&] { return *done; }, steady_clock::now() + kCloseTimeout);
    }
    impl_->abandon();
}

void WsSocket::drop() { impl_->abandon(); }

void WsSocket::interrupt() {
    impl_->interrupted = true;
    asio::post(impl_->io, [] {});
}

}  // namespace beckon::client
