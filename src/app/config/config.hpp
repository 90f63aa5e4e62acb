#pragma once

#include "app/config/reader.hpp"
#include "app/config/setting.hpp"
#include "console/console_config.hpp"
#include "core/key_ring.hpp"
#include "edge/edge_options.hpp"
#include "ingest/endpoint.hpp"
#include "log/embedded/embedded_log.hpp"
#include "log/kafka/kafka_log.hpp"
#include "log/topics_admin.hpp"
#include "ops/ops_server.hpp"
#include "reliability/role.hpp"
#include "retry/role/role.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The configuration of a process: flags win over the environment, that over the file, that over
/// the default. Filled and validated once in main; every fault is reported, not only the first.
namespace beckon::app {

/// Where a value in force came from; absent = default.
using Sources = std::map<std::string, std::string>;

/// Values in force. The parts are the structs of the roles themselves: their defaults stand there.
struct Config {
    std::filesystem::path data = "beckon-data";
    std::optional<std::filesystem::path> key_ring;  ///< none: <data>/keys.json
    bool key_ring_group_readable = false;
    std::string log_level = "info";
    std::string log_format = "auto";
    /// For a broker: one that starts beside this process is there by then, and a supervisor starts
    /// the process again.
    std::chrono::seconds startup_timeout{60};
    std::chrono::seconds stop_timeout{10};

    log::LayoutOptions layout{.tiers = log::default_tiers()};
    log::KafkaConfig kafka;
    std::string sync = "always";
    log::EmbeddedConfig embedded;

    ingest::EndpointConfig endpoint;
    bool endpoint_self_signed = false;
    std::vector<std::string> certificate_names;
    edge::EdgeOptions edge;
    bool edge_self_signed = false;  ///< for tests: browsers refuse wss:// with such a certificate
    retry::RoleConfig retry;
    std::size_t retry_workers = 0;  ///< of `retry`; 0: as many as follow from cache_bytes
    reliability::RoleConfig reliability;
    console::ConsoleConfig console;
    ops::OpsConfig ops;
    std::size_t cache_bytes = 128U << 20;
    Sources sources;  ///< of a command's configuration

    /// Whether the log of the installation is Kafka. Else it is the embedded log of `data`, if
    /// there is one (has_embedded_log()).
    bool on_kafka() const { return !kafka.bootstrap_servers.empty(); }
    std::filesystem::path key_ring_file() const;
    /// As KeyRing::load, from that file.
    core::Result<core::KeyRing> load_key_ring() const;
};

/// The defaults of a command. Two roles on one host differ in data directory and ops port, so that
/// both start without options about them.
Config defaults_of(Reader reader);

/// The role of that name; for any other text standalone, or endpoint where kafka.servers is set.
Reader role_of(const Config& config, std::string_view name);

/// Every option, bound to `config`, in the order of the reference.
std::vector<Setting> settings_of(Config& config);

}  // namespace beckon::app
