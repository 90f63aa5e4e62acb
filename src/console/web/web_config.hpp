#pragma once

#include <cstdint>
#include <string>

namespace beckon::console {

struct WebConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8085;  ///< 0: any free one
    /// Empty: no login, and then only requests for localhost or a loopback address are answered.
    std::string token;
};

}  // namespace beckon::console
