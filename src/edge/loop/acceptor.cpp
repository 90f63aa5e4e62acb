#include "edge/loop/acceptor.hpp"

#include "core/contain.hpp"
#include "core/logger.hpp"
#include "net/listener.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <ev.h>

namespace beckon::edge {

namespace {

/// Connections taken in one go, so that a storm of them does not starve those that are there.
constexpr int kAcceptsPerTurn = 64;

}  // namespace

struct Acceptor::Impl {
    ShardLoop& loop;
    net::Descriptor listener;
    const net::Room room;
    Accepted accepted;
    Paused paused;
    ev_io watcher{};
    bool pause_logged = false;

    struct Resume : WheelTimer {
        explicit Resume(Impl& s)
            : WheelTimer([](WheelTimer& t) {
                  auto& acceptor = static_cast<Resume&>(t).self;
                  ev_io_start(acceptor.loop.native(), &acceptor.watcher);
              }),
              self(s) {}
        Impl& self;
    };
    Resume resume{*this};

    void accept() {
        const auto outcome = net::accept_some(
            listener.get(), kAcceptsPerTurn, room,
            [this](net::Descriptor socket, const sockaddr_storage& peer) {
                // One that throws is lost, and the rest are taken.
                core::contain(loop.name(), [&] { accepted(socket.release(), peer); });
            });
        if (outcome == net::AcceptOutcome::exhausted) return pause(errno);
        pause_logged = false;
    }

    void pause(int why) {
        ev_io_stop(loop.native(), &watcher);
        loop.schedule(resume, std::chrono::milliseconds{net::kAcceptPauseMs});
        paused();
        if (std::exchange(pause_logged, true)) return;  // until connections are accepted again
        core::log_warn("edge", "accept_paused", {{"why", std::strerror(why)}});
    }
};

Acceptor::Acceptor(ShardLoop& loop, net::Descriptor listener, net::Room room, Accepted accepted,
                   Paused paused)
    : impl_(new Impl{.loop = loop,
                     .listener = std::move(listener),
                     .room = std::move(room),
                     .accepted = std::move(accepted),
                     .paused = std::move(paused)}) {
    ev_io_init(
        &impl_->watcher,
        [](struct ev_loop*, ev_io* w, int) { static_cast<Impl*>(w->data)->accept(); },
        impl_->listener.get(), EV_READ);
    impl_->watcher.data = impl_.get();
    ev_io_start(loop.native(), &impl_->watcher);
}

Acceptor::~Acceptor() { stop(); }

void Acceptor::stop() {
    ev_io_stop(impl_->loop.native(), &impl_->watcher);
    impl_->loop.wheel().cancel(impl_->resume);
    impl_->listener.reset();
}

}  // namespace beckon::edge
