#include "inspect/trace/named.hpp"

#include "core/milestone.hpp"
#include "inspect/trace/client_trace.hpp"

namespace beckon::inspect {

namespace {

/// `/wpush/v1/` and `/wpush/v2/` name the form of their token.
core::Tokens::Form form_of(const std::string& url) {
    if (url.find("/wpush/v1/") != std::string::npos) return core::Tokens::Form::v1;
    if (url.find("/wpush/v2/") != std::string::npos) return core::Tokens::Form::v2;
    return core::Tokens::Form::any;
}

Named named(const core::MessageRef& message) {
    return {.kind = NameKind::message, .client = message.uaid, .message = message.key};
}

/// A client that `subscriptions` has, or else the message whose name reads as its UAID.
core::Result<std::optional<Named>> client_or_message(log::EventLog& log, Named client,
                                                     const std::string& text,
                                                     const TraceOptions& options) {
    const auto known = has_client(log, client.client, options);
    if (!known && known.error().fault != core::Fault::timed_out) return core::fail(known.error());
    if (!known || *known) return std::optional{client};
    client.nobody = true;
    const auto key = core::parse_hex16(text);  // names have no dashes
    if (!key) return std::optional{client};
    const auto message = find_message(log, core::MessageKey{*key}, options);
    if (!message) return core::fail(message.error());
    return std::optional{*message ? named(**message) : client};
}

}  // namespace

std::optional<Named> open_name(core::Tokens& tokens, const std::string& text, core::Timestamp now) {
    const auto token = text.substr(text.rfind('/') + 1);
    if (const auto endpoint = tokens.open_endpoint(token, form_of(text), now)) {
        return Named{.kind = NameKind::endpoint,
                     .client = endpoint->uaid,
                     .channel = endpoint->channel,
                     .bound_to_vapid_key = !endpoint->vapid_sha256.empty()};
    }
    if (const auto message = tokens.open_message(token)) {
        return named(*message);
    }
    const auto uuid = core::parse_uuid(text);
    if (!uuid) return std::nullopt;
    return Named{.kind = NameKind::client, .client = core::Uaid{*uuid}};
}

core::Result<std::optional<Named>> find_name(core::Tokens& tokens, log::EventLog& log,
                                             const std::string& text, const TraceOptions& options) {
    const auto opened = open_name(tokens, text, options.now);
    if (opened && opened->kind != NameKind::client) return opened;
    if (core::is_reliability_id(text)) {
        const auto tracked = find_tracked(log, text, options);
        if (!tracked && !opened) return core::fail(tracked.error());
        if (tracked && *tracked) return named(**tracked);
    }
    if (!opened) return opened;
    return client_or_message(log, *opened, text, options);
}

}  // namespace beckon::inspect
