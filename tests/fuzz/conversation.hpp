#pragma once

#include "fuzz/require.hpp"
#include "net/http/http_server.hpp"
#include "net/http/request_parser.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// A connection without its socket: bytes become requests, which a port's handler answers.
namespace beckon::test {

/// Runs what was posted in run(); what is for later is dropped.
class QueueExecutor final : public core::Executor {
public:
    void post(Task task) override { tasks_.push_back(std::move(task)); }
    void post_after(core::Duration, Task) override {}
    void run() {
        while (!tasks_.empty()) {
            const auto task = std::move(tasks_.front());
            tasks_.pop_front();
            task();
        }
    }

private:
    std::deque<Task> tasks_;
};

/// A request, and what it is answered: once.
class FuzzExchange final : public net::Exchange {
public:
    explicit FuzzExchange(const net::HttpRequest& request) : request_(request) {}
    const net::HttpRequest& request() const override { return request_; }
    void reply(net::HttpReply reply) override {
        require(!reply_);
        reply_ = std::move(reply);
    }
    const std::optional<net::HttpReply>& answer() const { return reply_; }

private:
    const net::HttpRequest& request_;
    std::optional<net::HttpReply> reply_;
};

using Judge = std::function<void(const net::HttpRequest&, const net::HttpReply&)>;

/// Passes on all requests that are in `bytes`, one after the other. Each must be answered, with
/// headers that end no line.
inline void converse(net::HttpHandler& handler, QueueExecutor& loop,
                     const net::RequestLimits& limits, std::string_view bytes, const Judge& judge) {
    using Status = net::RequestParser::Status;
    net::RequestParser parser{limits};
    while (!bytes.empty()) {
        std::size_t used = 0;
        const auto status = parser.put(bytes, used);
        bytes.remove_prefix(used);
        if (status != Status::complete && status != Status::body_too_large) return;
        const auto exchange = std::make_shared<FuzzExchange>(parser.request());
        handler.handle(exchange);
        loop.run();
        const auto& answer = exchange->answer();
        require(answer.has_value());
        for (const auto& [name, value] : answer->headers) {
            require(value.find_first_of("\r\n") == std::string::npos);
        }
        judge(parser.request(), *answer);
        if (status != Status::complete || !parser.keep_alive()) return;
        parser.reset();
    }
}

}  // namespace beckon::test
