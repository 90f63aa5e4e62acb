#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace beckon::bench {

/// The exit codes of `beckon-bench`.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongOptions = 2;

/// `beckon-bench`: the load generator. Works against any server that speaks the protocol.
struct BenchOptions {
    std::string url = "ws://127.0.0.1:8080/";
    /// WebSocket URL of another edge, where clients connect once they have a channel; empty: none.
    std::string reconnect_to = {};
    /// The target of POSTs, as `host:port` or URL, where the host of the endpoint URLs cannot be
    /// reached from here; empty: the endpoint URLs.
    std::string endpoint = {};
    /// Any of fill, idle, latency, saturation, drain, sustained; they run in this order. Fill and
    /// sustained run only if they are named: they take minutes.
    std::vector<std::string> profiles{"idle", "latency", "saturation", "drain"};

    std::size_t connections = 1'000;  ///< clients with a channel each (latency, saturation)
    double rate = 1'000;              ///< messages/s of the latency profile, first of the sustained
    double rate_max = 64'000;         ///< the sustained profile tries no more
    double p99_ms = 100;              ///< sustained: POST to frame, of 99 in 100 messages
    double duration_s = 20;  ///< of the latency and the saturation profile, and of each rate tried
    double warm_up_s = 5;    ///< before each of them, not counted
    std::size_t body_bytes = 300;  ///< encrypted body, at least 103
    std::uint32_t ttl_s = 3'600;
    std::size_t senders = 64;  ///< HTTP connections
    std::size_t pipeline = 1;  ///< POSTs in flight on each of them when saturating
    /// Saturating never runs further ahead of delivery than this many messages for each client; 0:
    /// however far the server accepts.
    std::size_t ahead = 5;
    /// none, sign (a token on every POST) or restrict (and the subscriptions take only its key).
    std::string vapid = "none";
    std::filesystem::path vapid_key_file = {};  ///< to sign with; empty: a new key

    std::size_t idle_connections = 10'000;
    bool idle_register = false;          ///< each of them also registers a channel
    std::size_t drain_messages = 1'000;  ///< for each of drain_clients
    std::size_t drain_clients = 1;

    std::size_t fill_messages = 1'000'000;  ///< for `connections` clients that are away

    double patience_s = 30;  ///< for replies and frames that are still to come at the end

    /// Processes to account for, as `name=pid` or `pid`.
    std::vector<std::string> pids = {};
    std::string label = {};  ///< goes into the JSON
    std::optional<std::filesystem::path> json_file = std::nullopt;
    bool json = false;  ///< the JSON also on standard output, instead of the table
};

/// 0 if every profile ran and no accepted message was missing, 1 if not, 2 for wrong options.
int run_bench(const BenchOptions& options);

}  // namespace beckon::bench
