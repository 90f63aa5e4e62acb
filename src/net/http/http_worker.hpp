#pragma once

#include "net/http/connection_set.hpp"
#include "net/http/http_server.hpp"
#include "net/io_loop.hpp"

#include <functional>
#include <memory>

#include <sys/socket.h>

namespace beckon::net {

/// One thread of the HTTP server: accepts and serves. On the loop's thread; destroyed when the loop
/// has ended.
class HttpWorker {
public:
    struct Shared {
        const HttpServerOptions& options;
        ConnectionLimiter& connections;
        HttpObserver& observer;
        HttpHandler& handler;
    };

    HttpWorker(IoLoop& loop, Descriptor listener, const Shared& shared);
    ~HttpWorker();
    HttpWorker(const HttpWorker&) = delete;
    HttpWorker& operator=(const HttpWorker&) = delete;

    void start() { await_peers(); }
    /// For connections from now on.
    void use_tls(std::shared_ptr<const TlsContext> tls) { tls_ = std::move(tls); }

    /// Takes the connections that the kernel has accepted already, stops listening, and ends each
    /// connection in order. `drained` runs when none is left.
    void drain(std::function<void()> drained);
    /// Answers the requests under way with a rejection; for the end of the time that a drain may
    /// take.
    void give_up();

private:
    void await_peers();
    void accept();
    void accept_waiting();
    void pause_accepting();
    Descriptor room();
    void serve(Descriptor socket, const sockaddr_storage& address);
    ConnectionLimiter::Admission admit(const Peer& peer);
    void turn_away(const Descriptor& socket, CloseReason reason);

    IoLoop& loop_;
    const Shared shared_;
    std::shared_ptr<const TlsContext> tls_;
    ConnectionSet set_;
    Watch listener_;
    bool draining_ = false;
    bool pause_logged_ = false;
};

}  // namespace beckon::net
