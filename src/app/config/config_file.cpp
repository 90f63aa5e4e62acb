#include "app/config/config_values.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

namespace beckon::app {

namespace {

std::string toml_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* list = node.as_array()) {
        std::string out;
        for (const auto& item : *list) out += (out.empty() ? "" : ",") + toml_text(item);
        return out;
    }
    std::ostringstream out;
    if (node.is_table()) out << *node.as_table();  // in a list: no setting takes it
    node.visit([&out](const auto& value) {
        if constexpr (toml::is_value<decltype(value)>) out << std::boolalpha << value.get();
    });
    return out.str();
}

/// A value and its place in the file.
struct PlacedValue {
    toml::source_position at;
    RawValue value;
};

void flatten(const toml::table& table, const std::string& prefix, const std::string& file,
             std::vector<PlacedValue>& out) {
    for (const auto& [key, node] : table) {
        const std::string name = prefix + std::string{key.str()};
        if (const auto* inner = node.as_table()) {
            flatten(*inner, name + ".", file, out);
            continue;
        }
        const auto at = node.source().begin;
        out.push_back({at,
                       {.name = name,
                        .value = toml_text(node),
                        .where = file + ":" + std::to_string(at.line)}});
    }
}

/// In the order of the file, in which its faults are reported; a table has its keys by name.
std::vector<RawValue> values_of(const toml::table& table, const std::string& file) {
    std::vector<PlacedValue> placed;
    flatten(table, "", file, placed);
    std::ranges::stable_sort(placed, [](const auto& a, const auto& b) { return a.at < b.at; });
    std::vector<RawValue> values;
    for (auto& one : placed) values.push_back(std::move(one.value));
    return values;
}

}  // namespace

core::Result<std::vector<RawValue>> read_config_file(const std::filesystem::path& file) {
    if (std::filesystem::is_directory(file)) {
        return core::fail(core::Fault::invalid,
                          "the config file " + file.string() + " is a directory");
    }
    std::ifstream in{file};
    if (!in) {
        return core::fail(core::Fault::not_found, "cannot read the config file " + file.string());
    }
    try {
        return values_of(toml::parse(in, file.string()), file.string());
    } catch (const toml::parse_error& error) {
        return core::fail(core::Fault::invalid,
                          file.string() + ":" + std::to_string(error.source().begin.line) +
                              ": not TOML: " + std::string{error.description()});
    }
}

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
    const auto known = std::ranges::find_if(
        settings, [&](const auto& setting) { return variable_of(setting) == variable; });
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
