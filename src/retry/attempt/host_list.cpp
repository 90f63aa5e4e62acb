#include "retry/attempt/host_list.hpp"

#include "core/ascii.hpp"
#include "retry/attempt/address_guard.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

bool is_host_name(std::string_view name) {
    return !name.empty() && name.size() <= 253 && core::is_lower_alphanumeric(name, "-_.") &&
           name.front() != '.' && name.find("..") == std::string_view::npos &&
           !parse_address(std::string{name});
}

std::string normal(std::string_view host) {
    if (host.ends_with('.')) host.remove_suffix(1);
    return core::lower(host);
}

}  // namespace

core::Result<HostList> HostList::of(const std::vector<std::string>& names) {
    HostList list;
    for (const auto& text : names) {
        const bool all_below = text.starts_with("*.");
        const auto name = normal(std::string_view{text}.substr(all_below ? 2 : 0));
        if (!is_host_name(name)) {
            return core::fail(core::Fault::invalid,
                              "`" + text + "` is no host name, e.g. receiver.internal, *.internal");
        }
        all_below ? list.tails_.push_back("." + name) : list.names_.push_back(name);
    }
    return list;
}

bool HostList::contains(std::string_view host) const {
    const auto name = normal(host);
    return std::find(names_.begin(), names_.end(), name) != names_.end() ||
           std::any_of(tails_.begin(), tails_.end(),
                       [&](const std::string& tail) { return name.ends_with(tail); });
}

}  // namespace beckon::retry
