#pragma once

#include <cstdint>
#include <string>

namespace beckon::app {

/// "127.0.0.1:8080", "[::1]:8080"; a process that listens on every address is reached at localhost.
std::string authority(const std::string& host, std::uint16_t port);

}  // namespace beckon::app
