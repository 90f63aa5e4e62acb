#include "fetch/url.hpp"

#include <string_view>
#include <utility>

namespace beckon::fetch {

namespace {

const char* words_for(CURLUcode fault) {
    switch (fault) {
        case CURLUE_BAD_SCHEME: return "it has no scheme";
        case CURLUE_NO_HOST: return "the host is missing";
        case CURLUE_BAD_HOSTNAME: return "its host is no host name";
        case CURLUE_BAD_IPV6: return "its host is no IPv6 address in brackets";
        case CURLUE_BAD_PORT_NUMBER: return "the port must be a number from 1 to 65535";
        case CURLUE_USER_NOT_ALLOWED: return "it has user info";
        default: return curl_url_strerror(fault);
    }
}

/// libcurl takes `http:///path`, with `path` as the host, and the port 0, which nobody listens on.
CURLUcode check(const std::string& text, CURLU* parts) {
    constexpr std::string_view kAuthority = "://";
    const auto at = text.find(kAuthority);
    if (at != std::string::npos && text.substr(at + kAuthority.size(), 1) == "/") {
        return CURLUE_NO_HOST;
    }
    char* port = nullptr;
    if (curl_url_get(parts, CURLUPART_PORT, &port, 0) != CURLUE_OK) return CURLUE_OK;
    const bool zero = std::string_view{port} == "0";
    curl_free(port);
    return zero ? CURLUE_BAD_PORT_NUMBER : CURLUE_OK;
}

}  // namespace

core::Result<Url> Url::parse(const std::string& text, unsigned flags) {
    Parts parts{curl_url()};
    auto outcome = !parts ? CURLUE_OUT_OF_MEMORY
                   : text.find('\0') != std::string::npos
                       ? CURLUE_MALFORMED_INPUT
                       : curl_url_set(parts.get(), CURLUPART_URL, text.c_str(), flags);
    if (outcome == CURLUE_OK) outcome = check(text, parts.get());
    if (outcome != CURLUE_OK) {
        return core::fail(core::Fault::invalid, words_for(outcome));
    }
    return Url{std::move(parts)};
}

std::optional<std::string> Url::part(CURLUPart part, unsigned flags) const {
    char* text = nullptr;
    if (curl_url_get(parts_.get(), part, &text, flags) != CURLUE_OK) return std::nullopt;
    std::string out{text};
    curl_free(text);
    return out;
}

bool Url::set(CURLUPart part, const char* text) {
    return curl_url_set(parts_.get(), part, text, 0) == CURLUE_OK;
}

std::string Url::scheme() const { return part(CURLUPART_SCHEME).value_or(""); }
std::string Url::host() const { return part(CURLUPART_HOST).value_or(""); }

std::string Url::origin() const {
    auto out = scheme() + "://" + host();
    if (const auto port = part(CURLUPART_PORT)) out.append(":").append(*port);
    return out;
}

}  // namespace beckon::fetch
