#pragma once

#include "core/milestone.hpp"
#include "core/partition.hpp"
#include "rocks/memory.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rocksdb {
class Env;
}

namespace beckon::edge {

/// The values in force of an edge; the defaults stand here.
struct EdgeConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;  ///< 0: any free one
    std::string path = "/";     ///< where clients connect; every other path is 404
    std::string endpoint_url;   ///< public origin of the endpoint
    std::filesystem::path store_directory;
    std::string rotation =
        "month";  ///< the unit that is dropped at one time: a "month", a "day"; "off"
    std::string log_id;
    std::string node_name{};  ///< placement goes by it; empty: by the node id of this process
    core::Partition partitions = 16;
    int shards = 0;                                        ///< 0: one per core
    std::optional<std::filesystem::path> tls_certificate;  ///< PEM chain; with tls_key
    std::optional<std::filesystem::path> tls_key;

    std::vector<std::string> trusted_proxies;  ///< addresses whose Forwarded header counts
    bool proxy_protocol = false;               ///< their connections begin with a PROXY header

    /// Web pages that may connect, as their `Origin`; empty: all, and all that are no web page.
    std::vector<std::string> allowed_origins;

    std::size_t max_pending = 10'000;  ///< messages that wait for one client
    /// "drop-oldest", or "reset": the client gets a new UAID.
    std::string max_pending_policy = "drop-oldest";
    std::size_t channels_per_client_max = 1'000;
    /// Clients that were not seen for so long are removed.
    std::chrono::seconds client_ttl{std::chrono::hours{24 * 60}};
    std::size_t connections_max = 100'000;
    std::size_t connections_per_address_max = 0;  ///< 0: no limit (behind a proxy)
    std::size_t frame_bytes_max = 65'536;
    /// From the connection to its hello: a client says it at once, on any line.
    std::chrono::milliseconds hello_timeout{5'000};
    std::chrono::milliseconds ping_interval{300'000};
    /// A client's own ping (`{}`) may come so often: Firefox pings at most every minute.
    std::chrono::milliseconds client_ping_interval_min{45'000};
    /// The page with the versions of broadcasts; empty: nothing is polled.
    std::string broadcasts_url;
    std::chrono::milliseconds broadcasts_interval{30'000};  ///< from a poll's end to the next
    std::chrono::milliseconds drain{2'000};  ///< closes are staggered over this at a stop
    /// At a stop, other edges have so long to take the partitions over before clients are closed.
    std::chrono::milliseconds hand_over{5'000};
    /// Other nodes that fold each partition, ready to take it over.
    int standby_count = 1;
    std::string zone;  ///< a partition's home and standbys are in different ones, if given
    /// The group of the edges drops a process without a heartbeat for so long; a home that stalled
    /// for half of it asks the log whether it is still the home. Brokers refuse less than their
    /// group.min.session.timeout.ms, 6 s by default.
    std::chrono::milliseconds session_timeout{6'000};

    /// Links to the other edges. Off: this is the only edge of its log.
    bool links = false;
    std::string link_host = "127.0.0.1";
    std::uint16_t link_port = 8081;  ///< 0: any free one
    /// "host:port" by which other edges reach it; empty: link_host and the port.
    std::string link_address;
    std::string version;  ///< for the monitoring routes
    std::string commit;   ///< likewise
    std::chrono::seconds delete_retention{std::chrono::hours{24 * 7}};
    /// The process's shared cache and write buffers; null: of its own.
    std::shared_ptr<rocks::Memory> store_memory;
    /// How the store reaches its files; null: as RocksDB does. Tests put faults here.
    rocksdb::Env* store_env = nullptr;
    /// Where milestones of tracked messages are reported; it outlives the edge. Null: nowhere.
    core::MilestoneSink* milestones = nullptr;
};

}  // namespace beckon::edge
