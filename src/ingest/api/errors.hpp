#pragma once

#include "core/enum_names.hpp"
#include "core/result.hpp"
#include "ingest/api/http.hpp"

#include <string_view>

#include <tl/expected.hpp>

/// Every way in which the endpoint refuses a request, and the one mapping to status, errno,
/// headers and body (docs/protocol/errors.md#http-errors).
namespace beckon::ingest {

enum class Problem : std::uint8_t {
    unknown_route,         ///< 404
    method_not_allowed,    ///< 405, empty body; the router adds Allow
    bad_endpoint,          ///< 404/102
    no_such_client,        ///< 410/103
    body_too_large,        ///< 413/104
    json_too_large,        ///< 413
    no_such_subscription,  ///< 410/106
    too_many_channels,     ///< 409
    unknown_app_id,        ///< 400/106
    unknown_channel,       ///< 400: the release channel of a client of APNs
    bad_router_type,       ///< 400/108
    unauthorized,          ///< 401/109, VAPID
    wrong_secret,          ///< 401/109, registration
    sender_blocked,        ///< 403: an operator has blocked the VAPID key or the subscription
    bad_encryption,        ///< 400/110
    bad_ttl,               ///< 400/111
    bad_topic,             ///< 400/113
    negative_ttl,          ///< 400/114
    bad_urgency,           ///< 400
    bad_message_id,        ///< 400
    bad_receipt,           ///< 400: Push-Receipt names no receipt subscription
    bad_receipt_query,     ///< 400
    no_such_receipt,       ///< 404
    bad_json,              ///< 400
    bad_request,           ///< 400: not HTTP
    header_too_large,      ///< 431
    request_too_slow,      ///< 408
    too_many_requests,     ///< 429
    too_many_of_sender,    ///< 429: of one VAPID key, or for one subscription
    not_saved,             ///< 503/201: the message is not durably in the log
    not_saved_for_good,    ///< 500/201: and repeating it is futile
    not_ready,             ///< 503: the view cannot answer at present
    busy,                  ///< 503: a bound is reached or the log is away
    disk_full,             ///< 503/201: the log's disk has no space
    not_bridged,           ///< 503: no role delivers messages of bridged clients here
    internal,              ///< 500
    deliberate,            ///< 418/999
};
/// The label in metrics.
inline std::string_view to_string(Problem problem) { return core::name_of(problem); }

/// A refusal. `detail` names for a person the fault and what is allowed: text that outlives the
/// reply and needs no escapes in JSON, never input of the peer.
struct Failure {
    Problem problem = Problem::internal;
    std::string_view detail;  ///< empty: the problem's own text
    int retry_after_s = 0;    ///< 0: the problem's own
    bool operator==(const Failure&) const = default;
};

template <class T>
using Checked = tl::expected<T, Failure>;

inline tl::unexpected<Failure> fail(const Failure& failure) {
    return tl::unexpected<Failure>(failure);
}
inline tl::unexpected<Failure> fail(Problem problem, std::string_view detail = {}) {
    return fail(Failure{problem, detail, 0});
}

HttpReply error_reply(const Failure& failure);
/// The sentence for a person in it.
std::string_view text_of(const Failure& failure);

/// The URL in `more_info` of every error, on every host.
inline constexpr std::string_view kErrorPage = "/errors";
/// That page: every error with its status, its errno and its meaning, as plain text.
HttpReply error_page();

/// The refusal that the sender of a message gets when its publish failed.
Failure publish_failure(const core::Error& error);
/// The refusal after any other failed write or read barrier: 400 where the request made a record
/// that cannot be read back, 500 where bytes of the log are wrong, else 503.
Failure log_failure(const core::Error& error);

}  // namespace beckon::ingest
