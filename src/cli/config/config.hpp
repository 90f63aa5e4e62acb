#pragma once

#include "cli/config/setting.hpp"
#include "console/web/web_server.hpp"
#include "core/key_ring.hpp"
#include "edge/edge.hpp"
#include "ingest/endpoint.hpp"
#include "log/embedded/embedded_log.hpp"
#include "log/kafka/kafka_log.hpp"
#include "log/topics_admin.hpp"
#include "ops/ops_server.hpp"
#include "reliability/role.hpp"
#include "retry/role/role.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The configuration of a process: flags win over the environment, that over the file, that over
/// the default. Filled and validated once in main; every fault is reported, not only the first.
namespace beckon::cli {

/// Which command reads a configuration: it decides about defaults, and about what has an effect.
/// `running` asks a process of this installation, `lag` that or the brokers.
enum class Reader {
    standalone,
    endpoint,
    edge,
    retry,
    reliability,
    console,
    lag,
    webhooks,
    topics,
    keys,
    subscriptions,
    running,
    any
};

/// Values in force. The parts are the structs of the roles themselves: their defaults stand there.
struct Config {
    std::filesystem::path data = "beckon-data";
    std::optional<std::filesystem::path> key_ring;  ///< none: <data>/keys.json
    bool key_ring_group_readable = false;
    std::string log_level = "info";
    std::string log_format = "auto";
    std::chrono::seconds startup_timeout{60};
    std::chrono::seconds stop_timeout{10};

    log::LayoutOptions layout{.tiers = log::default_tiers()};
    log::KafkaConfig kafka;
    std::string sync = "always";
    log::EmbeddedConfig embedded;

    ingest::EndpointConfig endpoint;
    bool endpoint_self_signed = false;
    std::vector<std::string> certificate_names;
    edge::EdgeConfig edge;
    bool edge_self_signed = false;
    retry::RoleConfig retry;
    reliability::RoleConfig reliability;
    console::WebConfig console;
    std::optional<std::filesystem::path> console_token_file;
    std::vector<std::string> console_canary;  ///< WebSocket URLs
    ops::OpsConfig ops;
    std::size_t cache_bytes = 128U << 20;
    std::size_t write_buffer_bytes = 64U << 20;

    std::filesystem::path key_ring_file() const;
    /// As KeyRing::load, from that file.
    core::Result<core::KeyRing> load_key_ring() const;
};

/// The defaults of a command. Two roles on one host differ in data directory and ops port, so that
/// both start without options about them.
Config defaults_of(Reader reader);

/// Whether the setting of that name (also "kafka.librdkafka.<name>") changes anything for `reader`.
bool has_effect(std::string_view name, Reader reader);
/// What to do instead, beginning with ": "; empty where there is nothing to say.
std::string why_without_effect(std::string_view name, Reader reader);

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
/// What the environment says.
struct Environment {
    std::vector<RawValue> values;  ///< of known variables
    std::string config_file;       ///< BECKON_CONFIG
    /// Variables that begin with BECKON_ and are no setting, or hold what Kubernetes sets for a
    /// service of that name: they do not stop a start.
    std::vector<ConfigFault> ignored;
};
/// `BECKON_EDGE_PORT` is edge.port, `BECKON_KAFKA_LIBRDKAFKA_SASL_PASSWORD` is
/// kafka.librdkafka.sasl.password.
Environment read_environment(const char* const* environment, const std::vector<Setting>& settings);

/// Applies the values in order (later ones win) and checks what concerns several settings. Names
/// that begin with `kafka.librdkafka.` pass through by name; `kafka.librdkafka.<name>.file` is a
/// file that holds the value.
std::vector<ConfigFault> apply(const std::vector<RawValue>& values, Config& config,
                               Sources& sources, Reader reader = Reader::any);
/// What would stop a start of `reader` with this configuration and no single value shows.
std::vector<ConfigFault> faults_of(const Config& config, Reader reader);

/// `config print`: TOML with each value and where it came from, secrets masked, warnings where a
/// value gives up a promise.
std::string print_config(Config& config, const Sources& sources);
/// docs/configuration.md.
std::string config_reference();

}  // namespace beckon::cli
