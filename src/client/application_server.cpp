#include "client/application_server.hpp"

#include "client/url.hpp"
#include "core/ascii.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/whole_number.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::client {

using core::Fault;
using nlohmann::json;

namespace {

constexpr std::size_t kReplyBytesMax = 1U << 20;

std::optional<PushError> parse_error(const std::string& body) {
    const json object = core::parse_json(body);
    if (!object.is_object()) return std::nullopt;
    const auto* number = core::find_member(object, "errno");
    return PushError{number ? core::find_whole_number<int>(*number) : std::nullopt,
                     core::text_member(object, "message")};
}

std::string meaning(const PushReply& reply) {
    switch (reply.status) {
        case 200:
        case 201:
        case 202:
            return "accepted: the push service keeps it until it is delivered or its TTL ends";
        case 204: return "removed, or already gone";
        case 400:
            return "the push service does not understand the request: a library or header "
                   "fault, repeating it changes nothing";
        case 401:
        case 403:
            return "the VAPID token or key does not fit: its audience must be the endpoint's "
                   "origin, it must not be expired, and a restricted subscription takes only "
                   "the key it was made for";
        case 404:
            return "this endpoint URL is not of this push service, or it is mutilated: forget "
                   "the subscription";
        case 410:
            return "the subscription is gone (unsubscribed or expired): forget it, the user "
                   "has to subscribe again";
        case 413:
            return "the message is too large: the body may have 4096 bytes, which is 3993 "
                   "bytes of text";
        case 429: return "too many requests: wait before sending more";
        case 502: return "the push service reached no bridge for this client: try again later";
        case 500:
        case 503: return "the push service cannot take messages now: send the same again later";
        default: break;
    }
    if (reply.accepted()) return "accepted";
    return reply.status >= 500 ? "the push service fails: try again later" : "not accepted";
}

}  // namespace

const VapidHeaders& ApplicationServer::vapid_for(const std::string& origin) {
    const auto now = std::chrono::system_clock::now();
    auto& token = tokens_[origin];
    if (token.renew <= now) {
        const auto expires = std::chrono::duration_cast<std::chrono::seconds>(
            (now + options_.token_lifetime).time_since_epoch());
        token = {
            vapid_headers(*options_.vapid, {origin, expires, options_.subject}, options_.scheme),
            now + options_.token_lifetime / 2};
    }
    return token.headers;
}

Result<PushReply> ApplicationServer::perform(const std::string& url,
                                             const fetch::HeaderLines& headers) {
    CURL* curl = handle_.get();
    fetch::Transfer transfer{
        curl, {.url = url, .timeout = options_.timeout, .body_bytes_max = kReplyBytesMax}};
    transfer.headers(headers);
    transfer.trust({.insecure = options_.tls.insecure, .ca_file = options_.tls.ca_file});
    PushReply reply;
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    const auto before = std::chrono::steady_clock::now();
    auto answer = transfer.perform();
    reply.took = std::chrono::steady_clock::now() - before;
    if (!answer) return core::fail(answer.error());
    reply.status = answer->status;
    reply.body = std::move(answer->body);
    reply.error = parse_error(reply.body);
    curl_header* header = nullptr;
    while ((header = curl_easy_nextheader(curl, CURLH_HEADER, -1, header)) != nullptr) {
        reply.headers.emplace(core::lower(header->name), header->value);
    }
    return reply;
}

Result<PushReply> ApplicationServer::send(const Subscription& to, const PushMessage& message) {
    if (!message.text) return post(to.endpoint, message, std::nullopt);
    auto encrypted =
        encrypt(to.keys, *message.text,
                {.encoding = message.encoding, .padding_bytes = message.padding_bytes});
    if (!encrypted) return core::fail(encrypted.error());
    return post(to.endpoint, message, *encrypted);
}

Result<PushReply> ApplicationServer::send(const std::string& endpoint, const PushMessage& message) {
    if (message.text) {
        return core::fail(Fault::invalid,
                          "a message with text needs the subscription's keys, not only its URL");
    }
    return post(endpoint, message, std::nullopt);
}

Result<PushReply> ApplicationServer::post(const std::string& endpoint, const PushMessage& message,
                                          const std::optional<EncryptedMessage>& encrypted) {
    const auto url = parse_url(endpoint);
    if (!url) return core::fail(url.error());
    fetch::HeaderLines headers;
    headers.add("TTL: " + std::to_string(message.ttl_s));
    headers.add("Expect:");
    headers.add("Accept:");
    if (!message.topic.empty()) headers.add("Topic: " + message.topic);
    if (!message.urgency.empty()) headers.add("Urgency: " + message.urgency);
    std::string crypto_key;
    if (encrypted) {
        headers.add("Content-Type: application/octet-stream");
        headers.add("Content-Encoding: " + std::string{to_string(encrypted->encoding)});
        if (!encrypted->encryption.empty()) headers.add("Encryption: " + encrypted->encryption);
        crypto_key = encrypted->crypto_key;
    } else {
        headers.add("Content-Type:");
    }
    if (options_.vapid) {
        const VapidHeaders& vapid = vapid_for(url->origin());
        headers.add("Authorization: " + vapid.authorization);
        if (!crypto_key.empty() && !vapid.crypto_key.empty()) crypto_key += ';';
        crypto_key += vapid.crypto_key;
    }
    if (!crypto_key.empty()) headers.add("Crypto-Key: " + crypto_key);
    const std::string_view body = encrypted ? std::string_view{encrypted->body} : "";
    CURL* curl = handle_.get();
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
    return perform(endpoint, headers);
}

Result<PushReply> ApplicationServer::remove(const std::string& url) {
    if (const auto parsed = parse_url(url); !parsed) return core::fail(parsed.error());
    const fetch::HeaderLines headers;
    CURL* curl = handle_.get();
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
    return perform(url, headers);
}

Result<std::string> message_url(const std::string& endpoint, const PushReply& reply) {
    const std::string location = reply.header("location");
    if (location.starts_with('/')) {
        const auto base = parse_url(endpoint);
        if (!base) return core::fail(base.error());
        return base->origin() + location;
    }
    if (const auto url = parse_url(location); !url) {
        return core::fail(Fault::corrupt, "the reply has no usable Location");
    }
    return location;
}

std::string PushReply::header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
}

std::string explain(const PushReply& reply) {
    std::string text = std::to_string(reply.status) + ": " + meaning(reply);
    if (const auto wait = reply.header("retry-after"); !wait.empty()) {
        text += " (the server asks to wait " + wait + " s)";
    }
    if (reply.error) {
        text += "; its message: " + reply.error->message;
        if (reply.error->number) text += " (errno " + std::to_string(*reply.error->number) + ")";
    }
    return text;
}

}  // namespace beckon::client
