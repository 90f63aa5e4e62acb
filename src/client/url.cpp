#include "client/url.hpp"

#include <algorithm>
#include <charconv>

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
    const std::string name = host.find(':') == std::string::npos ? host : '[' + host + ']';
    return port == default_port(scheme) ? name : name + ':' + std::to_string(port);
}

std::string Url::origin() const { return scheme + "://" + authority(); }

core::Result<Url> parse_url(std::string_view text) {
    const auto bad = [&](std::string_view why) {
        return core::fail(core::Fault::invalid,
                          "'" + std::string{text} + "' is not a URL we can use: " +
                              std::string{why} + "; like wss://push.example.net:8080/");
    };
    Url url;
    const auto colon = text.find("://");
    if (colon == std::string_view::npos) return bad("it has no scheme");
    url.scheme = std::string{text.substr(0, colon)};
    std::ranges::transform(url.scheme, url.scheme.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (url.scheme != "http" && url.scheme != "https" && url.scheme != "ws" &&
        url.scheme != "wss") {
        return bad("the scheme must be http, https, ws or wss");
    }
    const std::string_view rest = text.substr(colon + 3);
    if (!printable(rest)) return bad("it holds blanks or characters outside ASCII");
    const auto path = rest.find_first_of("/?#");
    std::string_view place = rest.substr(0, path);
    url.target = path == std::string_view::npos ? "/" : std::string{rest.substr(path)};
    if (url.target.find('#') != std::string::npos) return bad("it has a fragment");
    if (url.target.front() == '?') url.target.insert(0, "/");
    if (place.find('@') != std::string_view::npos) return bad("it has user info");

    if (place.starts_with('[')) {
        const auto end = place.find(']');
        if (end == std::string_view::npos) return bad("the bracket is not closed");
        url.host = std::string{place.substr(1, end - 1)};
        place.remove_prefix(end + 1);
    } else {
        const auto end = std::min(place.find(':'), place.size());
        url.host = std::string{place.substr(0, end)};
        place.remove_prefix(end);
    }
    if (url.host.empty()) return bad("the host is missing");
    url.port = default_port(url.scheme);
    if (!place.empty()) {
        const std::string_view digits = place.substr(1);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
        if (place.front() != ':' || error != std::errc{} || end != digits.data() + digits.size() ||
            url.port == 0) {
            return bad("the port must be a number from 1 to 65535");
        }
    }
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
