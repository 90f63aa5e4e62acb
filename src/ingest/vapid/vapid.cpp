#include "ingest/vapid/vapid.hpp"

#include "core/base64url.hpp"
#include "ingest/api/encryption_headers.hpp"

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

namespace beckon::ingest {

namespace {

tl::unexpected<Failure> unauthorized(std::string_view detail) {
    return fail(Problem::unauthorized, detail);
}

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
    return text.size() == lower_case.size() &&
           std::equal(text.begin(), text.end(), lower_case.begin(), [](char a, char b) {
               return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
           });
}

/// `t=<jwt>,k=<key>` in any order.
Checked<VapidCredentials> parse_generation_2(std::string_view parameters) {
    std::optional<std::string_view> token;
    std::optional<std::string_view> key;
    while (!parameters.empty()) {
        const auto item = parameters.substr(0, parameters.find(','));
        parameters.remove_prefix(std::min(item.size() + 1, parameters.size()));
        if (item.starts_with("t=")) token = item.substr(2);
        if (item.starts_with("k=")) key = item.substr(2);
    }
    if (!key) return unauthorized("Authorization lacks k, the VAPID public key.");
    if (!token) return unauthorized("Authorization lacks t, the VAPID token.");
    return VapidCredentials{*token, *key};
}

Checked<VapidCredentials> parse_generation_1(std::string_view token,
                                             const RequestHeaders& headers) {
    const auto header = headers.get(HeaderName::crypto_key);
    if (!header) {
        return fail(Problem::bad_encryption,
                    "Crypto-Key with p256ecdsa is required with this "
                    "Authorization.");
    }
    const auto key = find_parameter(*header, "p256ecdsa");
    if (!key.parsable) {
        return fail(Problem::bad_encryption, "Crypto-Key is not a list of name=value items.");
    }
    if (!key.value) {
        return fail(Problem::bad_encryption,
                    "Crypto-Key must have a p256ecdsa with this "
                    "Authorization.");
    }
    return VapidCredentials{token, *key.value};
}

/// Strict: without padding, as RFC 7515 §2 demands.
std::optional<std::string> decode_part(std::string_view part) {
    if (part.empty() || part.find('=') != std::string_view::npos) return std::nullopt;
    return core::parse_base64url(part);
}

std::optional<nlohmann::json> parse_object(std::string_view part) {
    const auto text = decode_part(part);
    if (!text) return std::nullopt;
    auto json = nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    return json;
}

std::int64_t seconds(core::Timestamp time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Checked<void> check_time(std::int64_t exp_s, std::int64_t now_s) {
    if (exp_s < now_s - VapidVerifier::kLeewayS) {
        return unauthorized("The VAPID token has expired (exp).");
    }
    if (exp_s > now_s + VapidVerifier::kLifetimeMaxS) {
        return unauthorized("The VAPID token's exp is more than 24 hours ahead.");
    }
    return {};
}

}  // namespace

Checked<VapidCredentials> parse_authorization(std::string_view authorization,
                                              const RequestHeaders& headers, std::string& storage) {
    const auto space = authorization.find(' ');
    if (space == std::string_view::npos) {
        return unauthorized("Authorization must be 'vapid t=<token>, k=<key>'.");
    }
    const auto scheme = authorization.substr(0, space);
    auto rest = authorization.substr(space + 1);
    if (rest.find(' ') != std::string_view::npos) {
        storage.assign(rest);
        std::erase(storage, ' ');
        rest = storage;
    }
    if (equals_ignoring_case(scheme, "vapid")) return parse_generation_2(rest);
    if (equals_ignoring_case(scheme, "webpush") || equals_ignoring_case(scheme, "bearer")) {
        return parse_generation_1(rest, headers);
    }
    return unauthorized("The Authorization scheme must be vapid, WebPush or Bearer.");
}

Checked<Jwt> parse_jwt(std::string_view token) {
    constexpr std::string_view kForm =
        "The VAPID token is not a JWT of three base64url parts without padding.";
    const auto first = token.find('.');
    const auto last = token.rfind('.');
    if (first == std::string_view::npos || first == last) return unauthorized(kForm);
    Jwt jwt;
    jwt.signed_part = token.substr(0, last);
    const auto header = parse_object(token.substr(0, first));
    if (!header) return unauthorized(kForm);
    const auto alg = header->find("alg");
    if (alg == header->end() || !alg->is_string() ||
        alg->get_ref<const std::string&>() != "ES256") {
        return unauthorized("The VAPID token's alg must be ES256.");
    }
    auto signature = decode_part(token.substr(last + 1));
    const auto claims = parse_object(token.substr(first + 1, last - first - 1));
    if (!signature || !claims) return unauthorized(kForm);
    jwt.signature = std::move(*signature);

    const auto exp = claims->find("exp");
    if (exp == claims->end() || !exp->is_number_integer() ||
        (exp->is_number_unsigned() && exp->get<std::uint64_t>() > (std::uint64_t{1} << 53)) ||
        exp->get<std::int64_t>() < 0) {
        return unauthorized("The VAPID token's exp must be whole seconds since 1970.");
    }
    jwt.exp_s = exp->get<std::int64_t>();
    const auto aud = claims->find("aud");
    if (aud == claims->end() || !aud->is_string()) {
        return unauthorized("The VAPID token's aud must be one string, the endpoint's origin.");
    }
    jwt.aud = aud->get<std::string>();
    const auto sub = claims->find("sub");
    if (sub != claims->end() && !sub->is_string() && !sub->is_null()) {
        return unauthorized("The VAPID token's sub must be a string.");
    }
    return jwt;
}

std::vector<std::string> accepted_audiences(std::string_view origin,
                                            const std::vector<std::string>& extra) {
    std::vector<std::string> audiences{std::string{origin}};
    const auto bracket = origin.find(']');
    const auto host = bracket == std::string_view::npos ? origin.find("://") + 3 : bracket;
    const auto port = origin.find(':', host);
    if (port == std::string_view::npos) {
        audiences.push_back(
            std::string{origin}.append(origin.starts_with("https:") ? ":443" : ":80"));
    } else {
        // The Rust and the Java sender library leave out every port, so this must be good although
        // it is another origin: they could not send here at all otherwise.
        audiences.emplace_back(origin.substr(0, port));
    }
    audiences.insert(audiences.end(), extra.begin(), extra.end());
    return audiences;
}

Checked<VapidSender> VapidVerifier::verify(const VapidCredentials& credentials, core::Timestamp now,
                                           const std::function<Checked<void>()>& may_verify) {
    const auto now_s = seconds(now);
    // Without a separator: shifting the border between the two gains nothing, since whoever can do
    // that holds the valid pair itself.
    const auto digest = es256_.sha256(credentials.key, credentials.token);
    if (const auto known = cache_.find(digest)) {
        if (const auto timely = check_time(known->exp_s, now_s); !timely) {
            cache_.erase(digest);
            last_ = VapidOutcome::refused;
            return fail(timely.error());
        }
        last_ = VapidOutcome::hit;
        return VapidSender{known->key_sha256};
    }
    if (const auto allowed = may_verify(); !allowed) {
        last_ = VapidOutcome::limited;
        return fail(allowed.error());
    }
    last_ = VapidOutcome::refused;
    return verify_now(credentials, digest, now_s);
}

Checked<VapidSender> VapidVerifier::verify_now(const VapidCredentials& credentials,
                                               const Es256::Digest& digest, std::int64_t now_s) {
    const auto point = core::parse_base64_any(credentials.key);
    if (!point) return unauthorized("The VAPID public key is not base64.");
    const auto jwt = parse_jwt(credentials.token);
    if (!jwt) return fail(jwt.error());
    if (const auto timely = check_time(jwt->exp_s, now_s); !timely) {
        return fail(timely.error());
    }
    if (std::find(audiences_.begin(), audiences_.end(), jwt->aud) == audiences_.end()) {
        return unauthorized("The VAPID token's aud is not the origin of this endpoint.");
    }
    switch (es256_.verify(*point, jwt->signed_part, jwt->signature)) {
        case Es256::Verdict::good: break;
        case Es256::Verdict::bad_key:
            last_ = VapidOutcome::forged;
            return unauthorized("The VAPID public key is not an uncompressed P-256 point.");
        case Es256::Verdict::bad_signature:
            last_ = VapidOutcome::forged;
            return unauthorized("The VAPID token's signature does not fit its key.");
    }
    last_ = VapidOutcome::verified;
    const VapidSender sender{es256_.sha256(*point)};
    cache_.put(digest, {jwt->exp_s, sender.key_sha256});
    return sender;
}

}  // namespace beckon::ingest
