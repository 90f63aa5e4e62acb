#include "cli/config/origin_setting.hpp"

#include <array>
#include <utility>

namespace beckon::cli {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDefaultPorts{
    {{"https://", ":443"}, {"http://", ":80"}}};

bool is_origin(std::string_view url) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (url.starts_with(scheme)) {
            const auto rest = url.substr(scheme.size());
            return !rest.empty() && rest.find_first_of("/?# ") == std::string_view::npos;
        }
    }
    return false;
}

/// The host of an origin, without brackets and port.
std::string_view host_of(std::string_view origin) {
    origin.remove_prefix(origin.find("://") + 3);
    if (origin.starts_with('[')) return origin.substr(1, origin.find(']') - 1);
    return origin.substr(0, origin.find(':'));
}

}  // namespace

bool is_any_address(std::string_view host) { return host == "0.0.0.0" || host == "::"; }

Setting origin_setting(std::string name, std::string& target, std::string help) {
    auto setting = text_setting(std::move(name), target, std::move(help),
                                "scheme://host[:port] without a path");
    setting.set = [&target](std::string_view text) -> core::Result<void> {
        if (text.ends_with('/')) text.remove_suffix(1);
        if (!text.empty() && !is_origin(text)) {
            return core::fail(core::Fault::invalid,
                              "not an origin such as https://push.example.org (no path)");
        }
        if (!text.empty() && is_any_address(host_of(text))) {
            return core::fail(core::Fault::invalid,
                              "is an address to listen on, not one that anybody can connect to");
        }
        for (const auto& [scheme, port] : kDefaultPorts) {  // an origin does not name its own
            if (text.starts_with(scheme) && text.ends_with(port)) text.remove_suffix(port.size());
        }
        target = text;
        return {};
    };
    return setting;
}

}  // namespace beckon::cli
