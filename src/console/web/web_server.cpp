#include "console/web/web_server.hpp"

#include "console/web/web_handler.hpp"
#include "net/http/http_server.hpp"

#include <stdexcept>

namespace beckon::console {

namespace {

/// A browser may send the cookies of every other server on this host.
constexpr std::size_t kHeaderBytesMax = 16'384;
/// The app fits, and so does most of a page: 32 MiB for all connections.
constexpr int kSendBufferBytes = 256 << 10;
/// Streams send something within `request` (WebHandler::kBeat); acts are answered within `answer`.
constexpr net::ConnectionTimes kTimes{.request = std::chrono::seconds{15},
                                      .answer = std::chrono::seconds{70},
                                      .keep_alive = std::chrono::seconds{60},
                                      .linger = std::chrono::milliseconds{500},
                                      .last_request = std::chrono::milliseconds{50}};
constexpr std::chrono::milliseconds kDrain{500};

net::HttpServerOptions options_of(const WebConfig& config) {
    net::HttpServerOptions options;
    options.name = "console-http";
    options.host = config.host;
    options.port = config.port;
    options.limits = {.header_bytes_max = kHeaderBytesMax,
                      .body_bytes_max = WebServer::kBodyBytesMax};
    options.times = kTimes;
    options.connections = {.total_max = WebServer::kConnectionsMax};
    options.when_full = net::WhenFull::replace_oldest;
    options.send_buffer_bytes = kSendBufferBytes;
    options.drain = kDrain;
    return options;
}

}  // namespace

struct WebServer::Impl {
    explicit Impl(const WebConfig& config) : server(options_of(config), observer) {}

    net::NobodyCounts observer;
    net::HttpServer server;
};

WebServer::WebServer(const WebConfig& config, Context context) {
    try {
        impl_ = std::make_unique<Impl>(config);
    } catch (const std::runtime_error& why) {
        throw std::runtime_error("the console (--console-port): " + std::string{why.what()});
    }
    impl_->server.start([&](core::Executor& loop) {
        return std::make_unique<WebHandler>(config.token, context, loop);
    });
}

WebServer::~WebServer() = default;

std::uint16_t WebServer::port() const { return impl_->server.port(); }

}  // namespace beckon::console
