#include "ingest/receipts/prefer.hpp"

#include "core/ascii.hpp"

#include <algorithm>
#include <charconv>

namespace beckon::ingest {

namespace {

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
    const auto name = core::trimmed(one.substr(0, equals));
    if (core::equals_ignoring_case(name, "respond-async")) out.respond_async = true;
    if (equals == std::string_view::npos || !core::equals_ignoring_case(name, "wait")) return;
    if (!out.wait) out.wait = seconds_of(core::trimmed(one.substr(equals + 1)));
}

}  // namespace

std::optional<std::string_view> push_receipt(const HttpRequest& request) {
    for (const auto& [name, value] : request.extra) {
        if (core::equals_ignoring_case(name, "push-receipt")) return value;
    }
    return std::nullopt;
}

Preferences preferences(const HttpRequest& request) {
    Preferences out;
    for (const auto& [name, value] : request.extra) {
        if (!core::equals_ignoring_case(name, "prefer")) continue;
        for (auto rest = value; !rest.empty();) {
            const auto end = std::min(rest.find(','), rest.size());
            add(rest.substr(0, end), out);
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return out;
}

}  // namespace beckon::ingest
