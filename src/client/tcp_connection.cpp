#include "client/tcp_connection.hpp"

#include <array>
#include <optional>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>

namespace beckon::client {

namespace asio = boost::asio;
using asio::ip::tcp;

struct TcpConnection::Impl {
    explicit Impl(asio::io_context& loop) : io(loop), resolver(loop), plain(loop) {}

    void drain(const std::function<void()>& done) {
        plain.async_read_some(asio::buffer(unread),
                              Transferred{[this, done](Error error, std::size_t) {
                                  if (error) return done();
                                  drain(done);
                              }});
    }

    asio::io_context& io;
    tcp::resolver resolver;
    tcp::resolver::results_type addresses;
    tcp::socket plain;
    std::optional<asio::ssl::context> context;
    std::optional<asio::ssl::stream<tcp::socket&>> tls;
    std::string unsent;  ///< of the one write that is under way
    std::array<char, 4096> unread{};
};

TcpConnection::TcpConnection(asio::io_context& io) : impl_(std::make_unique<Impl>(io)) {}

TcpConnection::~TcpConnection() = default;

TcpConnection::executor_type TcpConnection::get_executor() { return impl_->io.get_executor(); }

void TcpConnection::resolve(const std::string& host, std::uint16_t port, Done done) {
    impl_->resolver.async_resolve(
        host, std::to_string(port),
        [this, done = std::move(done)](Error error, tcp::resolver::results_type found) {
            if (!error) impl_->addresses = std::move(found);
            done(error);
        });
}

void TcpConnection::connect(Done done) {
    asio::async_connect(impl_->plain, impl_->addresses,
                        [this, done = std::move(done)](Error error, const tcp::endpoint&) {
                            Error ignored;
                            impl_->plain.set_option(tcp::no_delay{true}, ignored);
                            done(error);
                        });
}

Result<void> TcpConnection::prepare_tls(const TlsTrust& trust, const std::string& host) {
    Error error;
    auto& context = impl_->context.emplace(asio::ssl::context::tls_client);
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
    auto& tls = impl_->tls.emplace(impl_->plain, context);
    SSL_set_tlsext_host_name(tls.native_handle(), host.c_str());
    return {};
}

void TcpConnection::start_tls(Done done) {
    impl_->tls->async_handshake(asio::ssl::stream_base::client, std::move(done));
}

void TcpConnection::close() {
    Error ignored;
    impl_->resolver.cancel();
    impl_->plain.close(ignored);
}

void TcpConnection::end(const std::function<void()>& done) {
    Error ignored;
    impl_->plain.shutdown(tcp::socket::shutdown_send, ignored);
    impl_->drain(done);
}

void TcpConnection::read(asio::mutable_buffer buffer, Transferred done) {
    if (impl_->tls) {
        impl_->tls->async_read_some(buffer, std::move(done));
    } else {
        impl_->plain.async_read_some(buffer, std::move(done));
    }
}

void TcpConnection::write(std::string bytes, Transferred done) {
    impl_->unsent = std::move(bytes);
    const auto unsent = asio::buffer(std::as_const(impl_->unsent));
    if (impl_->tls) {
        impl_->tls->async_write_some(unsent, std::move(done));
    } else {
        impl_->plain.async_write_some(unsent, std::move(done));
    }
}

}  // namespace beckon::client
