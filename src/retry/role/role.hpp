#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/milestone.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::retry {

struct RoleConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8084;  ///< of the API; 0: any free one
    std::optional<std::filesystem::path> tls_certificate;
    std::optional<std::filesystem::path> tls_key;
    std::chrono::milliseconds drain{2'000};  ///< at a stop, for requests and attempts under way

    std::size_t workers = 1'024;                 ///< attempts at a time, of all threads
    std::size_t threads = 2;                     ///< for deliveries
    std::vector<std::string> allowed_addresses;  ///< besides public ones (AddressGuard)
    std::vector<std::string> allowed_hosts;      ///< that may have private ones (HostList)
    std::string proxy;                           ///< for requests to webhooks; empty: none
    std::string ca_file;                         ///< PEM, besides the system's
    /// For receivers that ask for one: PEM files; both or none.
    std::optional<std::filesystem::path> client_certificate;
    std::optional<std::filesystem::path> client_key;
    std::vector<std::string> client_certificate_hosts;  ///< that get it (HostList); none: all
    std::chrono::seconds age_max = std::chrono::hours{24 * 7};
    /// Bytes, mostly of filters: some thousand terms of each of a thousand webhooks.
    std::size_t webhook_memory_per_owner_max = std::size_t{16} << 20;
    std::size_t events_per_owner_per_second = 0;  ///< 0: no limit
    /// The role ends by itself after so long, and no attempt starts that could outlive it; 0:
    /// never.
    std::chrono::seconds max_runtime{0};

    /// `<app id>=<file>` and `<release channel>=<file>` (docs/bridges.md).
    std::vector<std::string> fcm_credentials;
    std::vector<std::string> apns_credentials;
    std::string fcm_url;   ///< empty: Google's
    std::string apns_url;  ///< empty: Apple's, by the credentials
    /// Where milestones of tracked messages are reported; it outlives the role. Null: nowhere.
    core::MilestoneSink* milestones = nullptr;
    /// Called when a token names a key that the ring lacks, as often as that happens; any thread.
    std::function<void()> key_missing = [] {};

    /// For the file that says which deliveries end processes (WorkJournal).
    std::filesystem::path directory;
    core::NodeId node;
    std::string node_name{};  ///< placement goes by it; empty: by `node`
    core::Partition partitions = 0;
    std::vector<std::chrono::seconds> tiers;  ///< those of `control`
    std::string version;
    /// Whether the process is ready only when this role is. Beside the roles that deliver pushes,
    /// it does not delay the process's readiness.
    bool decides_readiness = true;
};

/// The role `retry`: the HTTP API for webhooks and events, and the deliveries. It has a thread for
/// its port; `retry`, which answers the API and follows webhooks, dead letters and the cluster;
/// and `retry-0`, `retry-1`, … for the homes of partitions. None waits for another, and one that
/// is stalled is reported by /ready, and after a minute by /live, until it turns again.
class Role {
public:
    /// Throws std::runtime_error: the port is taken, the tier table or an allowed address is wrong,
    /// the certificate or the credentials of a bridge do not load.
    Role(RoleConfig config, log::EventLog& log, std::shared_ptr<const core::KeyRing> keys,
         const core::Clock& clock, ops::Metrics& metrics, ops::Health& health);
    /// begin_stop(), then waits until it has stopped (bounded by `drain`).
    ~Role();

    /// No new requests and attempts. Returns at once; idempotent.
    void begin_stop();
    std::uint16_t port() const;
    /// Reads certificate and key again; if they have a fault, logs it and keeps the old ones.
    void reload_tls();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
