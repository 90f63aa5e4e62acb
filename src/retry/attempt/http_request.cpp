#include "retry/attempt/http_request.hpp"

#include "core/ascii.hpp"
#include "core/decimal.hpp"

#include <algorithm>
#include <ctime>

#include <curl/curl.h>

namespace beckon::retry {

using std::chrono::duration_cast;
using std::chrono::seconds;

namespace {

constexpr seconds kRetryAfterMax = std::chrono::hours{24 * 7};

}  // namespace

bool has_control_character(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

std::string_view unsendable(const HttpRequest& request) {
    if (has_control_character(request.url)) return "the URL has a control character";
    if (has_control_character(request.target) || request.target.find(' ') != std::string::npos) {
        return "the request target has a blank or a control character";
    }
    for (const auto& header : request.headers) {
        if (has_control_character(header)) return "a header has a control character";
        const auto colon = header.find(':');
        if (colon == std::string::npos ||
            !core::is_http_token(std::string_view{header}.substr(0, colon))) {
            return "a header has no name";
        }
    }
    return {};
}

std::optional<seconds> parse_retry_after(std::string_view value, core::Timestamp now) {
    const auto text = core::trimmed(value);
    if (text.empty()) return std::nullopt;
    if (std::all_of(text.begin(), text.end(), core::is_digit)) {
        const auto count = core::parse_decimal<std::int64_t>(text);
        return std::min(count ? seconds{*count} : kRetryAfterMax, kRetryAfterMax);
    }
    const std::time_t date = curl_getdate(std::string{text}.c_str(), nullptr);
    if (core::is_digit(text.front()) || date < 0) return std::nullopt;
    const auto wait = seconds{date} - duration_cast<seconds>(now.time_since_epoch());
    return std::clamp<seconds>(wait, seconds{0}, kRetryAfterMax);
}

}  // namespace beckon::retry
