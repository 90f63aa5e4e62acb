#pragma once

#include "core/result.hpp"

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

/// Headers that an owner has sent with the requests to its webhook
/// (docs/webhooks.md#headers-of-your-own). Pure.
namespace beckon::retry {

inline constexpr std::size_t kOwnHeadersMax = 16;
inline constexpr std::size_t kHeaderNameBytesMax = 64;
inline constexpr std::size_t kHeaderValueBytesMax = 1'024;
inline constexpr std::size_t kOwnHeaderBytesMax = 4'096;  ///< of all names and values

using OwnHeaders = std::map<std::string, std::string>;

/// The value of a webhook's `headers`. Errors: invalid; the message begins with the JSON path.
core::Result<OwnHeaders> parse_own_headers(const nlohmann::json& value);

/// Whether one of them has this name, in any case.
bool has_own_header(const OwnHeaders& headers, std::string_view name);

/// A URL without user name and password, and the header that these become.
struct PlainUrl {
    std::string url;
    std::string authorization;  ///< `Basic …` (RFC 7617); empty: the URL had neither
};
/// `url` is one that libcurl takes. Errors: invalid.
core::Result<PlainUrl> without_user(const std::string& url);

/// With this one in place of any of the same name. Errors: invalid (there would be too many).
core::Result<OwnHeaders> with_own_header(OwnHeaders headers, std::string_view name,
                                         std::string value);

}  // namespace beckon::retry
