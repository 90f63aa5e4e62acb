#include "retry/api/own_headers.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "fetch/url.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

namespace {

/// Headers that Beckon and the connection set themselves: the target, the signed ones, and
/// hop-by-hop fields (RFC 9110 §7.6.1).
constexpr std::array<std::string_view, 11> kReserved{
    "connection", "date",    "digest",  "expect",           "host", "http2-settings", "keep-alive",
    "te",         "trailer", "upgrade", "transfer-encoding"};
/// `content-` describes the body, which is Beckon's (RFC 9110 §8.3 to §8.6, §14.4).
constexpr std::array<std::string_view, 5> kReservedBeginnings{"webhook-", "beckon-", "ce-",
                                                              "proxy-", "content-"};

tl::unexpected<core::Error> bad_header(std::string why) {
    return core::fail(core::Fault::invalid, std::move(why));
}

bool is_reserved(std::string_view name) {
    const auto lower = core::lower(name);
    return std::find(kReserved.begin(), kReserved.end(), lower) != kReserved.end() ||
           std::any_of(kReservedBeginnings.begin(), kReservedBeginnings.end(),
                       [&](std::string_view beginning) { return lower.starts_with(beginning); });
}

bool is_value(std::string_view value) {
    return !value.empty() && value.size() <= kHeaderValueBytesMax && value.front() != ' ' &&
           value.back() != ' ' &&
           std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// Without its percent-encoding; empty if the URL has no such part. nullopt: it has a control
/// character, which libcurl or RFC 7617 §2 refuses.
std::optional<std::string> decoded_part(const fetch::Url& url, CURLUPart part) {
    if (!url.part(part)) return "";
    auto text = url.part(part, CURLU_URLDECODE);
    if (!text || text->find('\x7f') != std::string::npos) return std::nullopt;
    return text;
}

core::Result<void> check_sum(const OwnHeaders& headers) {
    std::size_t bytes = 0;
    for (const auto& [name, value] : headers) bytes += name.size() + value.size();
    if (headers.size() <= kOwnHeadersMax && bytes <= kOwnHeaderBytesMax) return {};
    return bad_header("$.headers may be 16, with 4096 bytes of names and values together");
}

}  // namespace

core::Result<OwnHeaders> parse_own_headers(const nlohmann::json& value) {
    if (!value.is_object()) return bad_header("$.headers must be an object of names and texts");
    OwnHeaders headers;
    for (const auto& [name, text] : value.items()) {
        if (name.size() > kHeaderNameBytesMax || !core::is_http_token(name)) {
            return bad_header(
                "a name in $.headers must have 1 to 64 letters, digits and symbols of a header's "
                "name");
        }
        const auto path = "$.headers." + name;
        if (is_reserved(name)) {
            return bad_header(
                path +
                " is set by Beckon or by the connection: it cannot be a header of one's own, and "
                "nor can one that begins with webhook-, beckon-, ce-, proxy- or content-");
        }
        if (has_own_header(headers, name)) return bad_header(path + " stands twice");
        if (!text.is_string()) return bad_header(path + " must be a string");
        auto content = text.get<std::string>();
        if (!is_value(content)) {
            return bad_header(path +
                              " must have 1 to 1024 printable ASCII characters without blanks "
                              "around them");
        }
        headers.emplace(name, std::move(content));
    }
    if (auto checked = check_sum(headers); !checked) return core::fail(checked.error());
    return headers;
}

bool has_own_header(const OwnHeaders& headers, std::string_view name) {
    const auto lower = core::lower(name);
    return std::any_of(headers.begin(), headers.end(),
                       [&](const auto& one) { return core::lower(one.first) == lower; });
}

core::Result<OwnHeaders> with_own_header(OwnHeaders headers, std::string_view name,
                                         std::string value) {
    const auto lower = core::lower(name);
    std::erase_if(headers, [&](const auto& one) { return core::lower(one.first) == lower; });
    headers.emplace(name, std::move(value));
    if (auto checked = check_sum(headers); !checked) return core::fail(checked.error());
    return headers;
}

core::Result<PlainUrl> without_user(const std::string& text) {
    auto url = fetch::Url::parse(text, CURLU_PATH_AS_IS);
    if (!url) return bad_header("$.url is no URL: " + url.error().message);
    if (!url->part(CURLUPART_USER) && !url->part(CURLUPART_PASSWORD)) return PlainUrl{text, ""};
    const auto user = decoded_part(*url, CURLUPART_USER);
    const auto password = decoded_part(*url, CURLUPART_PASSWORD);
    if (!user || !password) {
        return bad_header(
            "$.url may have a user name and a password without control characters (RFC 7617)");
    }
    if (user->find(':') != std::string::npos ||
        user->size() + 1 + password->size() > kHeaderValueBytesMax / 2) {
        return bad_header(
            "$.url may have a user name without a colon and a password, 512 bytes together");
    }
    url->set(CURLUPART_USER, nullptr);
    url->set(CURLUPART_PASSWORD, nullptr);
    const bool empty = user->empty() && password->empty();
    return PlainUrl{url->part(CURLUPART_URL).value_or(text),
                    empty ? "" : "Basic " + core::base64(*user + ":" + *password)};
}

}  // namespace beckon::retry
