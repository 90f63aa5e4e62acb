#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "net/http/http_server.hpp"
#include "retry/api/api.hpp"

#include <cstdint>
#include <functional>
#include <unordered_map>

namespace beckon::retry {

/// Brings requests from a loop of the HTTP server to the role's thread, and the replies back. An
/// exchange never leaves its own thread; other threads get a copy. On the HTTP loop's thread.
class ApiHandler final : public net::HttpHandler {
public:
    /// Posts to the role's thread, where the Api is.
    using Ask = std::function<void(ApiRequest, Api::Reply)>;

    ApiHandler(core::Executor& loop, Ask ask, std::function<void(int status)> replied);

    void handle(net::ExchangePtr exchange) override;
    net::HttpReply rejection(net::Rejection why) override;

private:
    void reply(std::uint64_t number, net::HttpReply reply);

    const Ask ask_;
    const std::function<void(int)> replied_;
    std::uint64_t next_ = 0;
    std::unordered_map<std::uint64_t, net::ExchangePtr> open_;  ///< bounded by the connections
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
