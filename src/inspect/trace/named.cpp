#include "inspect/trace/named.hpp"

#include "core/milestone.hpp"

namespace beckon::inspect {

namespace {

/// `/wpush/v1/` and `/wpush/v2/` name the form of their token.
core::Tokens::Form form_of(const std::string& url) {
    if (url.find("/wpush/v1/") != std::string::npos) return core::Tokens::Form::v1;
    if (url.find("/wpush/v2/") != std::string::npos) return core::Tokens::Form::v2;
    return core::Tokens::Form::any;
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
        return Named{.kind = NameKind::message, .client = message->uaid, .message = message->key};
    }
    const auto uuid = core::parse_uuid(text);
    if (!uuid) return std::nullopt;
    return Named{.kind = NameKind::client, .client = core::Uaid{*uuid}};
}

core::Result<std::optional<Named>> find_name(core::Tokens& tokens, log::EventLog& log,
                                             const std::string& text, const TraceOptions& options) {
    auto opened = open_name(tokens, text, options.now);
    if ((opened && opened->kind != NameKind::client) || !core::is_reliability_id(text)) {
        return opened;
    }
    const auto tracked = find_tracked(log, text, options);
    if (!tracked && !opened) return core::fail(tracked.error());
    if (!tracked || !*tracked) return opened;
    return Named{.kind = NameKind::message, .client = (*tracked)->uaid, .message = (*tracked)->key};
}

}  // namespace beckon::inspect
