#pragma once

#include "core/clock.hpp"
#include "core/handle.hpp"
#include "retry/attempt/http_request.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/attempt/name_lookups.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <curl/curl.h>

namespace beckon::retry {

/// One request of HttpSender, with libcurl's handle of it and what that points to: it stays where
/// it is while the handle is in use.
struct Transfer {
    HttpRequest request;
    std::function<void(HttpAnswer)> done;
    HttpAnswer answer;
    core::Handle<curl_slist, curl_slist_free_all> headers;
    core::Handle<curl_slist, curl_slist_free_all> resolved;
    const HttpSender::Options* options = nullptr;
    std::function<bool()> after_step;  ///< of libcurl; true: more has come in than it may have
    curl_socket_t socket = CURL_SOCKET_BAD;
    unsigned steps = 0;
    std::optional<std::uint64_t> received_before{};  ///< on the socket, before bytes are counted
    std::uint64_t ended_before = 0;                  ///< attempts of the sender
    std::string_view refused;                        ///< why the guard refused an address
    std::string name;  ///< of the host, to be looked up; empty: it is an address
    std::string port;
    NameLookups::Addresses addresses;  ///< of the name
    bool inside = false;               ///< the operator has named the host
    bool by_proxy = false;
    bool certified = false;  ///< its host gets our certificate
    std::size_t body_bytes = 0;
    std::size_t header_bytes = 0;
    std::string length;  ///< that of the headers Content-Length; empty: there was none
    bool invalid_length = false;
    bool cut_off = false;
    /// libcurl's own words, which outlive `easy`.
    std::array<char, CURL_ERROR_SIZE> said{};
    core::MonoTime started{};
    core::Handle<CURL, curl_easy_cleanup> easy;  ///< the last to be made and the first to go
};

/// Finds how the request gets to its host: a name to be looked up, an address, or the proxy. False:
/// it may not, and `refused` is set.
bool find_route(Transfer& transfer);
/// The answer's `why` for an address that the guard refuses for this reason.
std::string not_allowed(std::string_view why);
/// Whether a host's name can be looked up. Others have no address, and would have a meaning of
/// their own in the entry that libcurl gets: `*` stands for all hosts.
bool may_have_addresses(std::string_view name);
/// Makes the handle, with the rest of the request's time. Throws std::runtime_error if libcurl has
/// no memory or refuses an option.
void prepare(Transfer& transfer, core::MonoTime now);
/// The answer, once libcurl has ended the request with `code`.
HttpAnswer take_answer(Transfer& transfer, CURLcode code, const core::Clock& clock);

}  // namespace beckon::retry
