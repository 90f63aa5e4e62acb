#include "edge/ws/proxy_intake.hpp"

#include "core/contain.hpp"

#include <iterator>
#include <utility>

#include <ev.h>

namespace beckon::edge {

using net::ProxyFault;

struct ProxyIntake::Waiting : WheelTimer {
    Waiting(ProxyIntake& i, net::Descriptor s, const net::Peer& p)
        : WheelTimer([](WheelTimer& timer) {
              auto& late = static_cast<Waiting&>(timer);
              late.intake.finish(late, tl::unexpected<ProxyFault>(ProxyFault::late));
          }),
          intake(i),
          socket(std::move(s)),
          proxy(p) {
        ev_io_init(
            &watcher,
            [](struct ev_loop*, ev_io* w, int) {
                auto& ready = *static_cast<Waiting*>(w->data);
                auto& own = ready.intake;
                core::contain(own.loop_.name(), [&] { own.read(ready); });
            },
            socket.get(), EV_READ);
        watcher.data = this;
        ev_io_start(intake.loop_.native(), &watcher);
    }
    ~Waiting() { ev_io_stop(intake.loop_.native(), &watcher); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    ProxyIntake& intake;
    net::Descriptor socket;
    const net::Peer proxy;
    net::ProxyHeaderReader reader;
    ev_io watcher{};
    std::list<Waiting>::iterator place;
};

ProxyIntake::ProxyIntake(ShardLoop& loop, core::Duration deadline, Introduced introduced)
    : loop_(loop), deadline_(deadline), introduced_(std::move(introduced)) {}

ProxyIntake::~ProxyIntake() { close_all(); }

void ProxyIntake::take(net::Descriptor socket, const net::Peer& proxy) {
    auto& waiting = waiting_.emplace_back(*this, std::move(socket), proxy);
    waiting.place = std::prev(waiting_.end());
    loop_.schedule(waiting, deadline_);
}

void ProxyIntake::close_all() {
    while (!waiting_.empty()) {
        finish(waiting_.front(), tl::unexpected<ProxyFault>(ProxyFault::ended));
    }
}

void ProxyIntake::read(Waiting& waiting) {
    const auto header = waiting.reader.read(waiting.socket.get());
    if (!header) return finish(waiting, tl::unexpected<ProxyFault>(header.error()));
    if (*header) finish(waiting, (*header)->client);
}

/// `waiting` goes first: the next call may take another socket.
void ProxyIntake::finish(Waiting& waiting, const Header& header) {
    const auto proxy = waiting.proxy;
    auto socket = std::move(waiting.socket);
    waiting_.erase(waiting.place);
    introduced_(std::move(socket), proxy, header);
}

namespace {

constexpr int kBeforeLibrary = 1;  // the library's watchers have priority 0

}  // namespace

ReadWatch::ReadWatch(struct ev_loop* loop, int fd, std::function<void()> readable)
    : loop_(loop), readable_(std::move(readable)) {
    ev_io_init(
        &watcher_,
        [](struct ev_loop*, ev_io* w, int) {
            const auto call = static_cast<ReadWatch*>(w->data)->readable_;  // which may destroy it
            call();
        },
        fd, EV_READ);
    watcher_.data = this;
    ev_set_priority(&watcher_, kBeforeLibrary);
    ev_io_start(loop_, &watcher_);
}

ReadWatch::~ReadWatch() { pause(); }

void ReadWatch::pause() { ev_io_stop(loop_, &watcher_); }
void ReadWatch::resume() { ev_io_start(loop_, &watcher_); }

}  // namespace beckon::edge
