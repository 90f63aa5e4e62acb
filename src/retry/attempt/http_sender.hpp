#pragma once

#include "net/io_loop.hpp"
#include "retry/attempt/address_guard.hpp"
#include "retry/attempt/host_list.hpp"
#include "retry/attempt/http_request.hpp"
#include "retry/attempt/name_lookups.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace beckon::retry {

/// Sends requests with libcurl on the loop's thread, many at a time, and keeps connections. Names
/// are looked up by NameLookups: libcurl itself would wait for its resolver's thread when a request
/// is over, and hold up the loop. Each connect is allowed or refused for the very address that it
/// goes to.
class HttpSender {
public:
    static constexpr std::size_t kAnswerBytesMax = std::size_t{256} * 1024;
    static constexpr std::size_t kHeaderBytesMax = std::size_t{64} * 1024;
    /// Of all bytes that come in for an attempt, whatever they are: TLS, chunk extensions,
    /// trailers, compressed bodies. Besides headers and body, 768 KiB may be such bytes: more than
    /// TLS and chunks add to an answer whose receiver sends some 20 bytes at a time. More is
    /// too_large.
    static constexpr std::size_t kReceivedBytesMax =
        kAnswerBytesMax + kHeaderBytesMax + std::size_t{768} * 1024;

    struct Options {
        AddressGuard guard{};
        /// Receivers that may have private addresses; no proxy is asked for them.
        HostList inside{};
        /// `http://host:port`, through which everything else goes; empty: none. Then it is the
        /// proxy that decides which addresses a name may lead to.
        std::string proxy{};
        std::string ca_file{};  ///< PEM, besides the system's; empty: none
        /// Shown to receivers that ask for a certificate: PEM files, read at each connection.
        /// Empty: none.
        std::string client_certificate{};
        std::string client_key{};
        HostList client_certificate_hosts{};  ///< that get it; empty: all
        std::size_t connections_max = 256;    ///< that are kept
        std::string user_agent = "Beckon";
        /// HTTP/2 where the receiver offers it in TLS (ALPN): many requests on one connection.
        bool http2 = false;
        std::size_t body_kept = HttpAnswer::kBodyKept;  ///< of an answer
        NameLookups::LookUp look_up = system_addresses;
    };

    /// Throws std::runtime_error if libcurl does not start, or if the user agent has a control
    /// character.
    HttpSender(Options options, net::IoLoop& loop);
    /// Aborts requests under way, without an answer.
    ~HttpSender();

    /// Answers later, on the loop's thread, exactly once. Throws std::runtime_error, and answers
    /// not, if libcurl has no memory or refuses an option.
    void send(HttpRequest request, std::function<void(HttpAnswer)> done);
    std::size_t under_way() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
