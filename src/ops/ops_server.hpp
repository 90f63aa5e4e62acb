#pragma once

#include "ops/health.hpp"
#include "ops/metrics.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace beckon::ops {

struct OpsConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 9090;  ///< 0: any free one
    std::string version;
};

/// The ops port of a process: `/metrics`, `/ready`, `/live`, `/__heartbeat__`, `/__lbheartbeat__`,
/// `/__version__`. GET and HEAD only; a body is never read. One thread of its own, on which nothing
/// waits; internal networks only.
class OpsServer {
public:
    /// Throws std::runtime_error naming host and port if it cannot listen.
    OpsServer(const OpsConfig& config, const Metrics& metrics, const Health& health);
    ~OpsServer();
    std::uint16_t port() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::ops
