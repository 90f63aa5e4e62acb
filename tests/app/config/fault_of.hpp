#pragma once

#include "app/config/config_values.hpp"

#include <string>
#include <vector>

namespace beckon::test {

/// The first fault of these values, after its place; empty if there is none.
inline std::string fault_of(const std::vector<app::RawValue>& values) {
    app::Config config;
    app::Sources sources;
    const auto faults = apply(values, config, sources);
    return faults.empty() ? "" : faults[0].where + ": " + faults[0].what;
}

}  // namespace beckon::test
