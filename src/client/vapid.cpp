#include "client/vapid.hpp"

#include "client/private_file.hpp"
#include "core/base64url.hpp"
#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::client {

using core::Fault;
using nlohmann::json;

std::string sign_jwt(const P256Key& key, const VapidClaims& claims) {
    json payload{{"aud", claims.audience}, {"exp", claims.expires.count()}};
    if (!claims.subject.empty()) payload["sub"] = claims.subject;
    std::string token = core::base64url(R"({"typ":"JWT","alg":"ES256"})");
    token += '.';
    token += core::base64url(core::json_text(payload));
    return token + '.' + core::base64url(key.sign(token));
}

VapidHeaders vapid_headers(const P256Key& key, const VapidClaims& claims, VapidScheme scheme) {
    const std::string point = core::base64url(key.public_point());
    switch (scheme) {
        case VapidScheme::vapid: return {"vapid t=" + sign_jwt(key, claims) + ", k=" + point, ""};
        case VapidScheme::webpush:
            return {"WebPush " + sign_jwt(key, claims), "p256ecdsa=" + point};
    }
    return {};
}

Result<P256Key> load_vapid_key(const std::filesystem::path& file, IfMissing if_missing) {
    if (!std::filesystem::exists(file)) {
        if (if_missing == IfMissing::fail) {
            return core::fail(Fault::not_found, file.string() + " does not exist");
        }
        P256Key key = P256Key::generate();
        const json pair{{"publicKey", core::base64url(key.public_point())},
                        {"privateKey", core::base64url(key.private_scalar())}};
        if (auto written = write_private_file(file, core::json_text(pair, 2) + "\n"); !written) {
            return core::fail(written.error());
        }
        return key;
    }
    const auto text = read_text_file(file);
    if (!text) return core::fail(text.error());
    if (text->starts_with("-----BEGIN")) return P256Key::from_pem(*text);
    const json pair = core::parse_json(*text);
    const auto bad = [&](const std::string& why) {
        return core::fail(
            Fault::invalid,
            file.string() + ": " + why +
                R"( (expected JSON {"publicKey","privateKey"} or a PEM private key))");
    };
    if (!pair.is_object() || !pair.contains("privateKey") || !pair["privateKey"].is_string()) {
        return bad("no privateKey");
    }
    const auto scalar = core::parse_base64_any(pair["privateKey"].get<std::string>());
    if (!scalar) return bad("privateKey is not base64url");
    auto key = P256Key::from_private(*scalar);
    if (!key) return bad(key.error().message);
    return key;
}

}  // namespace beckon::client
