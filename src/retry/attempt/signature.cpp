#include "retry/attempt/signature.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "core/hmac.hpp"
#include "core/list_text.hpp"
#include "core/time_text.hpp"
#include "core/tokens.hpp"

#include <stdexcept>

#include <openssl/rand.h>

namespace beckon::retry {

using core::Fault;

namespace {

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr std::size_t kRandomSecretBytes = 32;

}  // namespace

core::Result<std::string> parse_secret(std::string_view text) {
    if (!text.starts_with(kSecretPrefix)) {
        return core::fail(Fault::invalid, "a secret begins with whsec_");
    }
    auto bytes = core::parse_base64_any(text.substr(kSecretPrefix.size()));
    if (!bytes) return core::fail(Fault::invalid, "a secret is whsec_ and base64");
    const auto kept = secret_text(*bytes);
    if (text != kept && text != std::string_view{kept}.substr(0, kept.find('='))) {
        return core::fail(Fault::invalid,
                          "a secret is whsec_ and base64 with + and / (RFC 4648 §4), not the "
                          "URL-safe alphabet, since receivers would read other bytes");
    }
    if (bytes->size() < kSecretBytesMin || bytes->size() > kSecretBytesMax) {
        return core::fail(Fault::invalid, "a secret has 24 to 64 bytes, this one has " +
                                              std::to_string(bytes->size()));
    }
    return *bytes;
}

std::string random_secret() {
    std::string secret(kRandomSecretBytes, '\0');
    if (RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()),
                   static_cast<int>(secret.size())) != 1) {
        throw std::runtime_error("OpenSSL has no random bytes");
    }
    return secret;
}

std::string secret_text(std::string_view secret) {
    return std::string{kSecretPrefix} + core::base64(secret);
}

std::string webhook_signature(std::span<const std::string> secrets, std::string_view id,
                              std::chrono::seconds timestamp, std::string_view body) {
    std::string text{id};
    text.append(".").append(std::to_string(timestamp.count())).append(".").append(body);
    std::string signatures;
    for (const auto& secret : secrets) {
        if (!signatures.empty()) signatures += ' ';
        signatures += "v1," + core::base64(core::hmac_sha256(secret, text));
    }
    return signatures;
}

bool is_signed_by(std::string_view secret, std::string_view signatures, std::string_view id,
                  std::chrono::seconds timestamp, std::string_view body) {
    const std::string own{secret};
    const auto expected = webhook_signature(std::span{&own, 1}, id, timestamp, body);
    bool found = false;
    while (!signatures.empty()) {
        found |= core::same_proof(expected, core::take_part(signatures, ' '));
    }
    return found;
}

std::vector<std::string> http_signature(const SharedKey& key, const SignedRequest& request,
                                        core::Timestamp now) {
    const auto date = core::http_date(now);
    const auto hash = core::sha256(request.body);
    const auto digest =
        "SHA-256=" + core::base64({reinterpret_cast<const char*>(hash.data()), hash.size()});
    auto text = "(request-target): " + core::lower(request.method) + " " +
                std::string{request.target} + "\nhost: " + std::string{request.host} +
                "\ndate: " + date + "\ndigest: " + digest;
    std::string names = "(request-target) host date digest";
    for (const auto& header : request.headers) {
        const auto colon = header.find(':');
        const auto name = core::lower(header.substr(0, colon));
        names.append(1, ' ').append(name);
        text.append(1, '\n').append(name).append(header.substr(colon));
    }
    return {"Date: " + date, "Digest: " + digest,
            "Authorization: Signature keyId=\"" + key.id +
                "\",algorithm=\"hmac-sha256\",headers=\"" + names + "\",signature=\"" +
                core::base64(core::hmac_sha256(key.secret, text)) + "\""};
}

}  // namespace beckon::retry
