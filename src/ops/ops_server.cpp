#include "ops/ops_server.hpp"

#include "core/json_text.hpp"
#include "net/http/http_server.hpp"
#include "ops/mounts.hpp"
#include "ops/ops_handler.hpp"

#include <stdexcept>

#include <nlohmann/json.hpp>

namespace beckon::ops {

namespace {

/// One loop serves all, and nothing on it waits: no connection delays another.
constexpr int kThreads = 1;
/// Above these the connection that has waited longest for its peer makes space.
constexpr std::size_t kConnectionsMax = 64;
/// A batch of log records, which tools read through this port, fits: 32 MiB for all connections.
constexpr int kSendBufferBytes = 512 << 10;
constexpr net::RequestLimits kLimits{.header_bytes_max = 8'192, .body_bytes_max = 0};
constexpr net::ConnectionTimes kTimes{.request = std::chrono::seconds{10},
                                      .keep_alive = std::chrono::minutes{2},
                                      .linger = std::chrono::milliseconds{200},
                                      .last_request = std::chrono::milliseconds{50}};
constexpr std::chrono::milliseconds kDrain{300};
/// Twice those of other ports: what says what is wrong comes first.
constexpr int kOwnDescriptors = 8;

net::HttpServerOptions options_of(const OpsConfig& config) {
    net::HttpServerOptions options;
    options.name = "ops";
    options.host = config.host;
    options.port = config.port;
    options.threads = kThreads;
    options.limits = kLimits;
    options.times = kTimes;
    options.connections = {.total_max = kConnectionsMax};
    options.own_descriptors = kOwnDescriptors;
    options.when_full = net::WhenFull::replace_oldest;
    options.send_buffer_bytes = kSendBufferBytes;
    options.drain = kDrain;
    return options;
}

}  // namespace

Page refusal(int status, std::string_view why) {
    return {.status = status, .body = core::json_text(nlohmann::json{{"error", why}})};
}

std::string_view value_in(const Query& query, std::string_view name) {
    const auto found = query.find(name);
    return found == query.end() ? std::string_view{} : std::string_view{found->second};
}

struct OpsServer::Impl {
    explicit Impl(const OpsConfig& config) : server(options_of(config), observer) {}

    net::NobodyCounts observer;
    Mounts mounts;
    net::HttpServer server;  ///< its handler uses the above
};

OpsServer::OpsServer(const OpsConfig& config, const Metrics& metrics, const Health& health) {
    try {
        impl_ = std::make_unique<Impl>(config);
    } catch (const std::runtime_error& why) {
        throw std::runtime_error("the ops port (--ops-port): " + std::string{why.what()});
    }
    impl_->server.start([&](core::Executor& loop) {
        return std::make_unique<OpsHandler>(config, metrics, health, impl_->mounts, loop);
    });
}

OpsServer::~OpsServer() = default;

Mount OpsServer::mount(const std::string& prefix, PageMaker maker) {
    impl_->mounts.add(prefix, std::move(maker));
    return Mount{[&mounts = impl_->mounts, prefix] { mounts.remove(prefix); }};
}

Mount OpsServer::mount_late(const std::string& prefix, LatePageMaker maker) {
    impl_->mounts.add_late(prefix, std::move(maker));
    return Mount{[&mounts = impl_->mounts, prefix] { mounts.remove(prefix); }};
}

Mount OpsServer::mount_metrics(const std::string& name, MetricsMaker maker) {
    impl_->mounts.add_metrics(name, std::move(maker));
    return Mount{[&mounts = impl_->mounts, name] { mounts.remove(name); }};
}

std::uint16_t OpsServer::port() const { return impl_->server.port(); }

}  // namespace beckon::ops
