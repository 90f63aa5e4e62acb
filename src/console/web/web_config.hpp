#pragma once

#include <cstdint>
#include <string>

namespace beckon::console {

struct WebConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8085;  ///< 0: any free one
    /// Empty: no login, and then only requests that name this host as the local one are answered.
    std::string token;
};

}  // namespace beckon::console
