#pragma once

#include "cli/config/setting.hpp"
#include "edge/edge.hpp"
#include "ingest/endpoint.hpp"
#include "log/embedded/embedded_log.hpp"
#include "log/kafka/kafka_log.hpp"
#include "log/topics_admin.hpp"
#include "ops/ops_server.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The configuration of a process (docs/configuration.md): flags > environment > file > default.
/// Filled and validated once in main; every fault is reported, not only the first.
namespace beckon::cli {

/// Values in force. The parts are the structs of the roles themselves: their defaults stand there.
struct Config {
    std::filesystem::path data = "beckon-data";
    std::optional<std::filesystem::path> key_ring;  ///< none: <data>/keys.json
    std::string log_level = "info";
    std::string log_format = "auto";
    std::chrono::seconds startup_timeout{60};
    std::chrono::seconds stop_timeout{5};

    log::LayoutOptions layout{.tiers = log::default_tiers()};
    log::KafkaConfig kafka;
    std::string sync = "always";
    log::EmbeddedConfig embedded;

    ingest::EndpointConfig endpoint;
    bool endpoint_self_signed = false;
    std::vector<std::string> certificate_names;
    edge::EdgeConfig edge;
    bool edge_self_signed = false;
    ops::OpsConfig ops;
    std::size_t cache_bytes = 128U << 20;
    std::size_t write_buffer_bytes = 64U << 20;

    std::filesystem::path key_ring_file() const;
};

/// Every option, bound to `config`, in the order of the reference.
std::vector<Setting> settings_of(Config& config);

struct ConfigFault {
    std::string where;  ///< "beckon.toml:3", "BECKON_EDGE_PORT", "--edge-port"
    std::string what;
};

/// Where a value in force came from; absent = default.
using Sources = std::map<std::string, std::string>;

struct RawValue {
    std::string name;  ///< as in the file: "edge.port"
    std::string value;
    std::string where;
};

/// Values of a TOML file; tables become dotted names.
core::Result<std::vector<RawValue>> read_config_file(const std::filesystem::path& file);
/// Values of all variables that begin with BECKON_, in the dotted notation where known.
std::vector<RawValue> read_environment(const char* const* environment,
                                       const std::vector<Setting>& settings);

/// Applies the values in order (later ones win) and checks what concerns several settings. Names
/// that begin with `kafka.librdkafka.` pass through by name.
std::vector<ConfigFault> apply(const std::vector<RawValue>& values, Config& config,
                               Sources& sources);

/// `config print`: each value and where it came from, secrets masked, warnings where a value gives
/// up a promise.
std::string print_config(Config& config, const Sources& sources);
/// docs/configuration.md.
std::string config_reference();

}  // namespace beckon::cli
