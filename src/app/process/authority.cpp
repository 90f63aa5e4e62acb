#include "app/process/authority.hpp"

namespace beckon::app {

std::string authority(const std::string& host, std::uint16_t port) {
    const bool any = host == "0.0.0.0" || host == "::";
    const bool v6 = host.find(':') != std::string::npos;
    const auto name = any ? "localhost" : v6 ? "[" + host + "]" : host;
    return name + ":" + std::to_string(port);
}

}  // namespace beckon::app
