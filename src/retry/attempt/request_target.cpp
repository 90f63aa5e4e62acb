#include "retry/attempt/request_target.hpp"

#include "core/ascii.hpp"
#include "core/percent.hpp"
#include "fetch/url.hpp"

#include <algorithm>
#include <clocale>
#include <optional>
#include <string_view>

#include <locale.h>

namespace beckon::retry {

namespace {

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// The host's name, in its ASCII form.
std::optional<std::string> ascii_host(const fetch::Url& url) {
    auto host = url.part(CURLUPART_HOST);
    if (!host || is_ascii(*host)) return host;
    // libcurl takes host names to be in the thread's character set, which is ASCII by default;
    // URLs here are UTF-8.
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    const locale_t before = ::uselocale(utf8);
    host = url.part(CURLUPART_HOST, CURLU_PUNYCODE);
    ::uselocale(before);
    return host;
}

}  // namespace

core::Result<RequestTarget> request_target(const std::string& text) {
    const auto url = fetch::Url::parse(text);
    if (!url) return core::fail(url.error());
    const auto host = ascii_host(*url);
    const auto path = url->part(CURLUPART_PATH);
    if (!host || !path) return core::fail(core::Fault::invalid, "a host name without ASCII form");
    RequestTarget target{.host = *host, .path = core::percent_completed(*path)};
    if (const auto port = url->part(CURLUPART_PORT, CURLU_NO_DEFAULT_PORT)) {
        target.host.append(":").append(*port);
    }
    if (const auto query = url->part(CURLUPART_QUERY)) {
        target.path.append("?").append(core::percent_completed(*query));
    }
    return target;
}

std::string in_ascii(const std::string& text) {
    constexpr std::string_view kAsItIs = "-._~!$&'()*+,;=:@/?";  // and letters and digits
    if (core::is_alphanumeric(text, kAsItIs)) return text;
    const auto url = fetch::Url::parse(text);
    const auto target = request_target(text);
    if (!target || url->part(CURLUPART_USER) || url->part(CURLUPART_ZONEID)) return text;
    return url->scheme() + "://" + target->host + target->path;
}

}  // namespace beckon::retry
