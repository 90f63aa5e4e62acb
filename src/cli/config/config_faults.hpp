#pragma once

#include "cli/config/config.hpp"

#include <string>
#include <vector>

namespace beckon::cli {

struct ConfigFault {
    std::string where;  ///< "beckon.toml:3", "BECKON_EDGE_PORT", "--edge-port"
    std::string what;
};

/// What stands before the `=` of an entry of a setting of credentials.
std::string app_of(const std::string& entry);

/// What would stop a start of `reader` with this configuration and no single value shows.
std::vector<ConfigFault> faults_of(const Config& config, Reader reader);

}  // namespace beckon::cli
