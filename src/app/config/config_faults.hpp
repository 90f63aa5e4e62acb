#pragma once

#include "app/config/config.hpp"

#include <string>
#include <vector>

namespace beckon::app {

struct ConfigFault {
    std::string where;  ///< "beckon.toml:3", "BECKON_EDGE_PORT", "--edge-port"
    std::string what;
};

/// The app's name: the text before the `=` of an entry of a setting of credentials.
std::string app_of(const std::string& entry);

/// The faults that would stop a start of `reader` with this configuration and that no single value
/// shows.
std::vector<ConfigFault> faults_of(const Config& config, Reader reader);

}  // namespace beckon::app
