#include "edge/edge_options.hpp"

#include "core/descriptors.hpp"
#include "core/logger.hpp"
#include "net/connection_limiter.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace beckon::edge {

namespace {

/// A client with a window of 256 messages acknowledges so many in two seconds and a half.
constexpr std::size_t kFramesPerSecondMax = 100;

std::size_t clients_max(std::size_t wanted) {
    const auto descriptors = core::raise_descriptor_limit(net::descriptors_for(wanted));
    const auto possible = net::clients_possible(wanted, descriptors);
    if (possible < wanted) {
        core::log_warn("edge", "clients_limited",
                       {{"connections_max", wanted},
                        {"file_descriptors", descriptors},
                        {"clients_max", possible}});
    }
    return possible;
}

}  // namespace

FrontsOptions fronts_options(const EdgeConfig& config, const core::NodeId& node) {
    FrontsOptions options;
    options.host = config.host;
    options.port = config.port;
    options.partitions = config.partitions;
    options.shards = config.shards > 0
                         ? static_cast<std::size_t>(config.shards)
                         : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
    options.front.node = node;
    options.front.hello_timeout = config.hello_timeout;
    options.front.ping_interval = config.ping_interval;
    options.front.early_bytes_max = config.frame_bytes_max;
    options.sockets.frame_bytes_max = config.frame_bytes_max;
    options.sockets.handshake_timeout = config.hello_timeout;
    options.sockets.frames_per_second_max = kFramesPerSecondMax;
    options.sockets.path = config.path;
    options.sockets.allowed_origins = config.allowed_origins;
    if (config.tls_certificate && config.tls_key) {
        options.sockets.tls =
            net::TlsFiles{.certificate = *config.tls_certificate, .key = *config.tls_key};
    } else if (config.tls_certificate || config.tls_key) {
        throw std::runtime_error("TLS on the edge needs both a certificate and a key");
    }
    options.sockets.proxies = std::make_shared<const net::TrustedProxies>(config.trusted_proxies);
    options.sockets.proxy_protocol = config.proxy_protocol;
    options.limits = {.total_max = clients_max(config.connections_max),
                      .per_address_max = config.connections_per_address_max};
    options.version = config.version;
    options.commit = config.commit;
    return options;
}

HomeOptions home_options(const EdgeConfig& config, const core::NodeId& node) {
    HomeOptions options;
    options.partitions = config.partitions;
    options.node = node;
    options.endpoint_url = config.endpoint_url;
    // Half of a socket's outbox, so that answers and TTL-0 messages fit beside it.
    options.window.bytes_max = WsServerOptions::kOutboxBytesMax / 2;
    options.window.bytes = std::min(options.window.bytes, options.window.bytes_max);
    options.pending = {.messages = config.max_pending,
                       .policy = config.max_pending_policy == "reset"
                                     ? PendingLimit::Policy::reset
                                     : PendingLimit::Policy::drop_oldest};
    options.channels_per_client = config.channels_per_client_max;
    options.client_ttl = config.client_ttl;
    options.ping_interval_min = config.client_ping_interval_min;
    options.delete_retention = config.delete_retention;
    options.session_timeout = config.session_timeout;
    return options;
}

link::LinksOptions links_options(const EdgeConfig& config, const core::NodeId& node) {
    return {
        .self = node, .log_id = config.log_id, .host = config.link_host, .port = config.link_port};
}

cluster::ClusterOptions cluster_options(const EdgeConfig& config, const core::NodeId& node,
                                        std::optional<std::uint16_t> link_port) {
    cluster::ClusterOptions options;
    options.role = "edge";
    options.self = node;
    options.name = config.node_name;
    options.partitions = config.partitions;
    options.standby_count = config.standby_count;
    options.zone = config.zone;
    options.session_timeout = config.session_timeout;
    if (link_port) {
        options.link_url = config.link_address.empty()
                               ? config.link_host + ":" + std::to_string(*link_port)
                               : config.link_address;
    }
    return options;
}

}  // namespace beckon::edge
