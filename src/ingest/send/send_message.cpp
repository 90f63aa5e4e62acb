#include "ingest/send/send_message.hpp"

#include "core/ascii.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace beckon::ingest {

namespace {

using core::Tokens;

Checked<std::int64_t> parse_ttl(const RequestHeaders& headers) {
    auto text = headers.get(HeaderName::ttl).value_or(std::string_view{});
    if (text.starts_with('+')) text.remove_prefix(1);
    std::int64_t ttl = 0;
    const auto end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, ttl);
    const bool digits = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    if (!digits || at != end) return fail(Problem::bad_ttl);
    if (error == std::errc::result_out_of_range) {  // lowered to what is allowed, as others are
        using Limits = std::numeric_limits<std::int64_t>;
        return text[0] == '-' ? Limits::min() : Limits::max();
    }
    return ttl;
}

bool is_topic(std::string_view text) {
    if (text.empty() || text.size() > 32) return false;
    const auto letters = text.find_last_not_of('=');
    if (letters == std::string_view::npos) return false;
    return core::is_alphanumeric(text.substr(0, letters + 1), "-_");
}

/// RFC 8030 §5.3; its ABNF is case-insensitive, as all literal text there.
Checked<std::optional<core::Urgency>> parse_urgency(const RequestHeaders& headers) {
    const auto text = headers.get(HeaderName::urgency);
    if (headers.unreadable(HeaderName::urgency)) return fail(Problem::bad_urgency);
    if (!text) return std::optional<core::Urgency>{};
    std::array<char, 8> lower{};
    if (text->size() > lower.size()) return fail(Problem::bad_urgency);
    std::transform(text->begin(), text->end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const auto urgency = core::parse_urgency({lower.data(), text->size()});
    if (!urgency) return fail(Problem::bad_urgency);
    return std::optional{*urgency};
}

/// W3C Trace Context, version 00; anything else is not forwarded.
std::optional<std::string_view> parse_traceparent(const RequestHeaders& headers) {
    const auto text = headers.get(HeaderName::traceparent);
    if (!text || text->size() != 55 || !text->starts_with("00-")) return std::nullopt;
    const bool good = std::all_of(text->begin(), text->end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
    });
    if (!good || (*text)[35] != '-' || (*text)[52] != '-') return std::nullopt;
    return text;
}

}  // namespace

Checked<OpenedToken> open_token(const Route& route, core::Tokens& tokens, core::Timestamp now) {
    if (!route.known_version) return fail(Problem::bad_endpoint);
    if (auto token = tokens.open_endpoint(route.arguments[0], route.form, now)) {
        return OpenedToken{std::move(*token), true};
    }
    if (route.form == Tokens::Form::any) return fail(Problem::bad_endpoint);
    // Does it open at all? Only then Authorization is judged before the length.
    if (auto token = tokens.open_endpoint(route.arguments[0], Tokens::Form::any, now)) {
        return OpenedToken{std::move(*token), false};
    }
    return fail(Problem::bad_endpoint);
}

Checked<Addressed> check_address(const OpenedToken& opened, const HttpRequest& request,
                                 VapidVerifier& vapid, core::Timestamp now,
                                 const std::function<Checked<void>()>& may_verify) {
    Addressed addressed{opened.token.uaid, opened.token.channel, std::nullopt};
    if (request.headers.unreadable(HeaderName::authorization)) {
        return fail(Problem::unauthorized, "Authorization must be of printable ASCII.");
    }
    if (const auto authorization = request.headers.get(HeaderName::authorization)) {
        std::string storage;
        const auto credentials = parse_authorization(*authorization, request.headers, storage);
        if (!credentials) return fail(credentials.error());
        const auto sender = vapid.verify(*credentials, now, may_verify);
        if (!sender) return fail(sender.error());
        addressed.sender = *sender;
    }
    if (!opened.fits_version) return fail(Problem::bad_endpoint);

    const bool bound = !opened.token.vapid_sha256.empty();
    if (bound && !addressed.sender) {
        return fail(Problem::unauthorized, "This endpoint requires VAPID authorization.");
    }
    if (bound && !opened.token.admits(addressed.sender->key_sha256)) {
        return fail(Problem::unauthorized,
                    "The VAPID public key is not the one of this subscription.");
    }
    return addressed;
}

std::optional<Destination> destination_of(
    const std::optional<store::SubscriptionStore::Subscription>& subscription) {
    if (!subscription) return std::nullopt;
    switch (subscription->router_type) {
        case core::RouterType::webpush:
            if (!subscription->channel_known) return std::nullopt;
            return Destination::webpush;
        case core::RouterType::fcm:
        case core::RouterType::apns:
        case core::RouterType::webhook: return Destination::bridge;  // channels are not checked
    }
    return std::nullopt;
}

Checked<MessageParts> check_message(const HttpRequest& request, const MessageLimits& limits) {
    if (request.body_too_large) return fail(Problem::body_too_large);
    const auto ttl = parse_ttl(request.headers);
    if (!ttl) return fail(ttl.error());

    MessageParts parts;
    if (!request.body.empty()) {
        auto encryption = check_encryption(request.headers);
        if (!encryption) return fail(encryption.error());
        parts.encryption = std::move(*encryption);
    }
    if (*ttl < 0) return fail(Problem::negative_ttl);
    parts.ttl_s = static_cast<std::uint32_t>(std::min<std::int64_t>(*ttl, limits.ttl_max_s));
    parts.topic = request.headers.get(HeaderName::topic);
    if (parts.topic ? !is_topic(*parts.topic) : request.headers.unreadable(HeaderName::topic)) {
        return fail(Problem::bad_topic);
    }
    const auto urgency = parse_urgency(request.headers);
    if (!urgency) return fail(urgency.error());
    parts.urgency = *urgency;
    parts.traceparent = parse_traceparent(request.headers);
    return parts;
}

}  // namespace beckon::ingest
