#pragma once

#include "ingest/connection_set.hpp"
#include "ingest/io_loop.hpp"
#include "net/peer_address.hpp"
#include "net/rate_limiter.hpp"
#include "net/tls.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

namespace beckon::ingest {

/// Listening sockets on one port that share its connections (SO_REUSEPORT), one per io thread.
struct Listeners {
    std::vector<int> sockets;  ///< owned until handed to a worker
    std::uint16_t port = 0;
};
/// `port` 0 takes any free one. Throws std::runtime_error naming host, port and reason; a port that
/// another process already listens on is taken, also if that process would share it.
Listeners listen_on(const std::string& host, std::uint16_t port, int count);

/// One io thread of the HTTP server: accepts and serves. On the loop's thread, except where said.
class HttpWorker {
public:
    struct Shared {
        net::ConnectionLimiter& connections;
        const net::TrustedProxies& proxies;
        IngestMetrics& metrics;
    };

    HttpWorker(IoLoop& loop, int listening_socket, const RequestLimits& limits,
               const ConnectionTimes& times, Shared shared, ConnectionSet::Handler handler,
               std::shared_ptr<const net::TlsContext> tls);
    ~HttpWorker();
    HttpWorker(const HttpWorker&) = delete;
    HttpWorker& operator=(const HttpWorker&) = delete;

    void start() { accept(); }
    /// For connections from now on.
    void use_tls(std::shared_ptr<const net::TlsContext> tls) { tls_ = std::move(tls); }

    /// Takes what the kernel has accepted already, stops listening, and ends each connection in
    /// order. `drained` runs when none is left.
    void drain(std::function<void()> drained);
    /// Answers 503 to what is under way still; for the end of the time that a drain may take.
    void give_up();
    void abort_all();

private:
    void accept();
    bool accept_one();
    void pause_accepting();
    void accept_waiting();
    void turn_away(boost::asio::ip::tcp::socket socket, CloseReason reason);

    IoLoop& loop_;
    const Shared shared_;
    std::shared_ptr<const net::TlsContext> tls_;
    ConnectionSet set_;
    boost::asio::ip::tcp::acceptor acceptor_;
    boost::asio::steady_timer pause_;
    bool draining_ = false;
};

}  // namespace beckon::ingest
