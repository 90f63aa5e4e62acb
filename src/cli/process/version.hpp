#pragma once

#include <string>

namespace beckon::cli {

/// "0.1.0 (commit)".
std::string version_text();

}  // namespace beckon::cli
