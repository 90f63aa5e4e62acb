#include "retry/attempt/request_target.hpp"

#include "core/handle.hpp"

#include <algorithm>
#include <clocale>
#include <optional>
#include <string_view>

#include <curl/curl.h>
#include <locale.h>

namespace beckon::retry {

namespace {

using TargetUrl = core::Handle<CURLU, curl_url_cleanup>;

/// libcurl takes host names to be in the thread's character set, which is ASCII by default; URLs
/// here are UTF-8.
class Utf8Thread {
public:
    Utf8Thread() : utf8_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
        if (utf8_) before_ = ::uselocale(utf8_);
    }
    ~Utf8Thread() {
        if (!utf8_) return;
        ::uselocale(before_);
        ::freelocale(utf8_);
    }
    Utf8Thread(const Utf8Thread&) = delete;
    Utf8Thread& operator=(const Utf8Thread&) = delete;

private:
    locale_t utf8_;
    locale_t before_ = nullptr;
};

TargetUrl parse_target_url(const std::string& text) {
    TargetUrl url{curl_url()};
    if (url && curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
    return url;
}

std::optional<std::string> target_part(const TargetUrl& url, CURLUPart part, unsigned flags) {
    char* text = nullptr;
    if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return std::nullopt;
    std::string out{text};
    curl_free(text);
    return out;
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// The host's name, in its ASCII form.
std::optional<std::string> ascii_host(const TargetUrl& url) {
    auto host = target_part(url, CURLUPART_HOST, 0);
    if (!host || is_ascii(*host)) return host;
    const Utf8Thread utf8;
    return target_part(url, CURLUPART_HOST, CURLU_PUNYCODE);
}

}  // namespace

core::Result<RequestTarget> request_target(const std::string& text) {
    const auto url = parse_target_url(text);
    if (!url) return core::fail(core::Fault::invalid, "no URL");
    const auto host = ascii_host(url);
    const auto path = target_part(url, CURLUPART_PATH, CURLU_URLENCODE);
    if (!host || !path) return core::fail(core::Fault::invalid, "a host name without ASCII form");
    RequestTarget target{.host = *host, .path = *path};
    if (const auto port = target_part(url, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT)) {
        target.host.append(":").append(*port);
    }
    if (const auto query = target_part(url, CURLUPART_QUERY, 0)) {
        target.path.append("?").append(*query);
    }
    return target;
}

std::string with_ascii_host(const std::string& text) {
    if (is_ascii(text)) return text;
    const auto url = parse_target_url(text);
    const auto named = url ? target_part(url, CURLUPART_HOST, 0) : std::nullopt;
    if (!named || is_ascii(*named)) return text;
    const auto host = ascii_host(url);
    if (!host || curl_url_set(url.get(), CURLUPART_HOST, host->c_str(), 0) != CURLUE_OK) {
        return text;
    }
    return target_part(url, CURLUPART_URL, 0).value_or(text);
}

}  // namespace beckon::retry
