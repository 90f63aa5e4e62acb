#pragma once

#include "app/config/config_faults.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// From text to values in force: the file, the environment, and the values collected from them and
/// from the command line.
namespace beckon::app {

/// The prefix of librdkafka's options; its own name of the option follows.
inline constexpr std::string_view kPassThrough = "kafka.librdkafka.";

struct RawValue {
    std::string name;  ///< as in the file: "edge.port"
    std::string value;
    std::string where;
};

/// Values of a TOML file; tables become dotted names.
core::Result<std::vector<RawValue>> read_config_file(const std::filesystem::path& file);

/// The settings of the environment.
struct Environment {
    std::vector<RawValue> values;  ///< of known variables
    std::string config_file;       ///< BECKON_CONFIG
    /// Variables that begin with BECKON_ and are no setting, or have the form that Kubernetes sets
    /// for a service of that name: they do not stop a start.
    std::vector<ConfigFault> ignored;
};
/// `BECKON_EDGE_PORT` is edge.port, `BECKON_KAFKA_LIBRDKAFKA_SASL_PASSWORD` is
/// kafka.librdkafka.sasl.password. An empty variable counts as unset.
Environment read_environment(const char* const* environment, const std::vector<Setting>& settings);

/// Applies the values in order (later ones win) and checks settings that depend on each other.
/// Names that begin with `kafka.librdkafka.` pass through by name; `kafka.librdkafka.<name>.file`
/// is a file that holds the value.
std::vector<ConfigFault> apply(const std::vector<RawValue>& values, Config& config,
                               Sources& sources, Reader reader = Reader::any);

/// "unknown option 'edge.prot'", and the name among `known` that it may mean.
std::string unknown_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace beckon::app
