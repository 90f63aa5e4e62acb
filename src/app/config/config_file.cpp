#include "app/config/config_values.hpp"

#include <fstream>
#include <sstream>

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

void flatten(const toml::table& table, const std::string& prefix, const std::string& file,
             std::vector<RawValue>& out) {
    for (const auto& [key, node] : table) {
        const std::string name = prefix + std::string{key.str()};
        if (const auto* inner = node.as_table()) {
            flatten(*inner, name + ".", file, out);
            continue;
        }
        out.push_back({.name = name,
                       .value = toml_text(node),
                       .where = file + ":" + std::to_string(node.source().begin.line)});
    }
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
        std::vector<RawValue> out;
        flatten(table, "", file.string(), out);
        return out;
    } catch (const toml::parse_error& error) {
        return core::fail(core::Fault::invalid,
                          file.string() + ":" + std::to_string(error.source().begin.line) +
                              ": not TOML: " + std::string{error.description()});
    }
}

}  // namespace beckon::app
