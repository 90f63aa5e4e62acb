#include "core/authority.hpp"

#include "core/decimal.hpp"

#include <algorithm>

namespace beckon::core {

std::optional<Authority> split_authority(std::string_view text) {
    std::size_t end = 0;
    if (text.starts_with('[')) {
        end = text.find(']');
        if (end == text.npos || end == 1) return std::nullopt;
        ++end;
    } else if (std::count(text.begin(), text.end(), ':') == 1) {
        end = text.find(':');
    } else {
        end = text.size();
    }
    if (end == 0) return std::nullopt;
    const auto rest = text.substr(end);
    if (rest.empty()) return Authority{text, std::nullopt};
    if (rest.front() != ':') return std::nullopt;
    return Authority{text.substr(0, end), rest.substr(1)};
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    const auto port = parse_decimal<std::uint16_t>(text);
    return port && *port > 0 ? port : std::nullopt;
}

std::string_view without_brackets(std::string_view host) {
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    return bracketed ? host.substr(1, host.size() - 2) : host;
}

std::string with_brackets(std::string_view host) {
    const bool bare_v6 = !host.starts_with('[') && host.find(':') != host.npos;
    return bare_v6 ? "[" + std::string{host} + "]" : std::string{host};
}

bool is_any_address(std::string_view host) { return host == "0.0.0.0" || host == "::"; }

std::string local_authority(std::string_view host, std::uint16_t port) {
    const auto name = is_any_address(host) ? "localhost" : with_brackets(host);
    return name + ":" + std::to_string(port);
}

}  // namespace beckon::core
