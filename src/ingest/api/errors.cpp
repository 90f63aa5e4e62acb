#include "ingest/api/errors.hpp"

#include "core/json_parts.hpp"
#include "log/event_log.hpp"

#include <string>

namespace beckon::ingest {

namespace {

struct Wire {
    int status;
    int code;  ///< `errno` of the JSON body; 0: null
    std::string_view message;
};

Wire wire(Problem problem) {
    switch (problem) {
        case Problem::unknown_route: return {404, 0, "There is nothing at this path."};
        case Problem::method_not_allowed:
            return {405, 0, "See Allow for the methods of this path."};
        case Problem::bad_endpoint:
            return {404, 102, "This is not a push endpoint of this service."};
        case Problem::no_such_client: return {410, 103, "No such client."};
        case Problem::body_too_large: return {413, 104, "The message body is larger than allowed."};
        case Problem::json_too_large: return {413, 0, "The JSON body is larger than allowed."};
        case Problem::no_such_subscription:
            return {410, 106, "No such subscription: it has ended, do not send to it again."};
        case Problem::too_many_channels:
            return {409, 0,
                    "This client has, or has removed within a day, as many channels as it may."};
        case Problem::unknown_app_id:
            return {400, 106, "The application id is not configured here."};
        case Problem::unknown_channel:
            return {400, 0, "The release channel is not configured here."};
        case Problem::bad_router_type: return {400, 108, "The router type must be fcm or apns."};
        case Problem::unauthorized: return {401, 109, "The request is not authorized."};
        case Problem::wrong_secret:
            return {401, 109,
                    "Authorization must be 'Bearer <secret>' with the secret of this "
                    "registration."};
        case Problem::sender_blocked:
            return {403, 0, "The operator of this service has blocked this sender."};
        case Problem::bad_encryption: return {400, 110, "The encryption headers are not valid."};
        case Problem::bad_ttl: return {400, 111, "TTL is required: whole seconds, 0 or more."};
        case Problem::bad_topic:
            return {400, 113,
                    "Topic must be 1 to 32 characters from A-Z a-z 0-9 - _ (RFC 8030 5.4)."};
        case Problem::negative_ttl: return {400, 114, "TTL must be 0 or more."};
        case Problem::bad_urgency:
            return {400, 0, "Urgency must be one of very-low, low, normal, high (RFC 8030 5.3)."};
        case Problem::bad_message_id: return {400, 0, "This is not a message id of this service."};
        case Problem::bad_receipt:
            return {400, 0,
                    "Push-Receipt must be the URL of a receipt subscription of this service "
                    "(RFC 8030 5.1)."};
        case Problem::bad_receipt_query:
            return {400, 0, "The query of a receipt subscription may be after=<number> alone."};
        case Problem::no_such_receipt:
            return {404, 0, "This is not a receipt subscription of this service."};
        case Problem::bad_json: return {400, 0, "The JSON body is not valid."};
        case Problem::bad_request: return {400, 0, "The request is not valid HTTP/1.1."};
        case Problem::header_too_large:
            return {431, 0, "The request's header is larger than allowed."};
        case Problem::request_too_slow: return {408, 0, "The request did not arrive in time."};
        case Problem::too_many_requests: return {429, 0, "Too many requests from this address."};
        case Problem::too_many_of_sender:
            return {429, 0, "Too many messages of this sender; try again later."};
        case Problem::not_saved:
            return {503, 201, "The message could not be saved; try again later."};
        case Problem::not_saved_for_good: return {500, 201, "The message could not be saved."};
        case Problem::not_ready:
            return {503, 0, "Whether this exists cannot be decided at present; try again later."};
        case Problem::busy:
            return {503, 0, "The service is not available at present; try again later."};
        case Problem::disk_full:
            return {503, 201,
                    "The service's disk is full: nothing can be saved until there is space."};
        case Problem::not_bridged:
            return {503, 0,
                    "Messages of this client are not delivered at present: no bridge is running."};
        case Problem::internal: return {500, 0, "Something unforeseen happened."};
        case Problem::deliberate: return {418, 999, "An error on purpose, to test alerting."};
    }
    return {500, 0, "Something unforeseen happened."};
}

/// Where a person must bring the log back before a repetition can succeed.
constexpr int kOperatorMendsS = 60;

/// Short where waiting helps, long where a person must do something first.
int standard_retry_after_s(Problem problem) {
    switch (problem) {
        case Problem::too_many_requests: return 60;
        case Problem::too_many_of_sender: return 1;
        case Problem::disk_full: return 600;
        case Problem::not_bridged: return 3'600;
        default: return 10;  // the log is away for a moment, a queue is full, a role is starting
    }
}

}  // namespace

HttpReply error_reply(const Failure& failure) {
    const auto facts = wire(failure.problem);
    HttpReply reply;
    reply.status = facts.status;
    if (facts.status == 410) reply.add("Cache-Control", "max-age=86400");
    if (facts.status == 503 || facts.status == 429) {
        reply.add("Retry-After", std::to_string(failure.retry_after_s > 0
                                                    ? failure.retry_after_s
                                                    : standard_retry_after_s(failure.problem)));
    }
    if (failure.problem == Problem::unauthorized) reply.add("WWW-Authenticate", "vapid");
    if (failure.problem == Problem::wrong_secret) reply.add("WWW-Authenticate", "Bearer");
    if (failure.problem == Problem::method_not_allowed) return reply;

    reply.add("Content-Type", "application/json");
    const auto code = facts.code == 0 ? std::string{"null"} : std::to_string(facts.code);
    reply.body = R"({"code":)";
    reply.body += std::to_string(facts.status);
    reply.body += R"(,"errno":)";
    reply.body += code;
    reply.body += R"(,"error":")";
    reply.body += reason_phrase(facts.status);
    reply.body += R"(","message":)";
    reply.body += core::json_string(text_of(failure));
    reply.body += R"(,"more_info":")";
    reply.body += kErrorPage;
    reply.body += R"("})";
    return reply;
}

std::string_view text_of(const Failure& failure) {
    return failure.detail.empty() ? wire(failure.problem).message : failure.detail;
}

HttpReply error_page() {
    auto reply = net::reply_of(200, "text/plain; charset=utf-8", "status  errno  meaning\n");
    for (const auto problem : core::kValuesOf<Problem>) {
        const auto facts = wire(problem);
        auto code = facts.code == 0 ? std::string{"null"} : std::to_string(facts.code);
        code.resize(7, ' ');
        reply.body += std::to_string(facts.status);
        reply.body += "     ";
        reply.body += code;
        reply.body += facts.message;
        reply.body += '\n';
    }
    return reply;
}

Failure publish_failure(const core::Error& error) {
    if (log::is_disk_full(error)) return {Problem::disk_full, {}};
    switch (error.fault) {
        case core::Fault::full:
            return {Problem::not_saved, "Too many messages are waiting; try again later."};
        case core::Fault::timed_out:
        case core::Fault::unavailable: return {Problem::not_saved, {}};
        case core::Fault::too_large: return {Problem::body_too_large, {}};
        case core::Fault::not_found:     // the topics are missing
        case core::Fault::unauthorized:  // this user's rights on them are
        case core::Fault::conflict:
        case core::Fault::out_of_range: return {Problem::not_saved, {}, kOperatorMendsS};
        case core::Fault::invalid:
        case core::Fault::corrupt: return {Problem::not_saved_for_good, {}};
    }
    return {Problem::not_saved_for_good, {}};
}

Failure log_failure(const core::Error& error) {
    if (log::is_disk_full(error)) return {Problem::disk_full, {}};
    if (error.fault == core::Fault::invalid) {
        return {Problem::bad_json,
                "The record of this request could not be read back after encoding."};
    }
    if (error.fault == core::Fault::corrupt) return {Problem::internal, {}};
    return {Problem::busy, {}, error.retryable() ? 0 : kOperatorMendsS};
}

}  // namespace beckon::ingest
