#include "app/roles/start_checks.hpp"

#include "app/installation/key_ring_guard.hpp"
#include "app/process/process.hpp"
#include "console/console.hpp"
#include "core/descriptors.hpp"
#include "core/logger.hpp"
#include "core/setup_error.hpp"
#include "log/kafka/kafka_log.hpp"
#include "net/listener.hpp"
#include "net/tls.hpp"
#include "retry/attempt/bridge/credentials.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace beckon::app {

namespace {

using std::chrono::steady_clock;

/// Bytes that the databases of a process may write before they are open: each first writes the
/// records of its write-ahead log into tables.
constexpr std::uintmax_t kSpaceToStart = std::uintmax_t{64} << 20;
constexpr std::chrono::milliseconds kCapacityPollEvery{500};
constexpr std::chrono::minutes kCapacityLineInterval{1};

std::string mebibytes(std::uintmax_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

/// Why the disk has too little space for a start.
std::optional<std::string> too_full(const std::filesystem::path& data) {
    std::error_code error;
    const auto space = std::filesystem::space(data, error);
    if (error || space.available >= kSpaceToStart) return std::nullopt;
    return "the disk of " + data.string() + " has " + mebibytes(space.available) +
           " free, and a start needs " + mebibytes(kSpaceToStart) +
           ": make space, and the start goes on";
}

struct StartPort {
    std::string setting;  ///< "endpoint": of `endpoint.host` and `endpoint.port`
    std::string host;
    std::uint16_t port;
};

bool plays(Reader role, Reader part) { return role == part || role == Reader::standalone; }

std::vector<StartPort> start_ports(const Config& config, Reader role) {
    std::vector<StartPort> ports{{"ops", config.ops.host, config.ops.port}};
    if (plays(role, Reader::endpoint)) {
        ports.push_back({"endpoint", config.endpoint.host, config.endpoint.port});
    }
    if (plays(role, Reader::edge)) ports.push_back({"edge", config.edge.host, config.edge.port});
    if (role == Reader::edge) {
        ports.push_back({"edge.link", config.edge.link_host, config.edge.link_port});
    }
    if (plays(role, Reader::retry)) {
        ports.push_back({"retry", config.retry.host, config.retry.port});
    }
    if (plays(role, Reader::console)) {
        ports.push_back({"console", config.console.host, config.console.port});
    }
    return ports;
}

/// "edge.link" → "--edge-link-port".
std::string port_flag(const StartPort& port) {
    std::string flag = "--" + port.setting + "-port";
    std::replace(flag.begin(), flag.end(), '.', '-');
    return flag;
}

/// Reports all of them: whoever starts a second process on a host has none free.
void check_start_ports(const std::vector<StartPort>& ports) {
    std::vector<net::Descriptor> held;
    std::string taken;
    for (auto one = ports.begin(); one != ports.end(); ++one) {
        const auto same = std::find_if(ports.begin(), one, [&](const StartPort& other) {
            return other.port == one->port && other.port != 0 && other.host == one->host;
        });
        if (same != one) {
            throw core::SetupError(port_flag(*same) + " and " + port_flag(*one) + " are both " +
                                   std::to_string(one->port) + ": each needs a port of its own");
        }
        try {
            for (auto& socket : net::listen_shared({.host = one->host, .port = one->port})) {
                held.push_back(std::move(socket));
            }
        } catch (const std::runtime_error& error) {
            taken += (taken.empty() ? "" : "; ") + port_flag(*one) + ": " + error.what();
        }
    }
    if (!taken.empty()) throw StartupError(taken);
}

/// A standalone without clients has 130 or so.
constexpr std::size_t kDescriptorsLeast = 256;

void check_start_descriptors() {
    const auto limit = core::raise_descriptor_limit(kDescriptorsLeast);
    if (limit >= kDescriptorsLeast) return;
    throw core::SetupError("the process may have " + std::to_string(limit) +
                           " files open (ulimit -Hn), and needs at least " +
                           std::to_string(kDescriptorsLeast) +
                           ", and one more for each connection: raise the limit (LimitNOFILE of "
                           "systemd, --ulimit nofile of a container)");
}

using OptionalFile = std::optional<std::filesystem::path>;

/// `setting`: of the certificate.
void check_start_tls(const char* setting, const OptionalFile& certificate,
                     const OptionalFile& key) {
    if (!certificate || !key) return;
    const auto good = net::check({*certificate, *key});
    if (!good) throw core::SetupError(std::string{setting} + ": " + good.error().message);
    net::warn_if_not_valid(*certificate);
}

void check_start_credentials(const retry::RoleConfig& config) {
    const auto each = [](const char* setting, const auto& entries, const auto& load) {
        for (const auto& entry : entries) {
            const auto loaded = load(entry);
            if (!loaded) {
                throw core::SetupError(std::string{setting} + ": " + loaded.error().message);
            }
        }
    };
    each("retry.fcm.credentials", config.fcm_credentials, retry::load_fcm_credentials);
    each("retry.apns.credentials", config.apns_credentials, retry::load_apns_credentials);
    check_start_tls("retry.client_certificate", config.client_certificate, config.client_key);
    if (!config.ca_file.empty() && ::access(config.ca_file.c_str(), R_OK) != 0) {
        throw core::SetupError("retry.ca_file: cannot read " + config.ca_file + ": " +
                               std::generic_category().message(errno));
    }
}

/// A standalone makes a key ring where there is none; every other role has read its own by now.
void check_start_key_ring(const Config& config) {
    const auto ring = config.load_key_ring();
    if (ring) return;
    if (ring.error().fault != core::Fault::not_found) {
        throw core::SetupError("key_ring: " + ring.error().message);
    }
    if (!config.key_ring || has_embedded_log(config)) return;
    const auto normal = [](const std::filesystem::path& path) {
        return std::filesystem::absolute(path).lexically_normal();
    };
    const auto directory = normal(*config.key_ring).parent_path();
    if (directory == normal(config.data / "").parent_path()) return;
    if (::access(directory.c_str(), W_OK | X_OK) == 0) return;
    throw core::SetupError("key_ring: no key ring can be made in " + directory.string() + ": " +
                           std::generic_category().message(errno));
}

void check_start_files(const Config& config, Reader role) {
    if (role == Reader::standalone) check_start_key_ring(config);
    if (plays(role, Reader::endpoint)) {
        check_start_tls("endpoint.tls_certificate", config.endpoint.tls_certificate,
                        config.endpoint.tls_key);
    }
    if (plays(role, Reader::edge)) {
        check_start_tls("edge.tls_certificate", config.edge.tls_certificate, config.edge.tls_key);
    }
    if (plays(role, Reader::retry)) {
        check_start_tls("retry.tls_certificate", config.retry.tls_certificate,
                        config.retry.tls_key);
        check_start_credentials(config.retry);
    }
    if (plays(role, Reader::console)) console::check_token(config.console);
}

}  // namespace

void check_start(const Config& config, Reader role) {
    if (const auto foreign = foreign_file(config.data))
        throw core::SetupError(foreign->give(config.data));
    // Whose ports it has too; this error names it.
    if (DataDirectory::in_use(config.data)) const DataDirectory refused{config.data};
    if (role != Reader::standalone) log::check_kafka_options(config.kafka);
    check_start_files(config, role);
    check_start_descriptors();
    check_start_ports(start_ports(config, role));
}

void await_disk_space(const std::filesystem::path& data, ops::Health& health,
                      const Signals& signals) {
    steady_clock::time_point next_line{};
    bool waited = false;
    while (const auto why = too_full(data)) {
        waited = true;
        health.set_ready("process", false, *why);
        if (const auto now = steady_clock::now(); now >= next_line) {
            next_line = now + kCapacityLineInterval;
            core::log_error("app", "no_space", {{"why", *why}});
        }
        signals.stop_start_within(kCapacityPollEvery, "space on the disk");
    }
    if (!waited) return;
    health.set_ready("process", false, "starting");
    core::log_info("app", "space_again", {{"data", data.string()}});
}

}  // namespace beckon::app
