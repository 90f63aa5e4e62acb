#include "retry/attempt/content_length.hpp"

#include "core/ascii.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), core::is_digit);
}

}  // namespace

bool ContentLength::take(std::string_view line) {
    if (line.starts_with("HTTP/")) {
        value_.clear();
        return true;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos ||
        !core::equals_ignoring_case(line.substr(0, colon), "content-length")) {
        return true;
    }
    // A list of equal values is one that a proxy has made of several headers.
    for (auto rest = line.substr(colon + 1);;) {
        const auto comma = rest.find(',');
        const auto value = core::trimmed(rest.substr(0, comma), kBlanks);
        if (!is_number(value) || (!value_.empty() && value != value_)) return false;
        value_ = value;
        if (comma == std::string_view::npos) return true;
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace beckon::retry
