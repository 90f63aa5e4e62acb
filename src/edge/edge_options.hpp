#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "core/partition.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::rocks {
class Memory;
}

namespace rocksdb {
class Env;
}

namespace beckon::edge {

/// The messages that may be under way to one client: as many as fit into `bytes`, but at least
/// `messages_min` and at most `messages_max` (decision 0205: a burst of small messages goes out at
/// once, and a client that never acknowledges costs the edge no more memory than one of large
/// ones).
struct WindowLimits {
    std::size_t messages_min = 10;
    std::size_t messages_max = 256;
    std::size_t bytes = 64U << 10;  ///< of frames
    /// Frame bytes of the least number of messages: half of what a socket may hold unsent, so that
    /// answers and TTL-0 messages fit beside them. A message that is larger by itself is sent
    /// alone.
    std::size_t bytes_max = 512U << 10;
    /// Messages without an answer, also those that no longer count for the window: a client that
    /// never acknowledges gets ten of the least windows, or two of the largest, and no more.
    std::size_t unacked = 512;
    /// Acknowledged messages whose tombstones the log does not have yet.
    std::size_t acked_not_durable = 1'000;
    /// A message that is unacknowledged for so long no longer counts for the window.
    core::Duration patience = std::chrono::minutes{1};
};

/// The values in force of an edge; the defaults stand here. Each part of the edge reads those that
/// it needs.
struct EdgeOptions {
    core::NodeId node{};                        ///< set when the edge starts
    std::string node_name{};                    ///< placement goes by it; empty: by `node`
    core::Partition partitions = 16;            ///< of the log
    std::string log_id{};                       ///< a store of another log is set aside
    int shards = 0;                             ///< 0: one per core
    core::MilestoneSink* milestones = nullptr;  ///< of tracked messages; outlives the edge
    std::string version{};                      ///< for the monitoring routes
    std::string commit{};                       ///< likewise

    // --- the WebSocket port
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;  ///< 0: any free one
    static constexpr std::size_t kPathMax = 127;
    std::string path = "/";  ///< where clients connect, at most kPathMax bytes; all else is 404
    std::optional<std::filesystem::path> tls_certificate{};  ///< PEM chain; with tls_key
    std::optional<std::filesystem::path> tls_key{};
    std::vector<std::string> trusted_proxies{};  ///< addresses whose Forwarded header counts
    bool proxy_protocol = false;  ///< their connections, and no others, begin with a PROXY header
    /// Web pages that may connect, as their `Origin`; empty: all, and all that are no web page.
    std::vector<std::string> allowed_origins{};
    std::size_t connections_max = 100'000;
    std::size_t connections_per_address_max = 0;  ///< 0: no limit (behind a proxy)
    std::size_t frame_bytes_max = 65'536;
    /// Frames, pings and pongs that one client may send over ten seconds, a second's worth; each
    /// notification that it gets allows one more, for its ack. A client with a window of 256
    /// messages acknowledges so many in two seconds and a half. 0: no limit.
    std::size_t frames_per_second_max = 100;
    /// A message that comes in pieces is complete after so long, or the client is closed.
    std::chrono::milliseconds frame_timeout{15'000};
    /// Several windows of the largest notifications: only a client that does not read has as much.
    static constexpr std::size_t kUnsentBytesMax = 1U << 20;
    /// Memory of the frames that wait for one client; more and it is dropped as slow.
    std::size_t unsent_bytes_max = kUnsentBytesMax;
    std::size_t held_bytes_max = 32U << 20;  ///< memory that all clients of a shard hold
    unsigned sockets_max = 0;                ///< of a shard; 0: as many as the process may open

    // --- clients
    /// From the connection to the end of the upgrade, and from there to the hello.
    std::chrono::milliseconds hello_timeout{5'000};
    /// How long a home may take to answer a hello (a take-over, a read barrier); then "try again".
    std::chrono::milliseconds answer_timeout{15'000};
    /// The longest time between two WebSocket pings. Each is a little shorter, so that clients that
    /// came together are not pinged together.
    std::chrono::milliseconds ping_interval{300'000};
    std::chrono::milliseconds ping_timeout{4'000};
    /// A client's own ping (`{}`) may come so often: Firefox pings at most every minute.
    std::chrono::milliseconds client_ping_interval_min{45'000};
    /// The most frames of a client that waits for a home; beyond it the client is closed. Their
    /// bytes are bounded by frame_bytes_max.
    std::size_t early_frames_max = 32;
    std::chrono::milliseconds drain{2'000};  ///< closes are staggered over this at a stop

    // --- homes
    /// Public origin of the endpoint: URLs are <origin>/wpush/<token>.
    std::string endpoint_url{};
    WindowLimits window{};
    std::size_t max_pending = 10'000;  ///< messages that wait for one client
    /// "drop-oldest", or "reset": the client gets a new UAID.
    std::string max_pending_policy = "drop-oldest";
    std::size_t channels_per_client_max = 1'000;
    /// Clients that were not seen for so long are removed.
    std::chrono::seconds client_ttl{std::chrono::hours{24 * 60}};
    std::chrono::seconds delete_retention{std::chrono::hours{24 * 7}};
    std::filesystem::path store_directory{};
    /// The unit that is dropped at one time: a "month", a "day"; "off".
    std::string rotation = "month";
    /// The process's shared cache and write buffers; null: of its own.
    std::shared_ptr<rocks::Memory> store_memory{};
    /// How the store reaches its files; null: as RocksDB does. Tests put faults here.
    rocksdb::Env* store_env = nullptr;

    // --- broadcasts
    std::string broadcasts_url{};  ///< the page with their versions; empty: nothing is polled
    std::chrono::milliseconds broadcasts_interval{30'000};  ///< from a poll's end to the next

    // --- other edges
    /// Other nodes that fold each partition, ready to take it over.
    int standby_count = 1;
    std::string zone{};  ///< a partition's home and standbys are in different ones, if given
    /// The group of the edges drops a process without a heartbeat for so long; a home that stalled
    /// for half of it asks the log whether it is still the home. Brokers refuse less than their
    /// group.min.session.timeout.ms, 6 s by default.
    std::chrono::milliseconds session_timeout{6'000};
    /// At a stop, other edges have so long to take the partitions over before clients are closed.
    std::chrono::milliseconds hand_over{5'000};
    /// Links to the other edges. Off: this is the only edge of its log.
    bool links = false;
    std::string link_host = "127.0.0.1";
    std::uint16_t link_port = 8081;  ///< 0: any free one
    /// "host:port" by which other edges reach it; empty: link_host and the port.
    std::string link_address{};
    /// Bytes that may wait for one peer before messages to it are refused.
    std::size_t link_queue_bytes_max = 8U << 20;
};

}  // namespace beckon::edge
