#pragma once

#include "core/handle.hpp"
#include "core/result.hpp"

#include <optional>
#include <string>

#include <curl/curl.h>

namespace beckon::fetch {

/// An absolute URL as libcurl reads it. Every URL is taken apart here, so that the check of a URL
/// and the request to it agree about its host.
class Url {
public:
    /// `flags`: CURLU_… of curl_url_set(3); by default only schemes that libcurl can fetch.
    /// Errors: invalid, with the reason; a text with a byte of zero too.
    static core::Result<Url> parse(const std::string& text, unsigned flags = 0);

    /// nullopt: the URL has no such part. A host of IPv6 has its brackets. `flags`: CURLU_… of
    /// curl_url_get(3).
    std::optional<std::string> part(CURLUPart part, unsigned flags = 0) const;
    /// A null `text` removes the part. False: the text is not allowed there.
    bool set(CURLUPart part, const char* text);

    std::string scheme() const;  ///< lower case
    std::string host() const;    ///< of IPv6 with brackets
    /// `scheme://host[:port]`, the port as it was given.
    std::string origin() const;

private:
    using Parts = core::Handle<CURLU, curl_url_cleanup>;
    explicit Url(Parts parts) : parts_(std::move(parts)) {}
    Parts parts_;
};

}  // namespace beckon::fetch
