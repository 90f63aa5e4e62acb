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

}  // namespace

std::vector<std::string> items_of(std::string_view text) {
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

Form<std::int64_t> number_form(Range range) {
    const auto allowed = std::to_string(range.least) + " to " + std::to_string(range.most);
    return {.allowed = allowed,
            .parse = [range, allowed](std::string_view text) -> core::Result<std::int64_t> {
                const auto value = core::parse_decimal<std::int64_t>(text);
                if (value && *value >= range.least && *value <= range.most) return *value;
                return fail(Fault::invalid, "not a whole number from " + allowed);
            },
            .text = [](std::int64_t value) { return std::to_string(value); },
            .kind = Setting::Kind::number};
}

Form<milliseconds> duration_form(milliseconds least, milliseconds most) {
    const auto allowed = "a duration from " + duration_text(least) + " to " + duration_text(most) +
                         ", e.g. 500ms, 5s, 1h, 7d";
    return {.allowed = allowed,
            .parse = [=](std::string_view text) -> core::Result<milliseconds> {
                auto value = parse_duration(text);
                if (!value || (*value >= least && *value <= most)) return value;
                return fail(Fault::invalid, "not " + allowed);
            },
            .text = duration_text};
}

Form<std::string> text_form(std::string allowed) {
    return {.allowed = std::move(allowed),
            .parse = [](std::string_view text) { return core::Result<std::string>{text}; },
            .text = [](const std::string& value) { return value; }};
}

Form<std::string> choice_form(std::vector<std::string> choices) {
    const auto allowed = core::joined(choices, " | ");
    auto form = text_form(allowed);
    form.parse = [choices = std::move(choices),
                  allowed](std::string_view text) -> core::Result<std::string> {
        if (std::ranges::find(choices, text) != choices.end()) {
            return std::string{text};
        }
        return fail(Fault::invalid, "not one of " + allowed);
    };
    return form;
}

Form<std::size_t> bytes_form(std::size_t least) {
    return {.allowed = "bytes, at least " + bytes_text(least) + ", e.g. 5630, 64KiB, 32MiB",
            .parse = [least](std::string_view text) -> core::Result<std::size_t> {
                auto value = parse_bytes(text);
                if (!value || *value >= least) return value;
                return fail(Fault::invalid, "below " + bytes_text(least));
            },
            .text = bytes_text};
}

Form<std::string> form_of(const std::string& /*member*/) { return text_form("text"); }

Form<std::string> form_of(const std::filesystem::path& /*member*/) {
    auto form = text_form("a path");
    form.parse = [](std::string_view text) -> core::Result<std::string> {
        if (text.empty()) return fail(Fault::invalid, "must not be empty");
        return std::string{text};
    };
    return form;
}

Form<std::string> form_of(const std::optional<std::filesystem::path>& /*member*/) {
    return text_form("a path");
}

Form<bool> form_of(const bool& /*member*/) {
    return {.allowed = "true or false",
            .parse = [](std::string_view text) -> core::Result<bool> {
                if (text == "true" || text == "false") return text == "true";
                return fail(Fault::invalid, "neither true nor false");
            },
            .text = [](bool value) { return std::string{value ? "true" : "false"}; },
            .kind = Setting::Kind::boolean};
}

Form<std::vector<std::string>> form_of(const std::vector<std::string>& /*member*/) {
    return {.allowed = "a comma-separated list",
            .parse = [](std::string_view text) -> core::Result<std::vector<std::string>> {
                return items_of(text);
            },
            .text = [](const auto& items) { return core::joined(items, ","); },
            .kind = Setting::Kind::list};
}

Form<std::vector<std::chrono::seconds>> form_of(
    const std::vector<std::chrono::seconds>& /*member*/) {
    using List = std::vector<std::chrono::seconds>;
    return {.allowed = "comma-separated rising durations, the first 0s, at most 32",
            .parse = [](std::string_view text) -> core::Result<List> {
                List values;
                for (const auto& item : items_of(text)) {
                    const auto value = parse_duration(item);
                    if (!value) {
                        return fail(Fault::invalid, "'" + item + "' is " + value.error().message);
                    }
                    values.push_back(std::chrono::duration_cast<std::chrono::seconds>(*value));
                }
                const bool rising =
                    std::ranges::adjacent_find(values, std::greater_equal<>{}) == values.end();
                if (values.empty() || values.size() > 32 || values[0].count() != 0 || !rising) {
                    return fail(Fault::invalid, "must be rising, begin with 0s and be at most 32");
                }
                return values;
            },
            .text = [](const List& values) { return core::joined(values, ",", duration_text); },
            .kind = Setting::Kind::list};
}

Setting checked(Setting setting, std::function<std::string(const std::string&)> fault_of) {
    const bool is_list = setting.kind == Setting::Kind::list;
    setting.faults = [get = setting.get, is_list, fault_of = std::move(fault_of)] {
        std::vector<std::string> faults;
        for (const auto& item : is_list ? items_of(get()) : std::vector{get()}) {
            if (auto fault = fault_of(item); !fault.empty()) faults.push_back(std::move(fault));
        }
        return faults;
    };
    return setting;
}

std::string did_you_mean(std::string_view unknown, const std::vector<std::string>& known) {
    std::string best;
    std::size_t least = std::max<std::size_t>(3, unknown.size() / 2);
    for (const auto& candidate : known) {
        const auto distance = edit_distance(unknown, candidate);
        if (distance < least) {
            least = distance;
            best = candidate;
        }
    }
    return best.empty() ? best : "; did you mean '" + best + "'?";
}

namespace {

tl::unexpected<core::Error> no_origin(std::string_view why) {
    return core::fail(core::Fault::invalid,
                      "not an origin such as https://push.example.org: " + std::string{why});
}

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
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

Form<std::string> origin_form() {
    auto form = text_form("scheme://host[:port] without a path");
    form.parse = [](std::string_view text) {
        return text.empty() ? core::Result<std::string>{} : normalized_origin(text);
    };
    return form;
}

}  // namespace beckon::app
