#pragma once

#include "client/subscription.hpp"
#include "client/vapid.hpp"
#include "client/webpush_crypto.hpp"
#include "client/ws_socket.hpp"
#include "core/result.hpp"
#include "fetch/transfer.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace beckon::client {

/// One message to send.
struct PushMessage {
    std::optional<std::string> text;  ///< none: a push without data
    std::int64_t ttl_s =
        2'419'200;             ///< how long the push service keeps it; 0: delivered at once or lost
    std::string topic = {};    ///< replaces an earlier one of this Topic; empty: none
    std::string urgency = {};  ///< very-low, low, normal, high; empty: not sent
    Encoding encoding = Encoding::aes128gcm;
    std::size_t padding_bytes = 0;
};

/// Of the error body of a push service (docs/protocol/errors.md#http-errors), as far as it is
/// there.
struct PushError {
    std::optional<int> number;  ///< `errno`
    std::string message;
};

/// The answer of the push service. An HTTP error is an answer too, not a failure.
struct PushReply {
    int status = 0;
    std::map<std::string, std::string> headers;  ///< names in lower case
    std::string body;
    std::optional<PushError> error;   ///< parsed from a JSON body
    std::chrono::nanoseconds took{};  ///< first byte sent to last byte read, connecting included

    bool accepted() const { return status >= 200 && status < 300; }
    /// The value, or "" if there is none.
    std::string header(const std::string& name) const;
};

/// Explains this answer to a person in one line, with the next step.
std::string explain(const PushReply& reply);

struct ApplicationServerOptions {
    std::optional<P256Key> vapid = std::nullopt;
    VapidScheme scheme = VapidScheme::vapid;
    std::string subject = "mailto:nobody@example.com";
    std::chrono::seconds token_lifetime{std::chrono::hours{12}};
    TlsTrust tls = {};
    std::chrono::milliseconds timeout{30'000};  ///< for the whole request
};

/// Sends push messages over HTTP/1.1 and keeps its connection. One thread at a time.
/// After `unavailable` and `timed_out` the outcome of the message is unknown.
class ApplicationServer {
public:
    explicit ApplicationServer(ApplicationServerOptions options) : options_(std::move(options)) {}

    /// Encrypts, signs, POSTs (RFC 8030 §5).
    Result<PushReply> send(const Subscription& to, const PushMessage& message);
    /// Sends to an endpoint whose keys are unknown: only messages without text.
    Result<PushReply> send(const std::string& endpoint, const PushMessage& message);
    /// Takes a message back by its URL, which `message_url` gives (RFC 8030 §5.3 calls it the push
    /// message resource).
    Result<PushReply> remove(const std::string& url);

private:
    struct Token {
        VapidHeaders headers;
        std::chrono::system_clock::time_point renew;
    };

    Result<PushReply> post(const std::string& endpoint, const PushMessage& message,
                           const std::optional<EncryptedMessage>& encrypted);
    Result<PushReply> perform(const std::string& url, const fetch::HeaderLines& headers);
    const VapidHeaders& vapid_for(const std::string& origin);

    const ApplicationServerOptions options_;
    const fetch::Easy handle_ = fetch::make_easy();
    std::map<std::string, Token> tokens_;  ///< by origin: signed once, used until half of its life
};

/// The absolute URL of an accepted message; `corrupt` if the reply has no usable `Location`.
Result<std::string> message_url(const std::string& endpoint, const PushReply& reply);

}  // namespace beckon::client
