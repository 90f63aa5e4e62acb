#include "retry/attempt/connection.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace beckon::retry {

namespace {

std::uint16_t port_of(const sockaddr_storage& address) {
    if (address.ss_family != AF_INET6) {
        return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
    }
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

/// As libcurl writes it.
std::string ip_of(const sockaddr_storage& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* ip = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    if (address.ss_family == AF_INET6) {
        ip = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    }
    ::inet_ntop(address.ss_family, ip, text.data(), text.size());
    return text.data();
}

}  // namespace

Connection connection_of(CURL* easy) {
    long local_port = 0;
    long port = 0;
    const char* address = nullptr;
    curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &local_port);
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &port);
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &address);
    return {static_cast<std::uint16_t>(local_port), static_cast<std::uint16_t>(port),
            address ? address : ""};
}

Connection connection_of(curl_socket_t socket) {
    sockaddr_storage here{};
    sockaddr_storage there{};
    socklen_t here_size = sizeof here;
    socklen_t there_size = sizeof there;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_size);
    ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_size);
    return {port_of(here), port_of(there), ip_of(there)};
}

std::uint64_t received_bytes(curl_socket_t socket) {
    // tcpi_bytes_received of the kernel's tcp_info. That of the C library has no such field, and
    // the kernel's header cannot be included beside the library's.
    constexpr std::size_t kAt = 128;
    std::array<std::byte, kAt + sizeof(std::uint64_t)> info{};
    socklen_t size = info.size();
    std::uint64_t bytes = 0;
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, info.data(), &size) == 0) {
        std::memcpy(&bytes, info.data() + kAt, sizeof bytes);
    }
    return bytes;
}

}  // namespace beckon::retry
