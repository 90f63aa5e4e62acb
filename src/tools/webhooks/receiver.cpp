#include "tools/webhooks/receiver.hpp"

#include "app/process/process.hpp"
#include "core/clock.hpp"
#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "net/http/http_server.hpp"
#include "retry/attempt/signature.hpp"
#include "retry/event/event.hpp"
#include "tools/api/api_command.hpp"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::tools {

using std::chrono::seconds;

namespace {

constexpr std::string_view kPrefix = "webhook-";
/// An older or newer request is refused: an attacker could otherwise repeat a copied one for ever.
constexpr seconds kTolerance{300};

std::string_view header(const net::HttpRequest& request, std::string_view name) {
    for (const auto& one : request.extra) {
        if (one.name == name) return one.value;
    }
    return {};
}

/// Why the request is not to be believed; empty: it is.
std::string distrust(const net::HttpRequest& request, const std::string& secret) {
    const auto id = header(request, "webhook-id");
    const auto at = header(request, "webhook-timestamp");
    const auto signatures = header(request, "webhook-signature");
    if (id.empty() || at.empty() || signatures.empty()) {
        return "no webhook-id, webhook-timestamp or webhook-signature";
    }
    const auto number = core::parse_decimal<std::int64_t>(at);
    if (!number) return "webhook-timestamp is no number";
    const auto now = std::chrono::floor<seconds>(core::SystemClock{}.wall().time_since_epoch());
    if (seconds{*number} < now - kTolerance || seconds{*number} > now + kTolerance) {
        return "webhook-timestamp is more than 5 minutes away";
    }
    if (!retry::is_signed_by(secret, signatures, id, seconds{*number}, request.body)) {
        return "no signature was made with our secret";
    }
    return "";
}

class Handler final : public net::HttpHandler {
public:
    Handler(const WebhookReceiver::Answer& answer, const std::string& secret)
        : answer_(answer), secret_(secret) {}
    void handle(net::ExchangePtr exchange) override {
        const auto& request = exchange->request();
        net::HttpReply reply;
        reply.status = answer_({.id = std::string{header(request, "webhook-id")},
                                .body = std::string{request.body},
                                .distrust = distrust(request, secret_)});
        exchange->reply(std::move(reply));
    }
    net::HttpReply rejection(net::Rejection) override {
        net::HttpReply reply;
        reply.status = 400;
        return reply;
    }

private:
    const WebhookReceiver::Answer& answer_;
    const std::string& secret_;
};

}  // namespace

struct WebhookReceiver::Impl {
    Impl(std::uint16_t port, Answer how)
        : answer(std::move(how)),
          server({.name = "receiver",
                  .port = port,
                  .limits = {.body_bytes_max = 2 * retry::kEventBytesMax, .extra_prefix = kPrefix}},
                 observer),
          url("http://127.0.0.1:" + std::to_string(server.port()) + "/") {}

    const Answer answer;
    std::string secret;  ///< set before the server starts
    net::NobodyCounts observer;
    net::HttpServer server;
    const std::string url;
};

WebhookReceiver::WebhookReceiver(std::uint16_t port, Answer answer)
    : impl_(std::make_unique<Impl>(port, std::move(answer))) {}

WebhookReceiver::~WebhookReceiver() = default;

const std::string& WebhookReceiver::url() const { return impl_->url; }

void WebhookReceiver::start(const std::string& secret) {
    impl_->secret = app::must(retry::parse_secret(secret), "--secret: ");
    impl_->server.start([this](core::Executor&) {
        return std::make_unique<Handler>(impl_->answer, impl_->secret);
    });
}

OwnWebhook::OwnWebhook(client::ApiClient& api, const CreateWebhook& wanted) : api_(api) {
    const auto answer = api.ask({.method = "POST", .path = "/webhooks", .body = body_of(wanted)});
    if (!answer || !answer->good()) {
        refused(answer);
        throw app::StartupError("no webhook could be made for this receiver");
    }
    const auto page = core::must_parse_ordered_json(answer->body);
    id_ = page.at("id").get<std::string>();
    secret_ = page.at("secret").get<std::string>();
}

OwnWebhook::~OwnWebhook() {
    static_cast<void>(api_.ask({.method = "DELETE", .path = "/webhooks/" + id_}));
}

}  // namespace beckon::tools
