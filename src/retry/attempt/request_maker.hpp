#pragma once

#include "retry/attempt/http_request.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace beckon::retry {

/// Where a request is sent from (FairSender).
enum class SendThread : std::uint8_t { own, aside };

/// Makes the request of one attempt on the thread that sends it. Attachments, the search for a
/// boundary and the signature take up to milliseconds for a large event, so making belongs to what
/// the owner uses, and is done aside like the rest for an owner that uses too much.
struct RequestMaker {
    std::string owner;
    /// Once, on a thread of that kind. What it throws ends the attempt.
    std::function<HttpRequest(SendThread)> make;
};

/// Answers later, exactly once.
using SendRequest = std::function<void(RequestMaker, std::function<void(HttpAnswer)>)>;

}  // namespace beckon::retry
