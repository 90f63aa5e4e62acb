#pragma once

#include "app/config/config.hpp"

#include <string>
#include <vector>

namespace beckon::app {

struct ConfigFault {
    std::string where;  ///< "beckon.toml:3", "BECKON_EDGE_PORT", "--edge-port"
    std::string what;
};

/// Whether it is a name or an address, of IPv6 in brackets; what is all digits is a port that has
/// lost its host.
bool may_be_host(std::string_view host);
/// The app's name: the text before the `=` of an entry of a setting of credentials.
std::string app_of(const std::string& entry);

/// The faults that would stop a start of `reader` with this configuration and that no single value
/// shows.
std::vector<ConfigFault> faults_of(const Config& config, Reader reader);

}  // namespace beckon::app
