#pragma once

#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "core/milestone.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"
#include "rocks/memory.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::edge {

struct EdgeConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;  ///< 0: any free one
    std::string endpoint_url;   ///< public origin of the endpoint
    std::filesystem::path store_directory;
    std::string log_id;
    core::Partition partitions = 16;
    int shards = 0;                                        ///< 0: one per core
    std::optional<std::filesystem::path> tls_certificate;  ///< PEM chain; with tls_key
    std::optional<std::filesystem::path> tls_key;

    std::vector<std::string> trusted_proxies;  ///< addresses whose Forwarded header counts

    std::size_t delivery_window = 10;
    std::size_t connections_max = 100'000;
    std::size_t connections_per_address_max = 0;  ///< 0: no limit (behind a proxy)
    std::size_t frame_bytes_max = 65'536;
    std::size_t outbox_bytes_max = 1U << 20;  ///< per client; more and it is closed as slow
    std::chrono::milliseconds hello_timeout{5'000};
    std::chrono::milliseconds ping_interval{300'000};
    std::chrono::milliseconds ping_timeout{4'000};
    std::chrono::milliseconds drain{2'000};  ///< closes are staggered over this at a stop
    /// At a stop, other edges have so long to take the partitions over before clients are closed.
    std::chrono::milliseconds hand_over{5'000};
    /// Other nodes that fold each partition, ready to take it over.
    int standby_count = 1;
    std::chrono::milliseconds session_timeout{6'000};

    /// Links to the other edges. Off: this is the only edge of its log.
    bool links = false;
    std::string link_host = "127.0.0.1";
    std::uint16_t link_port = 8081;  ///< 0: any free one
    /// "host:port" by which other edges reach it; empty: link_host and the port.
    std::string link_address;
    std::string version;  ///< for the monitoring routes
    std::chrono::seconds delete_retention{std::chrono::hours{24 * 7}};
    /// The process's shared cache and write buffers; null: of its own.
    std::shared_ptr<rocks::Memory> store_memory;
    /// Where milestones of tracked messages are reported; it outlives the edge. Null: nowhere.
    core::MilestoneSink* milestones = nullptr;
};

/// The edge role of a process: its shards (threads), its store, its place in the cluster.
class Edge {
public:
    /// Opens store and sockets and starts the shards; returns when it listens (not yet: serves;
    /// that is Health's "edge"). Throws std::runtime_error with one clear line.
    Edge(EdgeConfig config, log::EventLog& log, std::shared_ptr<const core::KeyRing> keys,
         const core::Clock& clock, ops::Metrics& metrics, ops::Health& health);
    /// Stops: hands its partitions over to other edges, if there are any; takes no new sockets,
    /// closes clients staggered (1001), commits, joins the threads.
    ~Edge();

    std::uint16_t port() const;
    /// Reads certificate and key files again (SIGHUP). Old connections live on; a pair that does
    /// not fit changes nothing and is logged.
    void reload_tls();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
