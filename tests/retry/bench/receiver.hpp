#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "net/http/http_server.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>

namespace beckon::test {

/// This thread does work that another machine would do: the process under test goes first.
inline void stand_for_another_machine() {
    constexpr int kNiceness = 10;  // beside what the process has
    // In Linux both are of the calling thread.
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNiceness);
}

struct NoObserver final : net::HttpObserver {
    void opened() override {}
    void closed(net::CloseReason) override {}
    void turned_away(net::CloseReason) override {}
    void accept_paused() override {}
};

/// Answers 204 at once; at /slow after two seconds, at /large with too much, at /hang never.
/// Remembers when each delivery to /quiet came.
class Receiver {
public:
    Receiver() : server_(options(), observer_) {
        server_.start(
            [this](core::Executor& http) { return std::make_unique<Handler>(*this, http); });
    }
    std::string url(const char* path) const {
        return "http://127.0.0.1:" + std::to_string(server_.port()) + path;
    }
    std::map<std::string, std::chrono::steady_clock::time_point> take_quiet() {
        const std::scoped_lock lock{mutex_};
        return std::exchange(quiet_, {});
    }

private:
    static net::HttpServerOptions options() {
        net::HttpServerOptions options;
        options.name = "receiver";
        options.limits = {.body_bytes_max = 1 << 20, .extra_prefix = "webhook-"};
        options.connections.total_max = 4'096;
        options.connections.per_address_max = 4'096;
        options.drain = std::chrono::milliseconds{100};
        return options;
    }

    class Handler final : public net::HttpHandler {
    public:
        Handler(Receiver& receiver, core::Executor& http)
            : receiver_(receiver), http_(http), lifetime_(http) {
            http.post([] { stand_for_another_machine(); });
        }
        void handle(net::ExchangePtr exchange) override {
            const auto& target = exchange->request().target;
            if (target == "/hang") return receiver_.keep(std::move(exchange));
            if (target == "/quiet") receiver_.note(exchange->request());
            if (target == "/slow") return answer_later(std::move(exchange));
            net::HttpReply reply;
            reply.status = target == "/large" ? 200 : 204;
            if (target == "/large") reply.body = std::string(300 * 1024, 'x');
            exchange->reply(std::move(reply));
        }
        void answer_later(net::ExchangePtr exchange) {
            const auto number = next_++;
            later_.emplace(number, std::move(exchange));
            http_.post_after(std::chrono::seconds{2}, lifetime_.guard([this, number] {
                const auto node = later_.extract(number);
                net::HttpReply reply;
                reply.status = 204;
                node.mapped()->reply(std::move(reply));
            }));
        }
        net::HttpReply rejection(net::Rejection) override {
            net::HttpReply reply;
            reply.status = 503;
            return reply;
        }

    private:
        Receiver& receiver_;
        core::Executor& http_;
        std::uint64_t next_ = 0;
        std::map<std::uint64_t, net::ExchangePtr> later_;
        core::Lifetime lifetime_;
    };

    void note(const net::HttpRequest& request) {
        const auto now = std::chrono::steady_clock::now();
        for (const auto& header : request.extra) {
            if (header.name != "webhook-id") continue;
            const std::scoped_lock lock{mutex_};
            quiet_.emplace(header.value, now);
        }
    }
    void keep(net::ExchangePtr exchange) {
        hanging_.push_back(std::move(exchange));
        if (hanging_.size() > 1'000) hanging_.erase(hanging_.begin());
    }

    NoObserver observer_;
    std::mutex mutex_;
    std::map<std::string, std::chrono::steady_clock::time_point> quiet_;  ///< under mutex_
    std::vector<net::ExchangePtr> hanging_;  ///< of the server's one thread
    net::HttpServer server_;
};

}  // namespace beckon::test
