#pragma once

#include <stdexcept>

namespace beckon::core {

/// Ends a start that the same start again would not mend: a part of the installation is missing.
struct SetupError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace beckon::core
