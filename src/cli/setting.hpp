#pragma once

#include "core/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// One option of the configuration: its name in the file (`edge.port`), hence its flag
/// (`--edge-port`) and environment variable (`BECKON_EDGE_PORT`), its text form and its help. The
/// reference in docs/configuration.md is generated from these.
namespace beckon::cli {

struct Setting {
    std::string name;
    std::string help;
    std::string allowed;  ///< what a value looks like, for errors and the reference
    bool secret = false;  ///< masked by `config print`
    /// Takes the text of a value; an error says what is wrong with it.
    std::function<core::Result<void>(std::string_view)> set;
    /// The value in force, as text that `set` takes.
    std::function<std::string()> get;
};

/// `edge.hello_timeout` → `--edge-hello-timeout` and `BECKON_EDGE_HELLO_TIMEOUT`.
std::string flag_of(const Setting& setting);
std::string variable_of(const Setting& setting);

/// "5s", "300ms", "24h", "7d"; a bare number is refused, since nobody knows its unit.
core::Result<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string duration_text(std::chrono::milliseconds value);
/// "64MiB", "512KiB", "5630" (bytes).
core::Result<std::size_t> parse_bytes(std::string_view text);
std::string bytes_text(std::size_t value);

// --- settings over a member of the config struct, by its type
Setting text_setting(std::string name, std::string& target, std::string help,
                     std::string allowed = "text");
Setting path_setting(std::string name, std::filesystem::path& target, std::string help);
Setting optional_path_setting(std::string name, std::optional<std::filesystem::path>& target,
                              std::string help);
Setting bool_setting(std::string name, bool& target, std::string help);
Setting choice_setting(std::string name, std::string& target, std::vector<std::string> choices,
                       std::string help);
/// Comma-separated.
Setting list_setting(std::string name, std::vector<std::string>& target, std::string help);

struct Range {
    std::int64_t least;
    std::int64_t most;
};
/// Whole numbers from `range`.
template <class Int>
Setting number_setting(std::string name, Int& target, Range range, std::string help);
/// Any std::chrono duration.
template <class D>
Setting duration_setting(std::string name, D& target, D least, D most, std::string help);
Setting bytes_setting(std::string name, std::size_t& target, std::size_t least, std::string help);
Setting durations_setting(std::string name, std::vector<std::chrono::seconds>& target,
                          std::string help);

/// The name among `known` that `unknown` most likely means; nullopt if none is near.
std::optional<std::string> nearest(std::string_view unknown, const std::vector<std::string>& known);

// --- templates

core::Result<std::int64_t> parse_number(std::string_view text, Range range);

template <class Int>
Setting number_setting(std::string name, Int& target, Range range, std::string help) {
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = std::to_string(range.least) + " to " + std::to_string(range.most),
            .set = [&target, range](std::string_view text) -> core::Result<void> {
                const auto value = parse_number(text, range);
                if (!value) return core::fail(value.error());
                target = static_cast<Int>(*value);
                return {};
            },
            .get = [&target] { return std::to_string(target); }};
}

template <class D>
Setting duration_setting(std::string name, D& target, D least, D most, std::string help) {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    const auto low = duration_text(duration_cast<milliseconds>(least));
    const auto high = duration_text(duration_cast<milliseconds>(most));
    const auto allowed = "a duration from " + low + " to " + high + ", e.g. 500ms, 5s, 1h, 7d";
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = allowed,
            .set = [&target, least, most, allowed](std::string_view text) -> core::Result<void> {
                const auto value = parse_duration(text);
                if (!value) return core::fail(value.error());
                if (*value < least || *value > most) {
                    return core::fail(core::Fault::invalid, "not " + allowed);
                }
                target = duration_cast<D>(*value);
                return {};
            },
            .get = [&target] { return duration_text(duration_cast<milliseconds>(target)); }};
}

}  // namespace beckon::cli
