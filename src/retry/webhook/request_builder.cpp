#include "retry/webhook/request_builder.hpp"

#include "core/handle.hpp"
#include "retry/attachment/attachments.hpp"
#include "retry/attempt/signature.hpp"

#include <utility>

#include <curl/curl.h>

namespace beckon::retry {

using std::chrono::duration_cast;
using std::chrono::seconds;

namespace {

using Url = core::Handle<CURLU, curl_url_cleanup>;

std::string part_of(const Url& url, CURLUPart part, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return "";
    std::string out{text};
    curl_free(text);
    return out;
}

Url parse(const std::string& text) {
    Url url{curl_url()};
    if (url && curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
    return url;
}

struct Body {
    std::string type;
    std::string bytes;
};

/// One that does not stand in any part; the delivery's id makes it the same at each attempt.
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
    while (taken()) boundary += "-";
    return boundary;
}

void add_part(std::string& out, const std::string& boundary, const std::string& name,
              std::string_view type, std::string_view value) {
    out.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=\"");
    out.append(name).append("\"\r\n");
    if (!type.empty()) out.append("Content-Type: ").append(type).append("\r\n");
    out.append("\r\n").append(value).append("\r\n");
}

Body multipart(const Webhook& webhook, const Delivery& delivery, const std::string& payload) {
    const auto boundary = boundary_for(webhook, delivery, payload);
    Body body{.type = "multipart/form-data; boundary=" + boundary, .bytes = {}};
    for (const auto& [name, value] : webhook.form_fields) {
        add_part(body.bytes, boundary, name, "", value);
    }
    add_part(body.bytes, boundary, webhook.payload_field, "application/json", payload);
    body.bytes.append("--").append(boundary).append("--\r\n");
    return body;
}

Body body_of(const Webhook& webhook, const Delivery& delivery) {
    auto payload = with_attachments(delivery.event, webhook.attachments);
    switch (webhook.encoding) {
        case Encoding::json: return {.type = "application/json", .bytes = std::move(payload)};
        case Encoding::multipart: return multipart(webhook, delivery, payload);
    }
    return {};
}

void sign(HttpRequest& request, const Webhook& webhook, const Delivery& delivery,
          core::Timestamp now) {
    const auto at = duration_cast<seconds>(now.time_since_epoch());
    request.headers.push_back("webhook-id: " + delivery.id);
    request.headers.push_back("webhook-timestamp: " + std::to_string(at.count()));
    if (!webhook.secrets.empty()) {
        request.headers.push_back("webhook-signature: " + webhook_signature(webhook.secrets,
                                                                            delivery.id, at,
                                                                            request.body));
    }
    if (!webhook.shared_key) return;
    const auto url = parse(webhook.url);
    if (!url) return;  // the attempt fails by its URL
    auto target = part_of(url, CURLUPART_PATH);
    if (const auto query = part_of(url, CURLUPART_QUERY); !query.empty()) target += "?" + query;
    const auto method = webhook.method == Method::put ? "PUT" : "POST";
    for (auto& header : http_signature(*webhook.shared_key,
                                       {.method = method,
                                       .target = target,
                                       .host = host_of(webhook.url),
                                       .body = request.body},
                                       now)) {
        request.headers.push_back(std::move(header));
    }
}

}  // namespace

HttpRequest build_request(const Webhook& webhook, const Delivery& delivery, core::Timestamp now) {
    auto body = body_of(webhook, delivery);
    HttpRequest request{.url = webhook.url,
                        .method = webhook.method,
                        .headers = {"Content-Type: " + body.type,
                                    "Beckon-Attempt: " + std::to_string(delivery.attempts)},
                        .body = std::move(body.bytes),
                        .timeout = webhook.timeout};
    sign(request, webhook, delivery, now);
    return request;
}

std::string host_of(const std::string& text) {
    const auto url = parse(text);
    if (!url) return "";
    auto host = part_of(url, CURLUPART_HOST);
    if (const auto port = part_of(url, CURLUPART_PORT); !port.empty()) host += ":" + port;
    return host;
}

}  // namespace beckon::retry
