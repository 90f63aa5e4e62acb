#include "app/config/setting.hpp"

#include "client/url.hpp"
#include "core/ascii.hpp"
#include "core/authority.hpp"
#include "core/decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace beckon::app {

using core::fail;
using core::Fault;
using std::chrono::milliseconds;

namespace {

std::string joined(const std::vector<std::string>& items, std::string_view separator) {
    std::string out;
    for (const auto& item : items) {
        if (!out.empty()) out += separator;
        out += item;
    }
    return out;
}

std::string translated(std::string_view name, char separator, bool upper) {
    std::string out;
    for (const char c : name) {
        if (c == '.' || c == '_') {
            out.push_back(separator);
        } else {
            out.push_back(upper ? static_cast<char>(std::toupper(c)) : c);
        }
    }
    return out;
}

struct Unit {
    std::string_view name;
    std::int64_t factor;
};

/// Splits "12ms" into 12 and the factor of "ms".
template <std::size_t N>
std::optional<std::int64_t> scaled(std::string_view text, const std::array<Unit, N>& units) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0) return std::nullopt;
    const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    for (const auto& candidate : units) {
        std::int64_t value = 0;
        if (candidate.name != unit) continue;
        if (__builtin_mul_overflow(number, candidate.factor, &value)) return std::nullopt;
        return value;
    }
    return std::nullopt;
}

constexpr std::array<Unit, 5> kDurations = {
    Unit{"ms", 1}, {"s", 1'000}, {"min", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
constexpr std::array<Unit, 4> kBytes = {
    Unit{"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};

/// The largest unit that divides the value.
template <std::size_t N>
std::string unit_text(std::int64_t value, const std::array<Unit, N>& units) {
    for (std::size_t i = N; i-- > 0;) {
        if (value != 0 && value % units[i].factor == 0) {
            return std::to_string(value / units[i].factor) + std::string{units[i].name};
        }
    }
    return std::to_string(value) + std::string{units[0].name};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = above;
        }
    }
    return row[b.size()];
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto item = core::trimmed(text.substr(0, comma));
        if (!item.empty()) out.emplace_back(item);
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
    }
    return out;
}

core::Result<std::int64_t> parse_number(std::string_view text, Range range) {
    const auto value = core::parse_decimal<std::int64_t>(text);
    if (!value || *value < range.least || *value > range.most) {
        return fail(Fault::invalid, "not a whole number from " + std::to_string(range.least) +
                                        " to " + std::to_string(range.most));
    }
    return *value;
}

}  // namespace

std::string flag_of(const Setting& setting) { return "--" + translated(setting.name, '-', false); }

std::string variable_of(const Setting& setting) {
    return "BECKON_" + translated(setting.name, '_', true);
}

core::Result<milliseconds> parse_duration(std::string_view text) {
    if (const auto value = scaled(text, kDurations)) return milliseconds{*value};
    return fail(Fault::invalid, "not a duration with a unit (ms, s, min, h, d), e.g. 5s");
}

std::string duration_text(milliseconds value) { return unit_text(value.count(), kDurations); }

core::Result<std::size_t> parse_bytes(std::string_view text) {
    if (const auto value = scaled(text, kBytes)) return static_cast<std::size_t>(*value);
    return fail(Fault::invalid, "not a number of bytes, e.g. 5630, 64KiB, 32MiB, 1GiB");
}

std::string bytes_text(std::size_t value) {
    return unit_text(static_cast<std::int64_t>(value), kBytes);
}

Setting number_setting(std::string name, Range range, std::function<void(std::int64_t)> set,
                       std::function<std::int64_t()> get, std::string help) {
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = std::to_string(range.least) + " to " + std::to_string(range.most),
            .kind = Setting::Kind::number,
            .set = [range, set = std::move(set)](std::string_view text) -> core::Result<void> {
                const auto value = parse_number(text, range);
                if (!value) return fail(value.error());
                set(*value);
                return {};
            },
            .get = [get = std::move(get)] { return std::to_string(get()); }};
}

Setting duration_setting(std::string name, milliseconds least, milliseconds most,
                         std::function<void(milliseconds)> set, std::function<milliseconds()> get,
                         std::string help) {
    const auto allowed = "a duration from " + duration_text(least) + " to " + duration_text(most) +
                         ", e.g. 500ms, 5s, 1h, 7d";
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = allowed,
            .set = [=, set = std::move(set)](std::string_view text) -> core::Result<void> {
                const auto value = parse_duration(text);
                if (!value) return fail(value.error());
                if (*value < least || *value > most) return fail(Fault::invalid, "not " + allowed);
                set(*value);
                return {};
            },
            .get = [get = std::move(get)] { return duration_text(get()); }};
}

Setting text_setting(std::string name, std::string& target, std::string help, std::string allowed) {
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = std::move(allowed),
            .set = [&target](std::string_view text) -> core::Result<void> {
                target = text;
                return {};
            },
            .get = [&target] { return target; }};
}

Setting path_setting(std::string name, std::filesystem::path& target, std::string help) {
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = "a path",
            .set = [&target](std::string_view text) -> core::Result<void> {
                if (text.empty()) return fail(Fault::invalid, "must not be empty");
                target = text;
                return {};
            },
            .get = [&target] { return target.string(); }};
}

Setting optional_path_setting(std::string name, std::optional<std::filesystem::path>& target,
                              std::string help) {
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = "a path",
            .set = [&target](std::string_view text) -> core::Result<void> {
                target.reset();
                if (!text.empty()) target = text;
                return {};
            },
            .get = [&target] { return target ? target->string() : std::string{}; }};
}

Setting bool_setting(std::string name, bool& target, std::string help) {
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = "true or false",
            .kind = Setting::Kind::boolean,
            .set = [&target](std::string_view text) -> core::Result<void> {
                if (text != "true" && text != "false") {
                    return fail(Fault::invalid, "neither true nor false");
                }
                target = text == "true";
                return {};
            },
            .get = [&target] { return std::string{target ? "true" : "false"}; }};
}

Setting choice_setting(std::string name, std::string& target, std::vector<std::string> choices,
                       std::string help) {
    const auto allowed = joined(choices, " | ");
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = allowed,
            .set = [&target, choices = std::move(choices),
                    allowed](std::string_view text) -> core::Result<void> {
                if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
                    return fail(Fault::invalid, "not one of " + allowed);
                }
                target = text;
                return {};
            },
            .get = [&target] { return target; }};
}

Setting list_setting(std::string name, std::vector<std::string>& target, std::string help) {
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = "a comma-separated list",
            .kind = Setting::Kind::list,
            .set = [&target](std::string_view text) -> core::Result<void> {
                target = split(text);
                return {};
            },
            .get = [&target] { return joined(target, ","); }};
}

Setting bytes_setting(std::string name, std::size_t& target, std::size_t least, std::string help) {
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = "bytes, at least " + bytes_text(least) + ", e.g. 5630, 64KiB, 32MiB",
            .set = [&target, least](std::string_view text) -> core::Result<void> {
                const auto value = parse_bytes(text);
                if (!value) return fail(value.error());
                if (*value < least) return fail(Fault::invalid, "below " + bytes_text(least));
                target = *value;
                return {};
            },
            .get = [&target] { return bytes_text(target); }};
}

Setting durations_setting(std::string name, std::vector<std::chrono::seconds>& target,
                          std::string help) {
    return {.name = std::move(name),
            .help = std::move(help),
            .allowed = "comma-separated rising durations, the first 0s, at most 32",
            .kind = Setting::Kind::list,
            .set = [&target](std::string_view text) -> core::Result<void> {
                std::vector<std::chrono::seconds> values;
                for (const auto& item : split(text)) {
                    const auto value = parse_duration(item);
                    if (!value)
                        return fail(Fault::invalid, "'" + item + "' is " + value.error().message);
                    values.push_back(std::chrono::duration_cast<std::chrono::seconds>(*value));
                }
                const bool rising = std::adjacent_find(values.begin(), values.end(),
                                                       std::greater_equal<>{}) == values.end();
                if (values.empty() || values.size() > 32 || values[0].count() != 0 || !rising) {
                    return fail(Fault::invalid, "must be rising, begin with 0s and be at most 32");
                }
                target = std::move(values);
                return {};
            },
            .get =
                [&target] {
                    std::vector<std::string> items;
                    items.reserve(target.size());
                    for (const auto value : target) items.push_back(duration_text(value));
                    return joined(items, ",");
                }};
}

std::optional<std::string> nearest(std::string_view unknown,
                                   const std::vector<std::string>& known) {
    std::optional<std::string> best;
    std::size_t least = std::max<std::size_t>(3, unknown.size() / 2);
    for (const auto& candidate : known) {
        const auto distance = edit_distance(unknown, candidate);
        if (distance < least) {
            least = distance;
            best = candidate;
        }
    }
    return best;
}

namespace {

tl::unexpected<core::Error> no_origin(std::string_view why) {
    return core::fail(core::Fault::invalid,
                      "not an origin such as https://push.example.org: " + std::string{why});
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Letters, digits, hyphens (and the underscore that names within a cluster have), in labels of 1
/// to 63 (RFC 1035 section 2.3.1), or an IPv6 address.
bool is_host(std::string_view host) {
    constexpr std::string_view kLabel = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    if (host.find(':') != std::string_view::npos) {
        return host.find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
    }
    if (host.ends_with('.')) host.remove_suffix(1);
    for (;;) {
        const auto label = host.substr(0, host.find('.'));
        if (label.empty() || label.size() > 63 ||
            label.find_first_not_of(kLabel) != std::string_view::npos) {
            return false;
        }
        if (label.size() == host.size()) return true;
        host.remove_prefix(label.size() + 1);
    }
}

}  // namespace

core::Result<std::string> normalized_origin(std::string_view text) {
    if (!is_ascii(text)) {
        return no_origin(
            "it has letters outside of ASCII: give the name as DNS has it (xn--…, its \"punycode\" "
            "or A-label form), since senders get it within endpoint URLs");
    }
    auto url = client::parse_url(core::lower(text));
    if (!url) return no_origin(url.error().message);
    if (!url->scheme.starts_with("http")) return no_origin("it begins with http:// or https://");
    if (url->target != "/") return no_origin("it has no path and no query");
    if (!is_host(url->host)) return no_origin("'" + url->host + "' is no host name");
    if (core::is_any_address(url->host)) {
        return core::fail(core::Fault::invalid,
                          "is an address to listen on, not one to connect to");
    }
    return url->origin();
}

Setting origin_setting(std::string name, std::string& target, std::string help) {
    auto setting = text_setting(std::move(name), target, std::move(help),
                                "scheme://host[:port] without a path");
    setting.set = [&target](std::string_view text) -> core::Result<void> {
        if (text.empty()) {
            target.clear();
            return {};
        }
        auto origin = normalized_origin(text);
        if (!origin) return core::fail(origin.error());
        target = std::move(*origin);
        return {};
    };
    return setting;
}

}  // namespace beckon::app
