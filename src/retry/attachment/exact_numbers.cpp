#include "retry/attachment/exact_numbers.hpp"

#include "core/ids.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

/// One that every reader writes as it stands.
bool is_plain_integer(std::string_view number) {
    constexpr std::size_t kDigits = 18;
    if (number == "-0") return false;
    if (number.starts_with('-')) number.remove_prefix(1);
    return number.size() <= kDigits && std::all_of(number.begin(), number.end(), is_decimal);
}

std::size_t end_of_string(std::string_view json, std::size_t at) {
    for (++at; at < json.size() && json[at] != '"'; ++at) {
        if (json[at] == '\\') ++at;
    }
    return std::min(at + 1, json.size());
}

}  // namespace

ExactNumbers::ExactNumbers() : tag_(core::to_hex(core::random_uuid4()) + " ") {}

std::string ExactNumbers::hidden(std::string_view json) const {
    std::string out;
    for (std::size_t at = 0; at < json.size();) {
        const auto begin = at;
        if (json[at] == '"') {
            at = end_of_string(json, at);
        } else if (json[at] == '-' || is_decimal(json[at])) {
            at = std::min(json.find_first_of(",]} \t\r\n", at), json.size());
            const auto number = json.substr(begin, at - begin);
            if (!is_plain_integer(number)) {
                out.append(1, '"').append(tag_).append(number).append(1, '"');
                continue;
            }
        } else {
            ++at;
        }
        out.append(json.substr(begin, at - begin));
    }
    return out;
}

std::string ExactNumbers::shown(std::string_view json) const {
    const auto opening = '"' + tag_;
    std::string out;
    for (std::size_t at = 0; at < json.size();) {
        const auto begin = json.find(opening, at);
        out.append(json.substr(at, begin - at));
        if (begin == std::string_view::npos) break;
        const auto number = begin + opening.size();
        const auto end = json.find('"', number);
        out.append(json.substr(number, end - number));
        at = end + 1;
    }
    return out;
}

}  // namespace beckon::retry
