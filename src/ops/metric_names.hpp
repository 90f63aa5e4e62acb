#pragma once

#include <string_view>

/// Every metric that Beckon exports, in one list.
namespace beckon::ops::metric {

// --- build
inline constexpr std::string_view kBuildInfo = "beckon_build_info";

}  // namespace beckon::ops::metric
