#include "bare_beast.hpp"

#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace beckon::bench {

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using tcp = boost::asio::ip::tcp;

class Session : public std::enable_shared_from_this<Session> {
public:
    explicit Session(tcp::socket socket) : stream_(std::move(socket)) {}

    void read() {
        parser_.emplace();
        parser_->body_limit(5630);
        parser_->header_limit(16'384);
        stream_.expires_after(std::chrono::seconds{30});
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](beast::error_code error, std::size_t) {
                             if (!error) self->answer();
                         });
    }

private:
    void answer() {
        reply_ = {http::status::created, 11};
        reply_.set(http::field::location,
                   "http://127.0.0.1:8082/m/"
                   "AgECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v");
        reply_.set("TTL", "60");
        reply_.keep_alive(parser_->get().keep_alive());
        reply_.prepare_payload();
        http::async_write(stream_, reply_,
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (!error) self->read();
                          });
    }

    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::empty_body> reply_;
};

}  // namespace

struct BareBeast::Impl {
    boost::asio::io_context context{1};
    tcp::acceptor acceptor{context, {boost::asio::ip::address_v4::loopback(), 0}};
    std::thread thread;

    void accept() {
        acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
            if (error) return;
            socket.set_option(tcp::no_delay{true});
            std::make_shared<Session>(std::move(socket))->read();
            accept();
        });
    }
};

BareBeast::BareBeast() : impl_(std::make_unique<Impl>()) {
    impl_->accept();
    impl_->thread = std::thread{[this] { impl_->context.run(); }};
}

BareBeast::~BareBeast() {
    impl_->context.stop();
    impl_->thread.join();
}

std::uint16_t BareBeast::port() const { return impl_->acceptor.local_endpoint().port(); }

}  // namespace beckon::bench
