#pragma once

#include <string>
#include <string_view>

namespace beckon::core {

/// What a Content-Type says (RFC 9110 §8.3), in lower case. Pure; any thread.
struct MediaType {
    std::string type;     ///< `text/plain`; "" for an empty header
    std::string charset;  ///< `utf-8`; "" without that parameter

    /// `…/json` or `…+json`.
    bool is_json() const;
    /// Whether its text is UTF-8 as far as it says: no charset, `utf-8` or `us-ascii`.
    bool is_utf8() const;
};

/// Takes a type apart; of what is not well-formed it takes what it can read.
MediaType parse_media_type(std::string_view content_type);

}  // namespace beckon::core
