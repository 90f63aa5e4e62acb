#include "edge/link/resolver.hpp"

#include "core/authority.hpp"
#include "edge/link/link_socket.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace beckon::edge::link {

using core::fail;
using core::Fault;

core::Result<Address> parse_address(const std::string& text) {
    const auto wrong = [&text] {
        return fail(Fault::invalid,
                    "'" + text + "' is no address of a link: write host:port or [IPv6]:port");
    };
    const auto split = core::split_authority(text);
    if (!split || !split->port) return wrong();
    const auto port = core::parse_port(*split->port);
    if (!port) return wrong();
    return Address{.host = std::string{core::without_brackets(split->host)}, .port = *port};
}

struct Resolver::Impl {
    struct Request {
        Address to;
        core::Executor* executor;
        Connecting done;
    };

    void run(const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), "link-resolve");
        for (;;) {
            Request request;
            {
                std::unique_lock lock{mutex};
                if (!wake.wait(lock, stop, [this] { return !requests.empty(); })) return;
                request = std::move(requests.front());
                requests.pop_front();
            }
            auto connecting = start_connect(request.to.host, request.to.port);
            const std::scoped_lock lock{mutex};
            if (stop.stop_requested()) {
                if (connecting) close(*connecting);
                return;
            }
            request.executor->post([done = std::move(request.done),
                                    connecting = std::move(connecting)] { done(connecting); });
        }
    }

    std::mutex mutex;
    std::condition_variable_any wake;
    std::deque<Request> requests;
    std::jthread thread;
};

Resolver::Resolver() : impl_(std::make_unique<Impl>()) {
    impl_->thread =
        std::jthread{[impl = impl_.get()](const std::stop_token& stop) { impl->run(stop); }};
}

Resolver::~Resolver() {
    const std::scoped_lock lock{impl_->mutex};
    impl_->thread.request_stop();
}

void Resolver::connect(Address to, core::Executor& executor, Connecting done) {
    {
        const std::scoped_lock lock{impl_->mutex};
        impl_->requests.push_back({std::move(to), &executor, std::move(done)});
    }
    impl_->wake.notify_one();
}

}  // namespace beckon::edge::link
