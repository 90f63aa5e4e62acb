#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

/// Texts of protocols: their letters are ASCII in every locale. Pure functions, any thread.
namespace beckon::core {

/// Blanks of HTTP (RFC 9110 §5.6.3, OWS).
inline constexpr std::string_view kBlanks = " \t";

/// Without the blanks around it.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = kBlanks) {
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// "a, b, c": the texts that `text_of` makes of the items, with the separator between them.
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, std::string_view separator, TextOf text_of = {}) {
    std::string out;
    for (const auto& item : items) {
        if (&item != &*std::begin(items)) out += separator;
        out += text_of(item);
    }
    return out;
}

inline std::string lower(std::string_view text) {
    std::string out{text};
    std::transform(out.begin(), out.end(), out.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return out;
}

/// Names of headers, schemes, parameters and codings have no case.
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
    const auto small = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                              [&](char x, char y) { return small(x) == small(y); });
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower_letter(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_lower_letter(c) || (c >= 'A' && c <= 'Z'); }

/// True if all characters are letters, digits or of `others`.
constexpr bool is_alphanumeric(std::string_view text, std::string_view others = {}) {
    return std::all_of(text.begin(), text.end(), [others](char c) {
        return is_letter(c) || is_digit(c) || others.find(c) != std::string_view::npos;
    });
}
/// The same without capitals.
constexpr bool is_lower_alphanumeric(std::string_view text, std::string_view others = {}) {
    return std::all_of(text.begin(), text.end(), [others](char c) {
        return is_lower_letter(c) || is_digit(c) || others.find(c) != std::string_view::npos;
    });
}

/// RFC 9110 §5.6.2: the names of headers and of parameters.
constexpr bool is_http_token(std::string_view text) {
    return !text.empty() && is_alphanumeric(text, "!#$%&'*+-.^_`|~");
}

/// `Authorization`, taken apart at its first blank (RFC 9110 §11.4): views into it.
struct Authorization {
    std::string_view scheme;
    std::string_view rest;  ///< without blanks around it

    /// Schemes have no case. `lower_case`: as "bearer".
    bool is(std::string_view lower_case) const { return equals_ignoring_case(scheme, lower_case); }
};
/// nullopt: there is no blank in it, so the scheme or its parameters are missing.
inline std::optional<Authorization> split_authorization(std::string_view header) {
    const auto blank = header.find_first_of(kBlanks);
    if (blank == std::string_view::npos) return std::nullopt;
    return Authorization{header.substr(0, blank), trimmed(header.substr(blank))};
}
/// The token of `Authorization: Bearer <token>` (RFC 6750 §2.1); nullopt: it is of another form.
inline std::optional<std::string_view> bearer_token(std::string_view header) {
    const auto parts = split_authorization(header);
    if (!parts || !parts->is("bearer")) return std::nullopt;
    return parts->rest;
}

}  // namespace beckon::core
