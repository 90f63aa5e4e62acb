#include "app/config/config_values.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
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
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
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
    std::stringstream text;
    text << in.rdbuf();
    try {
        const auto table = toml::parse(text.str(), file.string());
        return values_of(table, file.string());
    } catch (const toml::parse_error& error) {
        return core::fail(core::Fault::invalid,
                          file.string() + ":" + std::to_string(error.source().begin.line) +
                              ": not TOML: " + std::string{error.description()});
    }
}

}  // namespace beckon::app
