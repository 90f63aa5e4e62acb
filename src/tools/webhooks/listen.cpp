#include "tools/webhooks/listen.hpp"

#include "app/command/output.hpp"
#include "core/json_text.hpp"
#include "tools/webhooks/receiver.hpp"

#include <condition_variable>
#include <mutex>
#include <set>

#include <nlohmann/json.hpp>

namespace beckon::tools {

using Json = nlohmann::ordered_json;

namespace {

/// State of all requests; on the server's one thread, except wait().
class Receiver {
public:
    Receiver(const WebhookListenOptions& options) : options_(options) {}

    int receive(const WebhookReceiver::Received& request) {
        if (!request.distrust.empty()) {
            app::print_line("refused: " + request.distrust);
            return 401;
        }
        const auto& id = request.id;
        if (failed_ < options_.fail_first) {
            ++failed_;
            app::print_line(id + "  verified, answered 500 as asked for");
            return 500;
        }
        const bool again = !seen_.insert(id).second;
        app::print_line(id + (again ? "  again  " : "  verified  ") + text_of(request.body));
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
    static std::string text_of(const std::string& body) {
        const auto event = core::parse_ordered_json(body);
        if (!event.is_object()) return body;
        return event.value("type", "") + "  " + core::json_text(event.value("data", Json{}));
    }
    void note_one() {
        const std::scoped_lock lock{mutex_};
        ++received_;
        over_.notify_all();
    }

    const WebhookListenOptions& options_;
    std::set<std::string> seen_;
    std::size_t failed_ = 0;

    std::mutex mutex_;
    std::condition_variable over_;
    std::size_t received_ = 0;  ///< under mutex_
    bool stopped_ = false;      ///< under mutex_
};

}  // namespace

int run_webhook_listen(const app::Config& config, const ApiAccess& access,
                       const WebhookListenOptions& options) {
    Receiver receiver{options};
    const app::StopSignals signals{[&receiver] { receiver.stop(); }};
    WebhookReceiver server{options.port, [&receiver](const WebhookReceiver::Received& request) {
                               return receiver.receive(request);
                           }};
    std::unique_ptr<client::ApiClient> api;
    std::optional<OwnWebhook> webhook;
    if (options.secret.empty()) {
        api = open_api(config, access);
        webhook.emplace(*api, CreateWebhook{.url = server.url(), .types = options.types});
    }
    server.start(webhook ? webhook->secret() : options.secret);
    app::print_line("listening at " + server.url());
    const bool in_time = receiver.wait();
    webhook.reset();  // before the port is closed: nothing more comes
    if (!in_time) app::print_error("beckon: the time-out came first");
    return in_time ? signals.exit_code() : 1;
}

}  // namespace beckon::tools
