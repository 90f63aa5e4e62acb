#include "ingest/receipts/prefer.hpp"

#include <algorithm>
#include <charconv>

namespace beckon::ingest {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same(std::string_view text, std::string_view lower_case) {
    return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                      [](char a, char b) { return lower(a) == b; });
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::chrono::seconds> seconds_of(std::string_view text) {
    std::uint32_t number = 0;
    const auto* const end = text.data() + text.size();
    const auto [at, fault] = std::from_chars(text.data(), end, number);
    if (fault != std::errc{} || at != end) return std::nullopt;
    return std::chrono::seconds{number};
}

/// One preference, without its parameters.
void add(std::string_view one, Preferences& out) {
    one = one.substr(0, one.find(';'));
    const auto equals = one.find('=');
    const auto name = trimmed(one.substr(0, equals));
    if (same(name, "respond-async")) out.respond_async = true;
    if (equals == std::string_view::npos || !same(name, "wait")) return;
    if (!out.wait) out.wait = seconds_of(trimmed(one.substr(equals + 1)));
}

}  // namespace

std::optional<std::string_view> push_receipt(const HttpRequest& request) {
    for (const auto& [name, value] : request.extra) {
        if (same(name, "push-receipt")) return value;
    }
    return std::nullopt;
}

Preferences preferences(const HttpRequest& request) {
    Preferences out;
    for (const auto& [name, value] : request.extra) {
        if (!same(name, "prefer")) continue;
        for (auto rest = value; !rest.empty();) {
            const auto end = std::min(rest.find(','), rest.size());
            add(rest.substr(0, end), out);
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return out;
}

}  // namespace beckon::ingest
