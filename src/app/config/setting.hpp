#pragma once

#include "core/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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
    /// The faults of the value in force that only those see who use it: reported before a data
    /// directory and a key ring are made. Empty: it has none.
    std::function<std::vector<std::string>()> faults = {};
};

/// The items of a comma-separated list, without blanks around them; empty ones are left out.
std::vector<std::string> items_of(std::string_view list);

/// `edge.ping_interval` → `--edge-ping-interval` and `BECKON_EDGE_PING_INTERVAL`.
std::string flag_of(const Setting& setting);
std::string variable_of(const Setting& setting);

/// "5s", "300ms", "24h", "7d"; a bare number is refused, since it has no unit.
core::Result<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string duration_text(std::chrono::milliseconds value);
/// "64MiB", "512KiB", "5630" (bytes).
core::Result<std::size_t> parse_bytes(std::string_view text);
std::string bytes_text(std::size_t value);

/// The text form of values of one type.
template <class T>
struct Form {
    std::string allowed;  ///< as Setting::allowed
    std::function<core::Result<T>(std::string_view)> parse;
    std::function<std::string(const T&)> text;
    Setting::Kind kind = Setting::Kind::text;
    bool secret = false;  ///< as Setting::secret
};

struct Range {
    std::int64_t least;
    std::int64_t most;
};
Form<std::string> text_form(std::string allowed);
Form<std::string> choice_form(std::vector<std::string> choices);
/// Whole numbers.
Form<std::int64_t> number_form(Range range);
Form<std::chrono::milliseconds> duration_form(std::chrono::milliseconds least,
                                              std::chrono::milliseconds most);
Form<std::size_t> bytes_form(std::size_t least);
/// An origin as `https://push.example.org`, kept as normalized_origin() has it; empty: none.
Form<std::string> origin_form();

/// The form of a member whose type says it all: any text, a path, which only an optional one may
/// leave empty, true or false, a comma-separated list, and rising durations from 0s on.
Form<std::string> form_of(const std::string& member);
Form<std::string> form_of(const std::filesystem::path& member);
Form<std::string> form_of(const std::optional<std::filesystem::path>& member);
Form<bool> form_of(const bool& member);
Form<std::vector<std::string>> form_of(const std::vector<std::string>& member);
Form<std::vector<std::chrono::seconds>> form_of(const std::vector<std::chrono::seconds>& member);

/// A setting over a member of the config struct, which may be another number or duration than the
/// form has, or a path that is absent where the text is empty.
template <class T, class Member>
Setting setting(const std::string& name, Member& target, const Form<T>& form,
                const std::string& help) {
    return {.name = name,
            .help = help,
            .allowed = form.allowed,
            .secret = form.secret,
            .kind = form.kind,
            .set = [&target, parse = form.parse](std::string_view text) -> core::Result<void> {
                auto value = parse(text);
                if (!value) return core::fail(value.error());
                if constexpr (std::is_same_v<Member, std::optional<std::filesystem::path>>) {
                    target.reset();
                    if (!value->empty()) target = std::move(*value);
                } else if constexpr (requires { std::chrono::duration_cast<Member>(*value); }) {
                    target = std::chrono::duration_cast<Member>(*value);
                } else {
                    target = static_cast<Member>(std::move(*value));
                }
                return {};
            },
            .get =
                [&target, text = form.text] {
                    if constexpr (std::is_same_v<Member, std::optional<std::filesystem::path>>) {
                        return text(target.value_or(std::filesystem::path{}));
                    } else {
                        return text(static_cast<T>(target));
                    }
                }};
}

template <class Member>
Setting setting(const std::string& name, Member& target, const std::string& help) {
    return setting(name, target, form_of(target), help);
}

/// The setting with the faults of its text, or of each item of its list: `fault_of` is empty for a
/// good one.
Setting checked(Setting setting, std::function<std::string(const std::string&)> fault_of);

/// "; did you mean 'edge.port'?": the name among `known` that `unknown` most likely means; empty if
/// none is near.
std::string did_you_mean(std::string_view unknown, const std::vector<std::string>& known);
/// The one text of an origin (RFC 6454 section 6.1): lower case, without a slash at its end and
/// without its scheme's own port. Errors (invalid) name the fault: no http or https URL, a path, a
/// query, a name outside of ASCII (DNS and senders have its xn-- form), an address that cannot be
/// connected to.
core::Result<std::string> normalized_origin(std::string_view text);

}  // namespace beckon::app
