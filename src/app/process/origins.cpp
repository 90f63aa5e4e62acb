#include "app/process/origins.hpp"

#include "core/logger.hpp"
#include "log/control.hpp"

#include <algorithm>
#include <chrono>

namespace beckon::app {

namespace {

constexpr std::chrono::seconds kWriteTimeout{10};

}  // namespace

void remember_origin(log::EventLog& log, const ingest::EndpointConfig& config,
                     const ingest::Endpoint& endpoint) {
    const auto& known = config.former_origins;
    if (std::find(known.begin(), known.end(), endpoint.origin()) != known.end()) return;
    if (config.public_url.empty() && config.port == 0) return;
    const auto written = log::write_origin(log, endpoint.origin(), kWriteTimeout);
    if (written) return;
    core::log_warn("app", "origin_not_remembered",
                   {{"origin", endpoint.origin()}, {"error", written.error().message}});
}

}  // namespace beckon::app
