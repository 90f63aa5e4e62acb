#include "net/http/http_server.hpp"

#include "core/logger.hpp"
#include "net/http/connection.hpp"
#include "net/http/connection_set.hpp"
#include "net/io_loop.hpp"
#include "net/listener.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace beckon::net {

RejectionText rejection_text(Rejection why) {
    switch (why) {
        case Rejection::bad_request:
        case Rejection::bad_host: return {kBadRequest, "not a good HTTP/1.1 request"};
        case Rejection::header_too_large: return {431, "too large a header"};
        case Rejection::too_slow: return {408, "too slow"};
        case Rejection::failed: return {kInternal, "this request failed; the log says why"};
        case Rejection::too_many_connections:
        case Rejection::stopping: break;
    }
    return {kUnavailable, "not available"};
}

/// One thread of the HTTP server: accepts and serves. On the loop's thread; destroyed when the loop
/// has ended.
class HttpWorker {
public:
    HttpWorker(IoLoop& loop, Descriptor listener, const ConnectionSet::Shared& shared);
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
    AcceptOutcome accept_up_to(int max);
    void pause_accepting();
    Descriptor room();
    void serve(Descriptor socket, const sockaddr_storage& address);
    ConnectionLimiter::Admission admit(const Peer& peer);
    void turn_away(const Descriptor& socket, CloseReason reason);

    IoLoop& loop_;
    const ConnectionSet::Shared shared_;
    std::shared_ptr<const TlsContext> tls_;
    ConnectionSet set_;
    Watch listener_;
    bool draining_ = false;
    bool pause_logged_ = false;
};

namespace {

constexpr int kAcceptsPerTurn = 64;
/// More than the kernel queues for one listener.
constexpr int kWaitingMax = 8'192;
/// A handshake whose packet the filter has just let through is complete by then.
constexpr std::chrono::milliseconds kHandshakeUnderWay{10};

}  // namespace

HttpWorker::HttpWorker(IoLoop& loop, Descriptor listener, const ConnectionSet::Shared& shared)
    : loop_(loop),
      shared_(shared),
      tls_(shared.options.tls),
      set_(loop, shared),
      listener_(loop, std::move(listener)) {}

HttpWorker::~HttpWorker() {
    set_.for_each([](Connection& connection) { connection.abort(CloseReason::stopping); });
}

void HttpWorker::await_peers() {
    listener_.wait(Watch::Event::readable, [this] { accept(); });
}

void HttpWorker::accept() {
    if (draining_) return;
    switch (accept_up_to(kAcceptsPerTurn)) {
        case AcceptOutcome::more:
        case AcceptOutcome::drained: pause_logged_ = false; return await_peers();
        case AcceptOutcome::exhausted: return pause_accepting();
    }
}

/// The listener stays readable while descriptors are short: waiting for it would spin. One line
/// says so until connections are accepted again.
void HttpWorker::pause_accepting() {
    if (!std::exchange(pause_logged_, true)) {
        core::log_warn("net", "accept_paused",
                       {{"server", shared_.options.name}, {"why", std::strerror(errno)}});
    }
    shared_.observer.accept_paused();
    loop_.post_after(std::chrono::milliseconds{kAcceptPauseMs}, [this] { accept(); });
}

/// A placeholder; where there is none, the connection that has waited longest leaves one.
Descriptor HttpWorker::room() {
    auto place = set_.own_descriptors().take();
    if (!place && set_.close_oldest()) place = set_.own_descriptors().take();
    return place;
}

ConnectionLimiter::Admission HttpWorker::admit(const Peer& peer) {
    const auto admission = shared_.connections.admit(peer);
    const bool replace = admission == ConnectionLimiter::Admission::total_reached &&
                         shared_.options.when_full == WhenFull::replace_oldest;
    return replace && set_.close_oldest() ? shared_.connections.admit(peer) : admission;
}

void HttpWorker::serve(Descriptor socket, const sockaddr_storage& address) {
    Peer peer{address_of(address)};
    peer.exempt = shared_.options.proxies.contains(peer.address);
    switch (admit(peer)) {
        case ConnectionLimiter::Admission::admitted: break;
        case ConnectionLimiter::Admission::total_reached:
            return turn_away(socket, CloseReason::connections);
        case ConnectionLimiter::Admission::address_reached:
            return turn_away(socket, CloseReason::address);
    }
    try {
        const auto connection = std::make_shared<Connection>(std::move(socket), tls_, peer, set_);
        connection->start();
        if (draining_) connection->drain();
    } catch (const std::exception& thrown) {  // no memory: this connection ends, the loop goes on
        core::log_error("net", "connection_not_served", {{"error", thrown.what()}});
        shared_.connections.gone(peer);
        shared_.observer.turned_away(CloseReason::broken);
    }
}

/// One write without waiting: a peer that floods us gets no more of our time.
void HttpWorker::turn_away(const Descriptor& socket, CloseReason reason) {
    shared_.observer.turned_away(reason);
    if (!tls_) {
        std::string out;
        append_reply(out, shared_.handler.rejection(Rejection::too_many_connections),
                     {.close = true});
        ::send(socket.get(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    ::shutdown(socket.get(), SHUT_WR);
}

/// Closing a listening socket resets the connections that the kernel has accepted on it, requests
/// and all. So the port stops letting peers in first, and then takes the connections that are in.
void HttpWorker::drain(std::function<void()> drained) {
    draining_ = true;
    stop_handshakes(listener_.descriptor());
    set_.for_each([](Connection& connection) { connection.drain(); });
    accept_up_to(kWaitingMax);
    loop_.post_after(kHandshakeUnderWay, [this, drained = std::move(drained)]() mutable {
        accept_up_to(kWaitingMax);
        listener_.close();
        set_.when_empty(std::move(drained));
    });
}

AcceptOutcome HttpWorker::accept_up_to(int max) {
    return accept_some(
        listener_.descriptor(), max, [this] { return room(); },
        [this](Descriptor socket, const sockaddr_storage& peer) {
            serve(std::move(socket), peer);
        });
}

void HttpWorker::give_up() {
    set_.for_each([](Connection& connection) { connection.give_up(); });
}

namespace {

/// One thread: its loop, and its objects while it runs.
struct Io {
    IoLoop loop;
    HttpWorker* worker = nullptr;  ///< on the loop's thread
    std::thread thread;
};

}  // namespace

struct HttpServer::Impl {
    Impl(HttpServerOptions o, HttpObserver& obs)
        : options(std::move(o)), observer(obs), connections(options.connections) {}

    void run(Io& io, int number, const MakeHandler& make_handler, std::latch& accepting);

    const HttpServerOptions options;
    HttpObserver& observer;
    ConnectionLimiter connections;
    std::vector<Descriptor> listeners;  ///< until a worker has taken them
    std::uint16_t port = 0;
    /// Loops outlive all that may post to them: joined first, destroyed last.
    std::vector<std::unique_ptr<Io>> ios;
    bool stopping = false;
};

HttpServer::HttpServer(HttpServerOptions options, HttpObserver& observer)
    : impl_(std::make_unique<Impl>(std::move(options), observer)) {
    const auto& o = impl_->options;
    impl_->listeners =
        listen_shared({.host = o.host,
                       .port = o.port,
                       .sockets = static_cast<std::size_t>(o.threads),
                       .send_buffer_bytes = o.send_buffer_bytes,
                       .receive_buffer_bytes = HttpServerOptions::kReceiveBufferBytes});
    impl_->port = port_of(impl_->listeners.front());
}

HttpServer::~HttpServer() { join(); }

void HttpServer::join() {
    begin_stop();
    for (const auto& io : impl_->ios) {
        if (io->thread.joinable()) io->thread.join();
    }
}

void HttpServer::start(const MakeHandler& make_handler) {
    std::latch accepting{impl_->options.threads};
    for (int i = 0; i < impl_->options.threads; ++i) {
        impl_->ios.push_back(std::make_unique<Io>());
        auto& io = *impl_->ios.back();
        io.thread = std::thread{[&, i] { impl_->run(io, i, make_handler, accepting); }};
    }
    accepting.wait();
}

void HttpServer::Impl::run(Io& io, int number, const MakeHandler& make_handler,
                           std::latch& accepting) {
    const auto handler = make_handler(io.loop);
    HttpWorker worker{io.loop,
                      std::move(listeners[static_cast<std::size_t>(number)]),
                      {options, connections, observer, *handler}};
    io.worker = &worker;
    worker.start();
    accepting.count_down();
    io.loop.run((options.name + "-" + std::to_string(number)).c_str());
}

void HttpServer::begin_stop() {
    if (std::exchange(impl_->stopping, true)) return;
    for (const auto& io : impl_->ios) {
        io->loop.post([drain = impl_->options.drain, worker = io->worker, loop = &io->loop] {
            // The time limit belongs to the loop, so that a handler that never replies cannot hold
            // the process.
            loop->post_after(drain, [drain, worker, loop] {
                worker->give_up();
                loop->post_after(drain / 16, [loop] { loop->stop(); });
            });
            worker->drain([loop] { loop->stop(); });
        });
    }
}

std::uint16_t HttpServer::port() const { return impl_->port; }

void HttpServer::use_tls(const std::shared_ptr<const TlsContext>& tls) {
    for (const auto& io : impl_->ios) {
        io->loop.post([worker = io->worker, tls] { worker->use_tls(tls); });
    }
}

}  // namespace beckon::net
