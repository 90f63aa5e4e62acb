#include "cli/webhooks/listen.hpp"

#include "cli/push/output.hpp"
#include "cli/roles/process.hpp"
#include "core/clock.hpp"
#include "net/http/http_server.hpp"
#include "retry/attempt/signature.hpp"
#include "retry/event/event.hpp"

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <set>

#include <nlohmann/json.hpp>

namespace beckon::cli {

using Json = nlohmann::ordered_json;
using std::chrono::seconds;

namespace {

constexpr std::string_view kPrefix = "webhook-";
/// A request that is older or newer is refused, or whoever copied one could send it for ever.
constexpr seconds kTolerance{300};

struct NoObserver final : net::HttpObserver {
    void opened() override {}
    void closed(net::CloseReason) override {}
    void turned_away(net::CloseReason) override {}
    void accept_paused() override {}
};

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
    std::int64_t number = 0;
    if (std::from_chars(at.data(), at.data() + at.size(), number).ec != std::errc{}) {
        return "webhook-timestamp is no number";
    }
    const auto now = std::chrono::floor<seconds>(core::SystemClock{}.wall().time_since_epoch());
    if (seconds{number} < now - kTolerance || seconds{number} > now + kTolerance) {
        return "webhook-timestamp is more than 5 minutes away";
    }
    if (!retry::is_signed_by(secret, signatures, id, seconds{number}, request.body)) {
        return "no signature was made with our secret";
    }
    return "";
}

/// What all requests share; on the server's one thread but for wait().
class Receiver {
public:
    Receiver(const WebhookListenOptions& options) : options_(options) {}

    /// Before the server's port is told to anybody.
    void use_secret(std::string secret) { secret_ = std::move(secret); }

    int receive(const net::HttpRequest& request) {
        if (const auto why = distrust(request, secret_); !why.empty()) {
            print_line("refused: " + why);
            return 401;
        }
        const std::string id{header(request, "webhook-id")};
        if (failed_ < options_.fail_first) {
            ++failed_;
            print_line(id + "  verified, answered 500 as asked for");
            return 500;
        }
        const bool again = !seen_.insert(id).second;
        print_line(id + (again ? "  again  " : "  verified  ") + text_of(request.body));
        if (!again) note_one();
        return 204;
    }

    void stop() {
        const std::scoped_lock lock{mutex_};
        stopped_ = true;
        over_.notify_all();
    }

    /// False: the time-out came first.
    bool wait() {
        std::unique_lock lock{mutex_};
        const auto done = [this] {
            return stopped_ || (options_.count > 0 && received_ >= options_.count);
        };
        if (!options_.timeout) {
            over_.wait(lock, done);
            return true;
        }
        return over_.wait_for(lock, *options_.timeout, done);
    }

private:
    static std::string text_of(std::string_view body) {
        const auto event = Json::parse(body, nullptr, false);
        if (!event.is_object()) return std::string{body};
        return event.value("type", "") + "  " + event.value("data", Json{}).dump();
    }
    void note_one() {
        const std::scoped_lock lock{mutex_};
        ++received_;
        over_.notify_all();
    }

    const WebhookListenOptions& options_;
    std::string secret_;
    std::set<std::string> seen_;
    std::size_t failed_ = 0;

    std::mutex mutex_;
    std::condition_variable over_;
    std::size_t received_ = 0;  ///< under mutex_
    bool stopped_ = false;      ///< under mutex_
};

class Handler final : public net::HttpHandler {
public:
    explicit Handler(Receiver& receiver) : receiver_(receiver) {}
    void handle(net::ExchangePtr exchange) override {
        net::HttpReply reply;
        reply.status = receiver_.receive(exchange->request());
        exchange->reply(std::move(reply));
    }
    net::HttpReply rejection(net::Rejection) override {
        net::HttpReply reply;
        reply.status = 400;
        return reply;
    }

private:
    Receiver& receiver_;
};

/// The webhook of this receiver, as long as it lives.
class OwnWebhook {
public:
    OwnWebhook(ApiClient& api, const CreateWebhook& wanted) : api_(api) {
        const auto answer =
            api.ask({.method = "POST", .path = "/webhooks", .body = body_of(wanted)});
        if (!answer || !answer->good()) {
            refused(answer);
            throw StartupError("no webhook could be made for this receiver");
        }
        const auto page = Json::parse(answer->body);
        id_ = page.at("id").get<std::string>();
        secret = page.at("secret").get<std::string>();
    }
    ~OwnWebhook() { static_cast<void>(api_.ask({.method = "DELETE", .path = "/webhooks/" + id_})); }
    OwnWebhook(const OwnWebhook&) = delete;
    OwnWebhook& operator=(const OwnWebhook&) = delete;

    std::string secret;

private:
    ApiClient& api_;
    std::string id_;
};

}  // namespace

int run_webhook_listen(const Config& config, const ApiAccess& access,
                       const WebhookListenOptions& options) {
    Receiver receiver{options};
    const StopSignals signals{[&receiver] { receiver.stop(); }};
    NoObserver observer;
    net::HttpServer server{
        {.name = "receiver",
         .port = options.port,
         .limits = {.body_bytes_max = 2 * retry::kEventBytesMax, .extra_prefix = kPrefix}},
        observer};
    const auto url = "http://127.0.0.1:" + std::to_string(server.port()) + "/";
    std::unique_ptr<ApiClient> api;
    std::optional<OwnWebhook> webhook;
    auto secret = options.secret;
    if (secret.empty()) {
        api = open_api(config, access);
        webhook.emplace(*api, CreateWebhook{.url = url, .types = options.types});
        secret = webhook->secret;
    }
    const auto bytes = retry::parse_secret(secret);
    if (!bytes) throw StartupError("--secret: " + bytes.error().message);
    receiver.use_secret(*bytes);
    server.start([&receiver](core::Executor&) { return std::make_unique<Handler>(receiver); });
    print_line("listening at " + url);
    const bool in_time = receiver.wait();
    webhook.reset();  // before the port is closed: nothing more comes
    if (!in_time) print_error("beckon: the time-out came first");
    return in_time ? signals.exit_code() : 1;
}

}  // namespace beckon::cli
