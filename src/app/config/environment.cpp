#include "app/config/config_values.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace beckon::app {

namespace {

constexpr std::string_view kVariablePrefix = "BECKON_";
constexpr std::string_view kPassThroughVariable = "BECKON_KAFKA_LIBRDKAFKA_";
/// The entrypoint of the image makes a file of it (packaging/image/entrypoint).
constexpr std::string_view kConsoleToken = "BECKON_CONSOLE_TOKEN";
constexpr std::string_view kOfTheImage =
    "only the entrypoint of the image reads it; elsewhere give console.token_file (ignored)";
constexpr std::string_view kFromKubernetes =
    "Kubernetes sets it for a service of that name; ignored (rename the service, or set "
    "enableServiceLinks: false)";

/// BECKON_EDGE_SERVICE_HOST, BECKON_EDGE_PORT_8080_TCP_ADDR and the like.
bool is_service_variable(std::string_view variable) {
    return variable.find("_SERVICE_HOST") != std::string_view::npos ||
           variable.find("_SERVICE_PORT") != std::string_view::npos ||
           variable.find("_TCP") != std::string_view::npos ||
           variable.find("_UDP") != std::string_view::npos;
}

/// "SASL_PASSWORD" is sasl.password: no option of librdkafka that takes text has an underscore.
std::string librdkafka_name(std::string_view variable) {
    std::string name;
    for (const char c : variable) {
        name.push_back(c == '_' ? '.' : static_cast<char>(std::tolower(c)));
    }
    return name;
}

void read_variable(const std::string& variable, const std::string& value,
                   const std::vector<Setting>& settings, Environment& out) {
    if (variable == "BECKON_CONFIG") {
        out.config_file = value;
        return;
    }
    if (variable.starts_with(kPassThroughVariable)) {
        const auto name = librdkafka_name(variable.substr(kPassThroughVariable.size()));
        out.values.push_back({std::string{kPassThrough} + name, value, variable});
        return;
    }
    const auto known = std::find_if(settings.begin(), settings.end(), [&](const auto& setting) {
        return variable_of(setting) == variable;
    });
    if (known != settings.end() && !value.starts_with("tcp://")) {
        out.values.push_back({known->name, value, variable});
        return;
    }
    if (known != settings.end() || is_service_variable(variable)) {
        out.ignored.push_back({variable, std::string{kFromKubernetes}});
        return;
    }
    if (variable == kConsoleToken) {
        out.ignored.push_back({variable, std::string{kOfTheImage}});
        return;
    }
    std::vector<std::string> names;
    names.reserve(settings.size());
    for (const auto& setting : settings) names.push_back(variable_of(setting));
    out.ignored.push_back({variable, unknown_name(variable, names) + " (ignored)"});
}

}  // namespace

Environment read_environment(const char* const* environment, const std::vector<Setting>& settings) {
    Environment out;
    for (; *environment; ++environment) {
        const std::string_view entry{*environment};
        if (!entry.starts_with(kVariablePrefix)) continue;
        const auto equals = entry.find('=');
        if (equals + 1 == entry.size()) continue;  // unset, as compose's `VAR: ${VAR}` means it
        read_variable(std::string{entry.substr(0, equals)}, std::string{entry.substr(equals + 1)},
                      settings, out);
    }
    return out;
}

}  // namespace beckon::app
