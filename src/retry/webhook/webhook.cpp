#include "retry/webhook/webhook.hpp"

#include "core/base64url.hpp"
#include "core/enum_names.hpp"
#include "core/handle.hpp"
#include "core/ids.hpp"
#include "core/json_text.hpp"
#include "core/tokens.hpp"
#include "core/whole_number.hpp"
#include "records/fields.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/rand.h>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kType = "beckon.webhook.v1";
constexpr std::string_view kStateType = "beckon.webhook.state.v1";
constexpr std::string_view kFilterType = "beckon.webhook.filter.v1";
constexpr std::string_view kPurpose = "beckon/webhook-secret/1";
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTextAt = 1 + kNonceBytes;  ///< behind the key's id
constexpr std::size_t kTagBytes = 16;

using Cipher = core::Handle<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free>;

unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

enum class Way : int { open, seal };

/// Encrypts the text within `sealed` in place, or decrypts it: AES-256-GCM, bound to the webhook's
/// id. Around the text are the key's id and a nonce, and a tag. False: OpenSSL refuses it.
bool encrypt(Way way, std::string& sealed, const core::KeyRing::Key& key,
             std::string_view webhook) {
    const bool seals = way == Way::seal;
    const auto derived = core::KeyRing::derive(key, kPurpose);
    const auto length = static_cast<int>(sealed.size() - kTextAt - kTagBytes);
    auto* const text = bytes(sealed) + kTextAt;
    auto* const tag = text + length;
    const Cipher cipher{EVP_CIPHER_CTX_new()};
    auto* const evp = cipher.get();
    int size = 0;
    return EVP_CipherInit_ex(evp, EVP_aes_256_gcm(), nullptr, derived.data(), bytes(sealed) + 1,
                             static_cast<int>(way)) == 1 &&
           EVP_CipherUpdate(evp, nullptr, &size, bytes(webhook),
                            static_cast<int>(webhook.size())) == 1 &&
           EVP_CipherUpdate(evp, text, &size, text, length) == 1 &&
           (seals || EVP_CIPHER_CTX_ctrl(evp, EVP_CTRL_GCM_SET_TAG, kTagBytes, tag) == 1) &&
           EVP_CipherFinal_ex(evp, text + size, &size) == 1 &&
           (!seals || EVP_CIPHER_CTX_ctrl(evp, EVP_CTRL_GCM_GET_TAG, kTagBytes, tag) == 1);
}

core::Timestamp time_of(const Json& value) {
    return core::Timestamp{std::chrono::milliseconds{core::whole_number<std::int64_t>(value)}};
}

/// What `read` makes of the record's JSON.
template <class T, class F>
core::Result<T> decoded(const core::RecordView& record, const char* what, F&& read) {
    try {
        return read(core::must_parse_json(record.value.value_or("")));
    } catch (const Json::exception& fault) {
        return core::fail(Fault::corrupt,
                          std::string{what} + " that does not decode: " + fault.what());
    }
}

/// Opens each secret of the value; the first that does not open ends it.
core::Result<void> open_secrets(const Json& value, const SecretBox& box, Webhook& webhook) {
    for (const auto& sealed : value.at("secrets")) {
        auto secret = box.open(sealed.get<std::string>(), webhook.id);
        if (!secret) return core::fail(secret.error());
        webhook.secrets.push_back(std::move(*secret));
    }
    if (value.contains("headers")) {
        const auto headers = box.open(value.at("headers").get<std::string>(), webhook.id);
        if (!headers) return core::fail(headers.error());
        webhook.headers = core::must_parse_json(*headers).get<std::map<std::string, std::string>>();
    }
    if (!value.contains("shared_key")) return {};
    const auto& key = value.at("shared_key");
    auto secret = box.open(key.at("secret").get<std::string>(), webhook.id);
    if (!secret) return core::fail(secret.error());
    webhook.shared_key = SharedKey{key.at("id").get<std::string>(), std::move(*secret)};
    return {};
}

/// The first value of the enum where the member is missing.
template <class Enum>
Enum enum_of(const Json& value, const char* name) {
    return core::value_named<Enum>(value.value(name, "")).value_or(Enum{});
}

Webhook from_json(std::string_view id, const Json& value) {
    return {.id = std::string{id},
            .owner = value.at("owner").get<std::string>(),
            .url = value.at("url").get<std::string>(),
            .method = value.value("method", "POST") == "PUT" ? Method::put : Method::post,
            .encoding = enum_of<Encoding>(value, "encoding"),
            .mode = enum_of<ContentMode>(value, "mode"),
            .form_fields = value.value("form_fields", std::map<std::string, std::string>{}),
            .payload_field = value.value("payload_field", "payload"),
            .types = value.value("types", std::vector<std::string>{}),
            .filter = value.contains("filter") ? core::json_text(value.at("filter")) : "",
            .attachments = value.value("attachments", std::map<std::string, std::string>{}),
            .ordered = value.value("ordered", false),
            .at_a_time = core::whole_number(value, "at_a_time", std::size_t{64}),
            .timeout = std::chrono::seconds{core::whole_number(value, "timeout_s", 15)},
            .request_origin = value.value("request_origin", ""),
            .description = value.value("description", ""),
            .created = time_of(value.at("created"))};
}

}  // namespace

SecretBox::SecretBox(std::shared_ptr<const core::KeyRing> keys) : keys_(std::move(keys)) {}

std::string SecretBox::seal(std::string_view secret, std::string_view webhook) const {
    const auto& key = keys_->sealing();
    std::string out(kTextAt + secret.size() + kTagBytes, '\0');
    out[0] = static_cast<char>(key.id);
    out.replace(kTextAt, secret.size(), secret);
    if (RAND_bytes(bytes(out) + 1, kNonceBytes) != 1 || !encrypt(Way::seal, out, key, webhook)) {
        throw std::runtime_error("OpenSSL failed to encrypt a secret");
    }
    return core::base64url(out);
}

core::Result<std::string> SecretBox::open(std::string_view sealed, std::string_view webhook) const {
    auto in = core::parse_base64url(sealed);
    const bool whole = in && in->size() >= kTextAt + kTagBytes;
    const auto* key = whole ? keys_->find(static_cast<std::uint8_t>(in->front())) : nullptr;
    if (!key || !encrypt(Way::open, *in, *key, webhook)) {
        return core::fail(Fault::unauthorized, "a secret that no key of the ring opens");
    }
    return in->substr(kTextAt, in->size() - kTextAt - kTagBytes);
}

core::Record encode(const Webhook& webhook, const SecretBox& box) {
    Json value{{"owner", webhook.owner},
               {"url", webhook.url},
               {"method", to_string(webhook.method)},
               {"encoding", core::name_of(webhook.encoding)},
               {"types", webhook.types},
               {"secrets", Json::array()},
               {"ordered", webhook.ordered},
               {"at_a_time", webhook.at_a_time},
               {"timeout_s", webhook.timeout.count()},
               {"created", core::to_ms(webhook.created)}};
    for (const auto& secret : webhook.secrets) {
        value["secrets"].push_back(box.seal(secret, webhook.id));
    }
    if (webhook.shared_key) {
        value["shared_key"] = {{"id", webhook.shared_key->id},
                               {"secret", box.seal(webhook.shared_key->secret, webhook.id)}};
    }
    if (webhook.encoding == Encoding::multipart) {
        value["form_fields"] = webhook.form_fields;
        value["payload_field"] = webhook.payload_field;
    }
    if (!webhook.headers.empty()) {
        value["headers"] = box.seal(core::json_text(Json(webhook.headers)), webhook.id);
    }
    if (webhook.mode == ContentMode::binary) value["mode"] = "binary";
    if (!webhook.filter.empty()) value["filter"] = core::must_parse_json(webhook.filter);
    if (!webhook.attachments.empty()) value["attachments"] = webhook.attachments;
    if (!webhook.request_origin.empty()) value["request_origin"] = webhook.request_origin;
    if (!webhook.description.empty()) value["description"] = webhook.description;
    return core::state_record(webhook.id, kType, core::json_text(value));
}

core::Record encode_removed(std::string_view id) {
    return core::state_record(std::string{id}, kType, std::nullopt);
}

core::OwnEvent disabled_event(const Webhook& webhook, const WebhookState& state) {
    const auto since = state.enabled_at.value_or(webhook.created).time_since_epoch().count();
    return {.id = webhook.id + "/disabled/" + std::to_string(since),
            .source = "/beckon/retry",
            .type = "beckon.webhook.disabled",
            .subject = webhook.id,
            .owner = webhook.owner,
            .data = {{"webhook", webhook.id}, {"reason", state.reason}}};
}

core::Record encode(std::string_view id, const WebhookState& state) {
    Json value{{"enabled", state.enabled}};
    if (!state.reason.empty()) value["reason"] = state.reason;
    if (state.failing_since) value["failing_since"] = core::to_ms(*state.failing_since);
    if (state.enabled_at) value["enabled_at"] = core::to_ms(*state.enabled_at);
    if (state.enabled_now) value["enabled_now"] = true;
    return core::state_record(std::string{id} + "/state", kStateType, core::json_text(value));
}

core::Record encode_state_removed(std::string_view id) {
    return core::state_record(std::string{id} + "/state", kStateType, std::nullopt);
}

std::string filter_digest(std::string_view filter) {
    const auto digest = core::sha256(filter);
    core::Bytes16 half;
    std::copy_n(digest.begin(), half.size(), half.begin());
    return core::to_hex(half);
}

core::Record encode(std::string_view id, const CostlyFilter& filter) {
    const Json value{{"filter", filter.filter},
                     {"at", core::to_ms(filter.at)},
                     {"source", filter.source},
                     {"event", filter.event}};
    return core::state_record(std::string{id} + "/filter", kFilterType, core::json_text(value));
}

core::Record encode_filter_removed(std::string_view id) {
    return core::state_record(std::string{id} + "/filter", kFilterType, std::nullopt);
}

core::Result<Webhook> decode_webhook(const core::RecordView& record, const SecretBox& box) {
    return decoded<Webhook>(record, "a webhook", [&](const Json& value) -> core::Result<Webhook> {
        auto webhook = from_json(record.key, value);
        if (const auto opened = open_secrets(value, box, webhook); !opened) {
            return core::fail(opened.error());
        }
        return webhook;
    });
}

core::Result<WebhookState> decode_webhook_state(const core::RecordView& record) {
    return decoded<WebhookState>(record, "a webhook's state", [&](const Json& value) {
        WebhookState state{.enabled = value.at("enabled").get<bool>(),
                           .reason = value.value("reason", "")};
        if (value.contains("failing_since")) state.failing_since = time_of(value["failing_since"]);
        if (value.contains("enabled_at")) state.enabled_at = time_of(value["enabled_at"]);
        if (value.value("enabled_now", false)) state.enabled_at = record.time;
        return state;
    });
}

core::Result<CostlyFilter> decode_costly_filter(const core::RecordView& record) {
    return decoded<CostlyFilter>(record, "a costly filter", [](const Json& value) {
        return CostlyFilter{.filter = value.at("filter").get<std::string>(),
                            .at = time_of(value.at("at")),
                            .source = value.at("source").get<std::string>(),
                            .event = value.at("event").get<std::string>()};
    });
}

}  // namespace beckon::retry
