#include "app/config/origin_setting.hpp"

#include "client/url.hpp"
#include "core/ascii.hpp"
#include "core/authority.hpp"

#include <algorithm>

namespace beckon::app {

namespace {

tl::unexpected<core::Error> no_origin(std::string_view why) {
    return core::fail(core::Fault::invalid,
                      "not an origin such as https://push.example.org: " + std::string{why});
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Letters, digits, hyphens (and the underscore that names within a cluster have), in labels of 1
/// to 63 (RFC 1035 section 2.3.1), or an IPv6 address.
bool is_host(std::string_view host) {
    constexpr std::string_view kLabel = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    if (host.find(':') != std::string_view::npos) {
        return host.find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
    }
    if (host.ends_with('.')) host.remove_suffix(1);
    for (;;) {
        const auto label = host.substr(0, host.find('.'));
        if (label.empty() || label.size() > 63 ||
            label.find_first_not_of(kLabel) != std::string_view::npos) {
            return false;
        }
        if (label.size() == host.size()) return true;
        host.remove_prefix(label.size() + 1);
    }
}

}  // namespace

core::Result<std::string> normalized_origin(std::string_view text) {
    if (!is_ascii(text)) {
        return no_origin(
            "it has letters outside of ASCII: give the name as DNS has it (xn--…, its \"punycode\" "
            "or A-label form), since senders get it within endpoint URLs");
    }
    auto url = client::parse_url(core::lower(text));
    if (!url) return no_origin(url.error().message);
    if (!url->scheme.starts_with("http")) return no_origin("it begins with http:// or https://");
    if (url->target != "/") return no_origin("it has no path and no query");
    if (!is_host(url->host)) return no_origin("'" + url->host + "' is no host name");
    if (core::is_any_address(url->host)) {
        return core::fail(core::Fault::invalid,
                          "is an address to listen on, not one to connect to");
    }
    return url->origin();
}

Setting origin_setting(std::string name, std::string& target, std::string help) {
    auto setting = text_setting(std::move(name), target, std::move(help),
                                "scheme://host[:port] without a path");
    setting.set = [&target](std::string_view text) -> core::Result<void> {
        if (text.empty()) {
            target.clear();
            return {};
        }
        auto origin = normalized_origin(text);
        if (!origin) return core::fail(origin.error());
        target = std::move(*origin);
        return {};
    };
    return setting;
}

}  // namespace beckon::app
