#include "ingest/vapid/vapid.hpp"

#include "core/ascii.hpp"
#include "core/assert.hpp"
#include "core/base64url.hpp"
#include "core/handle.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/list_text.hpp"
#include "fetch/url.hpp"
#include "ingest/api/encryption_headers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>

namespace beckon::ingest {

namespace {

tl::unexpected<Failure> unauthorized(std::string_view detail) {
    return fail(Problem::unauthorized, detail);
}

/// `t=<jwt>,k=<key>` in any order, without blanks; names have no case (RFC 9110 §11.2). A value may
/// be a quoted string (§5.6.6); base64url needs no escapes, so none are looked for.
Checked<VapidCredentials> parse_generation_2(std::string_view parameters) {
    std::optional<std::string_view> token;
    std::optional<std::string_view> key;
    while (!parameters.empty()) {
        const auto item = core::take_part(parameters, ',');
        const auto equals = item.find('=');
        if (equals == std::string_view::npos) continue;
        const auto name = item.substr(0, equals);
        if (core::equals_ignoring_case(name, "t")) token = core::unquoted(item.substr(equals + 1));
        if (core::equals_ignoring_case(name, "k")) key = core::unquoted(item.substr(equals + 1));
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
    auto json = core::parse_json(*text);
    if (!json.is_object()) return std::nullopt;
    return json;
}

/// A NumericDate (RFC 7519 §2), which may have a fraction: the whole seconds of it. nullopt: no
/// number, or none that a date of ours can be.
std::optional<std::int64_t> numeric_date(const nlohmann::json& value) {
    constexpr double kLargest = std::int64_t{1} << 53;
    if (!value.is_number()) return std::nullopt;
    const auto number = value.get<double>();
    if (!(number >= 0 && number <= kLargest)) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

/// A string, or a list of one (RFC 7519 §4.1.3); null: anything else.
const std::string* only_text(const nlohmann::json& value) {
    const auto& one = value.is_array() && value.size() == 1 ? value.front() : value;
    return one.get_ptr<const std::string*>();
}

/// No other question of senders is as frequent as the right value of `aud`.
std::string refusal_of_audience(const std::vector<std::string>& audiences) {
    constexpr std::size_t kNamed = 10;
    std::string text = "The VAPID token's aud is not the origin of this endpoint";
    const char* before = "; accepted: ";
    for (std::size_t i = 0; i < std::min(audiences.size(), kNamed); ++i) {
        text.append(std::exchange(before, ", ")).append(audiences[i]);
    }
    return text + ".";
}

std::int64_t seconds(core::Timestamp time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Checked<void> check_time(std::int64_t exp_s, std::int64_t now_s) {
    if (exp_s < now_s - VapidVerifier::kLeewayS) {
        return unauthorized("The VAPID token has expired (exp).");
    }
    if (exp_s > now_s + VapidVerifier::kLifetimeMaxS + VapidVerifier::kLeewayS) {
        return unauthorized("The VAPID token's exp is more than 24 hours ahead.");
    }
    return {};
}

using core::Handle;
using DigestContext = Handle<EVP_MD_CTX, EVP_MD_CTX_free>;
using KeyContext = Handle<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using Key = Handle<EVP_PKEY, EVP_PKEY_free>;

constexpr std::size_t kPointBytes = 65;
constexpr std::size_t kScalarBytes = 32;

/// One DER INTEGER from 32 big-endian bytes.
std::size_t append_integer(std::uint8_t* out, std::string_view scalar) {
    std::size_t skip = 0;
    while (skip < kScalarBytes - 1 && scalar[skip] == 0) ++skip;
    const bool sign_byte = (static_cast<std::uint8_t>(scalar[skip]) & 0x80) != 0;
    const auto length = kScalarBytes - skip + (sign_byte ? 1 : 0);
    std::size_t n = 0;
    out[n++] = 0x02;
    out[n++] = static_cast<std::uint8_t>(length);
    if (sign_byte) out[n++] = 0;
    for (auto i = skip; i < kScalarBytes; ++i) out[n++] = static_cast<std::uint8_t>(scalar[i]);
    return n;
}

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

/// ES256 verification with OpenSSL contexts that are made once and reused: a fresh set costs a
/// third more per verification. One instance per thread.
class Es256 {
public:
    Es256() { BECKON_ASSERT(verifier_ && from_data_, "OpenSSL lacks EC"); }

    enum class Verdict : std::uint8_t {
        good,
        bad_key,        ///< not an uncompressed P-256 point
        bad_signature,  ///< wrong, or not 64 bytes
    };
    /// `point` is the raw key (65 bytes, leading 0x04), `signature` r ‖ s.
    Verdict verify(std::string_view point, std::string_view message, std::string_view signature) {
        const auto key = import(point);
        if (!key) {
            ERR_clear_error();
            return Verdict::bad_key;
        }
        if (signature.size() != 2 * kScalarBytes) return Verdict::bad_signature;
        std::array<std::uint8_t, 72> der{};
        std::size_t body = append_integer(der.data() + 2, signature.substr(0, kScalarBytes));
        body += append_integer(der.data() + 2 + body, signature.substr(kScalarBytes));
        der[0] = 0x30;
        der[1] = static_cast<std::uint8_t>(body);

        auto* context = verifier_.get();
        EVP_MD_CTX_reset(context);
        const bool good =
            EVP_DigestVerifyInit_ex(context, nullptr, "SHA256", nullptr, nullptr, key.get(),
                                    nullptr) == 1 &&
            EVP_DigestVerify(context, der.data(), body + 2, bytes_of(message), message.size()) == 1;
        ERR_clear_error();
        return good ? Verdict::good : Verdict::bad_signature;
    }

private:
    Key import(std::string_view point) const {
        if (point.size() != kPointBytes || point[0] != 0x04) return nullptr;
        if (EVP_PKEY_fromdata_init(from_data_.get()) != 1) return nullptr;
        char group[] = "prime256v1";
        const std::array<OSSL_PARAM, 3> parameters{
            OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
            OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY,
                                              const_cast<char*>(point.data()), point.size()),
            OSSL_PARAM_construct_end(),
        };
        EVP_PKEY* key = nullptr;
        EVP_PKEY_fromdata(from_data_.get(), &key, EVP_PKEY_PUBLIC_KEY,
                          const_cast<OSSL_PARAM*>(parameters.data()));
        return Key{key};
    }

    const DigestContext verifier_{EVP_MD_CTX_new()};
    const KeyContext from_data_{EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr)};
};

Checked<VapidCredentials> parse_authorization(std::string_view authorization,
                                              const RequestHeaders& headers, std::string& storage) {
    const auto parts = core::split_authorization(authorization);
    if (!parts) return unauthorized("Authorization must be 'vapid t=<token>, k=<key>'.");
    auto rest = parts->rest;
    if (rest.find_first_of(core::kBlanks) != std::string_view::npos) {
        storage.assign(rest);
        std::erase_if(storage,
                      [](char c) { return core::kBlanks.find(c) != std::string_view::npos; });
        rest = storage;
    }
    if (parts->is("vapid")) return parse_generation_2(rest);
    if (parts->is("webpush") || parts->is("bearer")) return parse_generation_1(rest, headers);
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
    if (core::text_member(*header, "alg") != "ES256") {
        return unauthorized("The VAPID token's alg must be ES256.");
    }
    auto signature = decode_part(token.substr(last + 1));
    const auto claims = parse_object(token.substr(first + 1, last - first - 1));
    if (!signature || !claims) return unauthorized(kForm);
    jwt.signature = std::move(*signature);

    const auto exp = claims->find("exp");
    const auto exp_s = exp == claims->end() ? std::nullopt : numeric_date(*exp);
    if (!exp_s) return unauthorized("The VAPID token's exp must be seconds since 1970.");
    jwt.exp_s = *exp_s;
    const auto aud = claims->find("aud");
    const auto* audience = aud == claims->end() ? nullptr : only_text(*aud);
    if (!audience) {
        return unauthorized(
            "The VAPID token's aud must be one string, the endpoint's origin, or a list of it "
            "alone.");
    }
    jwt.aud = *audience;
    const auto sub = claims->find("sub");
    if (sub != claims->end() && !sub->is_string() && !sub->is_null()) {
        return unauthorized("The VAPID token's sub must be a string.");
    }
    return jwt;
}

std::vector<std::string> accepted_audiences(std::string_view origin,
                                            const std::vector<std::string>& extra) {
    std::vector<std::string> audiences{std::string{origin}};
    if (auto url = fetch::Url::parse(std::string{origin})) {
        // With the scheme's port or without any. The Rust and the Java sender library leave out
        // every port, so this must be good although it may be another origin: they could not send
        // here at all otherwise.
        const auto port = url->part(CURLUPART_PORT) ? std::nullopt
                                                    : url->part(CURLUPART_PORT, CURLU_DEFAULT_PORT);
        url->set(CURLUPART_PORT, port ? port->c_str() : nullptr);
        audiences.push_back(url->origin());
    }
    audiences.insert(audiences.end(), extra.begin(), extra.end());
    return audiences;
}

VapidVerifier::VapidVerifier(std::vector<std::string> audiences, std::size_t cache_entries)
    : audiences_(std::move(audiences)),
      wrong_audience_(refusal_of_audience(audiences_)),
      es256_(std::make_unique<Es256>()),
      cache_(cache_entries) {}

VapidVerifier::~VapidVerifier() = default;

Checked<VapidSender> VapidVerifier::verify(const VapidCredentials& credentials, core::Timestamp now,
                                           const std::function<Checked<void>()>& may_verify) {
    const auto now_s = seconds(now);
    // Without a separator: shifting the border between the two gains nothing, since a sender that
    // can do that holds the valid pair itself.
    const auto digest = core::sha256(credentials.key, credentials.token);
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
                                               const core::Sha256& digest, std::int64_t now_s) {
    const auto point = core::parse_base64_any(credentials.key);
    if (!point) return unauthorized("The VAPID public key is not base64.");
    const auto jwt = parse_jwt(credentials.token);
    if (!jwt) return fail(jwt.error());
    if (const auto timely = check_time(jwt->exp_s, now_s); !timely) {
        return fail(timely.error());
    }
    if (std::find(audiences_.begin(), audiences_.end(), jwt->aud) == audiences_.end()) {
        return unauthorized(wrong_audience_);
    }
    switch (es256_->verify(*point, jwt->signed_part, jwt->signature)) {
        case Es256::Verdict::good: break;
        case Es256::Verdict::bad_key:
            last_ = VapidOutcome::forged;
            return unauthorized("The VAPID public key is not an uncompressed P-256 point.");
        case Es256::Verdict::bad_signature:
            last_ = VapidOutcome::forged;
            return unauthorized("The VAPID token's signature does not fit its key.");
    }
    last_ = VapidOutcome::verified;
    const VapidSender sender{core::sha256(*point)};
    cache_.put(digest, {jwt->exp_s, sender.key_sha256});
    return sender;
}

std::optional<VapidCache::Verified> VapidCache::find(const core::Sha256& digest) {
    const auto found = index_.find(digest);
    if (found == index_.end()) return std::nullopt;
    auto& entry = found->second;
    proven_.splice(proven_.begin(), entry.proven ? proven_ : fresh_, entry.place);
    entry.proven = true;
    if (proven_.size() > proven_max_) {  // it has one more chance among the new ones
        index_.at(*proven_.back()).proven = false;
        fresh_.splice(fresh_.begin(), proven_, std::prev(proven_.end()));
    }
    return entry.verified;
}

void VapidCache::put(const core::Sha256& digest, const Verified& verified) {
    if (entries_max_ == 0) return;
    erase(digest);
    if (index_.size() >= entries_max_) erase(*(fresh_.empty() ? proven_ : fresh_).back());
    Order one{nullptr};
    const auto added = index_.try_emplace(digest, Entry{verified, one.begin()}).first;
    one.front() = &added->first;
    fresh_.splice(fresh_.begin(), one);
}

void VapidCache::erase(const core::Sha256& digest) {
    const auto found = index_.find(digest);
    if (found == index_.end()) return;
    (found->second.proven ? proven_ : fresh_).erase(found->second.place);
    index_.erase(found);
}

FailedChecks::FailedChecks(std::size_t per_minute)
    : clients_({.limit = per_minute, .window = std::chrono::minutes{1}}),
      unnamed_proxies_({.limit = per_minute * kClaimedClients, .window = std::chrono::minutes{1}}) {
}

std::optional<std::chrono::seconds> FailedChecks::wait(const Origin& origin,
                                                       core::MonoTime now) const {
    if (const auto wait = clients_.wait(origin.claimed.value_or(origin.client), now)) return wait;
    if (!origin.claimed) return std::nullopt;
    return unnamed_proxies_.wait(origin.client, now);
}

void FailedChecks::add(const Origin& origin, core::MonoTime now) {
    clients_.spend(origin.claimed.value_or(origin.client), now);
    if (origin.claimed) unnamed_proxies_.spend(origin.client, now);
}

}  // namespace beckon::ingest
