#include "retry/webhook/request_builder.hpp"

#include "core/ascii.hpp"
#include "core/ids.hpp"
#include "fetch/url.hpp"
#include "retry/attempt/request_target.hpp"
#include "retry/attempt/signature.hpp"
#include "retry/event/attachment/attachments.hpp"
#include "retry/webhook/binary_message.hpp"

#include <span>
#include <utility>
#include <vector>

namespace beckon::retry {

using std::chrono::duration_cast;
using std::chrono::seconds;

namespace {

/// One that does not stand in any part, of at most 70 characters (RFC 2046, 5.1.1). An owner can
/// know the delivery's id beforehand and put it into the event. Nobody can know the one that is
/// made then, so the parts are searched twice at most, and not once for each character of an
/// owner's.
std::string boundary_for(const Webhook& webhook, const Delivery& delivery,
                         const std::string& payload) {
    std::string boundary = "beckon-" + delivery.id;
    const auto taken = [&] {
        if (payload.find(boundary) != std::string::npos) return true;
        for (const auto& [name, value] : webhook.form_fields) {
            if (value.find(boundary) != std::string::npos) return true;
        }
        return false;
    };
    while (taken()) boundary = "beckon-" + core::to_hex(core::random_uuid4());
    return boundary;
}

void add_part(std::string& out, const std::string& boundary, const std::string& name,
              std::string_view type, std::string_view value) {
    out.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=\"");
    out.append(name).append("\"\r\n");
    if (!type.empty()) out.append("Content-Type: ").append(type).append("\r\n");
    out.append("\r\n").append(value).append("\r\n");
}

std::string multipart(const Webhook& webhook, const std::string& boundary,
                      const std::string& payload) {
    std::string body;
    for (const auto& [name, value] : webhook.form_fields) {
        add_part(body, boundary, name, "", value);
    }
    // Readers of forms know a part as JSON, and nothing of CloudEvents.
    add_part(body, boundary, webhook.payload_field, "application/json", payload);
    return body.append("--").append(boundary).append("--\r\n");
}

/// Sets the body, and the headers that belong to it. Returns how many of them hold a part of the
/// event; they are the first ones.
std::size_t set_body(HttpRequest& request, const Webhook& webhook, const Delivery& delivery,
                     const std::string& event) {
    auto& headers = request.headers;
    // An event that headers cannot express is sent structured: receivers distinguish the modes by
    // the type.
    auto message = webhook.mode == ContentMode::binary ? binary_message(event) : std::nullopt;
    if (message) {
        headers = std::move(message->headers);
        request.body = std::move(message->body);
        const bool typed = !message->content_type.empty();
        // Without a type: libcurl is told to leave the header out.
        headers.push_back(typed ? "Content-Type: " + message->content_type : "Content-Type:");
        return headers.size() - (typed ? 0 : 1);
    }
    request.body = with_attachments(event, webhook.attachments);
    std::string type = "application/cloudevents+json; charset=utf-8";
    if (webhook.encoding == Encoding::multipart) {
        const auto boundary = boundary_for(webhook, delivery, request.body);
        request.body = multipart(webhook, boundary, request.body);
        type = "multipart/form-data; boundary=" + boundary;
    }
    headers.push_back("Content-Type: " + type);
    return 0;
}

/// `of_event`: how many headers hold a part of the event.
void sign(HttpRequest& request, const Webhook& webhook, const Delivery& delivery,
          core::Timestamp now, std::size_t of_event) {
    const auto at = duration_cast<seconds>(now.time_since_epoch());
    request.headers.push_back("webhook-id: " + delivery.id);
    request.headers.push_back("webhook-timestamp: " + std::to_string(at.count()));
    if (!webhook.secrets.empty()) {
        request.headers.push_back("webhook-signature: " + webhook_signature(webhook.secrets,
                                                                            delivery.id, at,
                                                                            request.body));
    }
    if (!webhook.shared_key) return;
    const auto sent = request_target(webhook.url);
    if (!sent) return;  // the attempt fails by its URL
    request.target = sent->path;
    request.headers.push_back("Host: " + sent->host);
    for (auto& header : http_signature(*webhook.shared_key,
                                       {.method = to_string(webhook.method),
                                       .target = sent->path,
                                       .host = sent->host,
                                       .body = request.body,
                                       .headers = std::span{request.headers}.first(of_event)},
                                       now)) {
        request.headers.push_back(std::move(header));
    }
}

void add_own_headers(HttpRequest& request, const Webhook& webhook) {
    for (const auto& [name, value] : webhook.headers) {
        request.headers.push_back(name + ": " + value);
    }
}

}  // namespace

HttpRequest build_handshake(const Webhook& webhook) {
    HttpRequest request{
        .url = webhook.url,
        .method = Method::options,
        .headers = {"WebHook-Request-Origin: " + webhook.request_origin, "Content-Type:"},
        .body = {},
        .timeout = webhook.timeout,
        .owner = webhook.owner};
    add_own_headers(request, webhook);
    return request;
}

bool allows_events(const HttpAnswer& answer, const Webhook& webhook) {
    return answer.end == HttpAnswer::End::answered &&
           (answer.allowed_origin == "*" ||
            core::lower(answer.allowed_origin) == core::lower(webhook.request_origin));
}

HttpRequest build_request(const Webhook& webhook, const Delivery& delivery, core::Timestamp now,
                          const EventText& event) {
    HttpRequest request{.url = webhook.url,
                        .method = webhook.method,
                        .timeout = webhook.timeout,
                        .owner = webhook.owner};
    const auto of_event = set_body(request, webhook, delivery, event ? *event : delivery.event);
    add_own_headers(request, webhook);
    if (!webhook.request_origin.empty()) {
        request.headers.push_back("Origin: " + webhook.request_origin);
    }
    request.headers.push_back("Beckon-Attempt: " + std::to_string(delivery.attempts));
    sign(request, webhook, delivery, now, of_event);
    return request;
}

std::string host_of(const std::string& text) {
    const auto url = fetch::Url::parse(text);
    if (!url) return "";
    auto host = url->host();
    if (const auto port = url->part(CURLUPART_PORT)) host.append(":").append(*port);
    return host;
}

}  // namespace beckon::retry
