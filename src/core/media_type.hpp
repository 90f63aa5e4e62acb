#pragma once

#include <string>
#include <string_view>

namespace beckon::core {

/// A parsed Content-Type (RFC 9110 §8.3), in lower case. Pure; any thread.
struct MediaType {
    std::string type;     ///< `text/plain`; "" for an empty header
    std::string charset;  ///< `utf-8`; "" without that parameter

    /// `…/json` or `…+json`.
    bool is_json() const;
    /// True if its charset admits UTF-8: none, `utf-8`, `utf8` or `us-ascii`.
    bool is_utf8() const;
};

/// Parses a type leniently: it keeps the well-formed parts of a malformed header.
MediaType parse_media_type(std::string_view content_type);

}  // namespace beckon::core
