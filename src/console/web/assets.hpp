#pragma once

#include <span>
#include <string_view>

/// The files of src/console/app, which CMake puts into the binary.
namespace beckon::console {

struct Asset {
    std::string_view path;  ///< as in a URL: "/pages/lag.js"
    std::string_view type;
    std::string_view bytes;
    std::string_view etag;  ///< with its quotes
};
std::span<const Asset> assets();

}  // namespace beckon::console
