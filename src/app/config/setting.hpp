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
namespace beckon::app {

struct Setting {
    enum class Kind { text, number, boolean, list };

    std::string name;
    std::string help;
    std::string allowed;     ///< the form of a value, for errors and the reference
    bool secret = false;     ///< masked by `config print`
    bool for_tests = false;  ///< shown in no help and no reference; `config print` shows it if set
    Kind kind = Kind::text;  ///< how TOML writes the value
    /// Takes the text of a value; an error names its fault.
    std::function<core::Result<void>(std::string_view)> set;
    /// The value in force, as text that `set` takes.
    std::function<std::string()> get;
};

/// `edge.ping_interval` → `--edge-ping-interval` and `BECKON_EDGE_PING_INTERVAL`.
std::string flag_of(const Setting& setting);
std::string variable_of(const Setting& setting);

/// "5s", "300ms", "24h", "7d"; a bare number is refused, since it has no unit.
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

// --- the parts of the two templates

Setting number_setting(std::string name, Range range, std::function<void(std::int64_t)> set,
                       std::function<std::int64_t()> get, std::string help);
Setting duration_setting(std::string name, std::chrono::milliseconds least,
                         std::chrono::milliseconds most,
                         std::function<void(std::chrono::milliseconds)> set,
                         std::function<std::chrono::milliseconds()> get, std::string help);

template <class Int>
Setting number_setting(std::string name, Int& target, Range range, std::string help) {
    return number_setting(
        std::move(name), range, [&target](std::int64_t n) { target = static_cast<Int>(n); },
        [&target] { return static_cast<std::int64_t>(target); }, std::move(help));
}

template <class D>
Setting duration_setting(std::string name, D& target, D least, D most, std::string help) {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    return duration_setting(
        std::move(name), duration_cast<milliseconds>(least), duration_cast<milliseconds>(most),
        [&target](milliseconds value) { target = duration_cast<D>(value); },
        [&target] { return duration_cast<milliseconds>(target); }, std::move(help));
}

/// The one text of an origin (RFC 6454 section 6.1): lower case, without a slash at its end and
/// without its scheme's own port. Errors (invalid) name the fault: no http or https URL, a path, a
/// query, a name outside of ASCII (DNS and senders have its xn-- form), an address that cannot be
/// connected to.
core::Result<std::string> normalized_origin(std::string_view text);

/// An origin as `https://push.example.org`, kept as normalized_origin() has it; empty: none.
Setting origin_setting(std::string name, std::string& target, std::string help);

}  // namespace beckon::app
