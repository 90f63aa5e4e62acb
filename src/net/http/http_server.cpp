#include "net/http/http_server.hpp"

#include "net/http/http_worker.hpp"
#include "net/io_loop.hpp"
#include "net/listener.hpp"

#include <latch>
#include <thread>
#include <utility>
#include <vector>

namespace beckon::net {

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
