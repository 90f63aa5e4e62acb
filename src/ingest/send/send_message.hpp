#pragma once

#include "core/tokens.hpp"
#include "ingest/api/encryption_headers.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"
#include "ingest/api/router.hpp"
#include "ingest/vapid/vapid.hpp"
#include "records/events.hpp"
#include "store/subscription_store.hpp"

#include <functional>
#include <optional>
#include <string_view>

/// The ordered checks of a POST to an endpoint (docs/protocol/http-api.md#order-of-checks), without
/// any I/O. The order decides which error a request with several faults gets.
namespace beckon::ingest {

/// Steps 1 and 2: the token of the endpoint URL.
struct OpenedToken {
    core::EndpointToken token;
    bool fits_version = true;  ///< step 5, judged after Authorization
};
Checked<OpenedToken> open_token(const Route& route, core::Tokens& tokens, core::Timestamp now);

/// Steps 3 to 6: the addressed client, and the sender.
struct Addressed {
    core::Uaid uaid;
    core::ChannelId channel;
    std::optional<VapidSender> sender;
};
Checked<Addressed> check_address(const OpenedToken& opened, const HttpRequest& request,
                                 VapidVerifier& vapid, core::Timestamp now,
                                 const std::function<Checked<void>()>& may_verify);

/// Steps 7 to 9: where a message for this subscription goes. nullopt: there is no such
/// subscription, as far as the view has come; final only after a read barrier.
enum class Destination : std::uint8_t { webpush, bridge };
std::optional<Destination> destination_of(
    const std::optional<store::SubscriptionStore::Subscription>& subscription);

struct MessageLimits {
    std::uint32_t ttl_max_s = 2'592'000;
};

/// Steps 10 to 13: the message itself. Views into the request.
struct MessageParts {
    std::uint32_t ttl_s = 0;  ///< in force, after lowering
    std::optional<std::string_view> topic;
    std::optional<core::Urgency> urgency;
    std::optional<EncryptionHeaders> encryption;  ///< absent without a body
    std::optional<std::string_view> traceparent;
};
Checked<MessageParts> check_message(const HttpRequest& request, const MessageLimits& limits);

}  // namespace beckon::ingest
