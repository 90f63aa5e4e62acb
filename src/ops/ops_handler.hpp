#pragma once

#include "core/lifetime.hpp"
#include "net/http/caller.hpp"
#include "net/http/http_server.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"
#include "ops/mounts.hpp"
#include "ops/ops_server.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace beckon::ops {

/// The requests of the ops port, without its sockets. The loop's thread.
class OpsHandler final : public net::HttpHandler {
public:
    /// Pages that are being made by others.
    static constexpr std::size_t kLateMax = 16;

    /// All of it outlives the handler.
    OpsHandler(const OpsConfig& config, const Metrics& metrics, const Health& health,
               Mounts& mounts, core::Executor& loop);

    void handle(net::ExchangePtr exchange) override;
    net::HttpReply rejection(net::Rejection why) override;

private:
    PageDone promise(std::uint64_t id);
    net::HttpReply answer(const net::HttpRequest& request) const;
    net::HttpReply route(std::string_view target) const;
    net::HttpReply metrics_reply() const;

    const std::string version_;
    const net::Hosts hosts_;
    const Metrics& metrics_;
    const Health& health_;
    Mounts& mounts_;
    std::uint64_t last_late_ = 0;
    std::map<std::uint64_t, net::ExchangePtr> late_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::ops
