#pragma once

#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "core/result.hpp"
#include "ingest/call/busiest_senders.hpp"
#include "ingest/call/refused_sends.hpp"
#include "ingest/call/service_settings.hpp"
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
#include <string_view>
#include <vector>

namespace beckon::ingest {

struct EndpointConfig : ServiceSettings {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8082;  ///< 0: any free one
    /// Origin, as senders see it. Empty: scheme://host:port as listened on (`localhost` where all
    /// addresses listen), and the machine's other local names are good audiences too.
    std::string public_url;
    std::vector<std::string> extra_audiences;
    /// Origins that endpoint URLs of this installation began with before: good audiences still.
    std::vector<std::string> former_origins;
    int threads = 0;                                       ///< 0: one per core
    std::optional<std::filesystem::path> tls_certificate;  ///< PEM chain; with tls_key
    std::optional<std::filesystem::path> tls_key;
    std::filesystem::path view_directory;
    std::string log_id;

    std::size_t data_bytes_max = 5'630;
    /// From a request's first byte to its reply: a message of the longest body takes less on any
    /// line.
    std::chrono::milliseconds request_deadline{30'000};
    std::chrono::milliseconds keep_alive{60'000};  ///< as nginx closes idle upstream connections
    std::size_t connections_max = 15'000;
    std::size_t connections_per_address_max = 0;      ///< 0: no limit
    std::size_t requests_per_address_per_second = 0;  ///< 0: no limit
    std::vector<std::string> trusted_proxies;         ///< addresses whose Forwarded header counts
    bool proxy_protocol = false;  ///< their connections begin with a PROXY header
    std::chrono::seconds delete_retention{std::chrono::hours{24 * 7}};
    /// The process's shared cache and write buffers; null: of its own.
    std::shared_ptr<rocks::Memory> store_memory;

    /// Of this endpoint, for the report of its process, as the next.
    std::shared_ptr<RefusedSends> refused = std::make_shared<RefusedSends>();
    std::shared_ptr<BusiestSenders> busiest = std::make_shared<BusiestSenders>();
    std::vector<std::string> tracking_keys;  ///< VAPID public keys, base64 of the raw point
    /// The time of running requests at a stop; requests still under way are then answered 503.
    std::chrono::milliseconds drain{4'000};
    /// Readiness is off when the log has failed for so long.
    std::chrono::milliseconds log_grace{3'000};
};

/// One of `tracking_keys`, the raw point: 65 bytes. Also in the notation of autopush, of which a
/// list makes the items `["k1"` and `"k2"]`; empty where nothing but that notation stands. Errors:
/// invalid, naming it.
core::Result<std::string> parse_tracking_key(std::string_view text);

/// The endpoint role of a process: the public HTTP API over the log (docs/design.md#the-endpoint).
class Endpoint {
public:
    /// Opens the view and the socket and starts the threads; returns when it listens (readiness is
    /// Health's "endpoint": every partition's view has passed its first read barrier; before that
    /// nothing negative is answered). Throws std::runtime_error with one clear line.
    Endpoint(EndpointConfig config, log::EventLog& log, std::shared_ptr<const core::KeyRing> keys,
             const core::Clock& clock, ops::Metrics& metrics, ops::Health& health);
    /// begin_stop(), then waits until running requests are finished (bounded by `drain` and a
    /// sixteenth of it) and the threads are joined.
    ~Endpoint();

    /// Readiness off, no new connections, and each open one is ended when its requests are
    /// answered. Returns at once.
    void begin_stop();

    std::uint16_t port() const;
    /// The origin of endpoint URLs: that of `public_url`, or its stand-in.
    const std::string& origin() const;
    /// Reads certificate and key files again (SIGHUP); a pair that does not fit changes nothing.
    void reload_tls();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::ingest
