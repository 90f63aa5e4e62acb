#include "client/url.hpp"

#include "core/authority.hpp"
#include "fetch/url.hpp"

#include <algorithm>

namespace beckon::client {

namespace {

std::uint16_t default_port(std::string_view scheme) {
    return scheme == "https" || scheme == "wss" ? 443 : 80;
}

bool printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

std::string Url::authority() const {
    const auto name = core::with_brackets(host);
    return port == default_port(scheme) ? name : name + ':' + std::to_string(port);
}

std::string Url::origin() const { return scheme + "://" + authority(); }

core::Result<Url> parse_url(std::string_view text) {
    const auto bad = [&](std::string_view why) {
        return core::fail(core::Fault::invalid,
                          "'" + std::string{text} + "' is not a URL we can use: " +
                              std::string{why} + "; like wss://push.example.net:8080/");
    };
    if (!printable(text)) return bad("it holds blanks or characters outside ASCII");
    if (text.find('#') != std::string_view::npos) return bad("it has a fragment");
    const auto parts = fetch::Url::parse(
        std::string{text}, CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS | CURLU_DISALLOW_USER);
    if (!parts) return bad(parts.error().message);
    Url url{.scheme = parts->scheme(), .host = parts->host(), .target = {}};
    if (url.scheme != "http" && url.scheme != "https" && url.scheme != "ws" &&
        url.scheme != "wss") {
        return bad("the scheme must be http, https, ws or wss");
    }
    url.host = std::string{core::without_brackets(url.host)};
    const auto port = parts->part(CURLUPART_PORT);
    url.port = port ? static_cast<std::uint16_t>(std::stoi(*port)) : default_port(url.scheme);
    if (url.port == 0) return bad("the port must be a number from 1 to 65535");
    url.target = parts->part(CURLUPART_PATH).value_or("/");
    if (const auto query = parts->part(CURLUPART_QUERY)) url.target.append("?").append(*query);
    return url;
}

core::Result<Url> parse_ws_url(const std::string& text) {
    auto url = parse_url(text);
    if (url && !url->scheme.starts_with("ws")) {
        return core::fail(core::Fault::invalid, "'" + text + "' must begin with ws:// or wss://");
    }
    return url;
}

}  // namespace beckon::client
