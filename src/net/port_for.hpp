#pragma once

#include <cstdint>

namespace beckon::net {

/// Whom a port is for: how many of the process's last descriptors its connections leave to others.
enum class PortFor : std::uint8_t {
    clients,    ///< leaves core::reserved_descriptors()
    operators,  ///< leaves half of them; so do the links between edges
};

}  // namespace beckon::net
