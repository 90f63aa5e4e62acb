#pragma once

#include <cstdint>
#include <string>

#include <curl/curl.h>

namespace beckon::retry {

/// Both ends of a TCP connection. libcurl names the socket of no attempt that is under way.
struct Connection {
    std::uint16_t local_port = 0;
    std::uint16_t port = 0;
    std::string address;

    bool operator==(const Connection&) const = default;
};

/// The one that an attempt has, or had last.
Connection connection_of(CURL* easy);
Connection connection_of(curl_socket_t socket);

/// The bytes that have come in on the socket since it was connected, whoever has read them, or
/// whether nobody has; 0 if the kernel does not say.
std::uint64_t received_bytes(curl_socket_t socket);

}  // namespace beckon::retry
