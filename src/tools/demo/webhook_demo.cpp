#include "app/command/output.hpp"
#include "app/exit_codes.hpp"
#include "core/ids.hpp"
#include "core/json_text.hpp"
#include "tools/demo/demo.hpp"
#include "tools/webhooks/receiver.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

using core::Fault;
using core::Result;
using std::chrono::steady_clock;

constexpr const char* kType = "demo.hello";
constexpr int kWebhookAccepted = 202;
/// A role that is just starting reads all webhooks first.
constexpr std::chrono::seconds kPatience{60};

/// The requests that came to the receiver, for the thread that waits for them.
class Arrivals {
public:
    struct One {
        WebhookReceiver::Received request;
        steady_clock::time_point at;
    };

    /// On the receiver's thread; the status of the answer.
    int add(const WebhookReceiver::Received& request) {
        const std::scoped_lock lock{mutex_};
        all_.push_back({request, steady_clock::now()});
        over_.notify_all();
        const bool fails = failures_ > 0;
        if (fails) --failures_;
        return fails ? 500 : 204;
    }
    void fail_next() {
        const std::scoped_lock lock{mutex_};
        failures_ = 1;
    }
    std::optional<One> take(std::chrono::milliseconds timeout) {
        std::unique_lock lock{mutex_};
        if (!over_.wait_for(lock, timeout, [this] { return !all_.empty(); })) return std::nullopt;
        auto one = std::move(all_.front());
        all_.pop_front();
        return one;
    }

private:
    std::mutex mutex_;
    std::condition_variable over_;
    std::deque<One> all_;
    int failures_ = 0;
};

class WebhookDemo {
public:
    WebhookDemo(client::ApiClient::Options api, const DemoOptions& options)
        : options_(options),
          origin_(api.origin),
          api_(std::move(api)),
          receiver_(0, [this](const auto& request) { return arrivals_.add(request); }),
          steps_(options.json) {}

    int run();

private:
    struct Posted {
        std::string id;
        steady_clock::time_point start;
    };

    void subscribe();
    Result<Posted> post(const std::string& text);
    Result<Arrivals::One> next();
    Result<std::string> receive(const Posted& posted, const std::string& text);
    Result<void> first_event();
    Result<void> failing_receiver();
    void unsubscribe();
    Result<void> everything();

    const DemoOptions& options_;
    const std::string origin_;
    client::ApiClient api_;
    Arrivals arrivals_;
    WebhookReceiver receiver_;
    std::optional<OwnWebhook> webhook_;
    DemoSteps steps_;
};

void WebhookDemo::subscribe() {
    const auto start = steady_clock::now();
    webhook_.emplace(api_, CreateWebhook{.url = receiver_.url(), .types = {kType}});
    receiver_.start(webhook_->secret());
    steps_.add("POST /webhooks", steady_clock::now() - start, webhook_->id() + " for " + kType);
}

Result<WebhookDemo::Posted> WebhookDemo::post(const std::string& text) {
    Posted posted{.id = core::to_hex(core::random_uuid4()), .start = steady_clock::now()};
    const nlohmann::json event{{"specversion", "1.0"},
                               {"id", posted.id},
                               {"source", "/demo"},
                               {"type", kType},
                               {"data", {{"text", text}}}};
    const auto answer = api_.ask({.method = "POST",
                                  .path = "/events",
                                  .body = core::json_text(event),
                                  .content_type = "application/cloudevents+json"});
    if (!answer) return core::fail(answer.error());
    if (answer->status != kWebhookAccepted) {
        return core::fail(Fault::conflict, "the POST was answered " +
                                               std::to_string(answer->status) + " " + answer->body);
    }
    steps_.add("POST /events to 202", steady_clock::now() - posted.start, posted.id);
    return posted;
}

Result<Arrivals::One> WebhookDemo::next() {
    auto one = arrivals_.take(options_.timeout);
    if (!one) return core::fail(Fault::timed_out, "no request came to the receiver");
    if (!one->request.distrust.empty()) {
        return core::fail(Fault::unauthorized, "a request came with " + one->request.distrust);
    }
    return *one;
}

/// The event arrives signed and as it was posted; its `webhook-id`.
Result<std::string> WebhookDemo::receive(const Posted& posted, const std::string& text) {
    const auto one = next();
    if (!one) return core::fail(one.error());
    const auto event = core::parse_json(one->request.body);
    if (!event.is_object() || event.value("id", "") != posted.id ||
        event.value("data", nlohmann::json::object()).value("text", "") != text) {
        return core::fail(Fault::corrupt, "another event arrived than was posted");
    }
    steps_.add("POST to request", one->at - posted.start, one->request.id + ", signature verified");
    return one->request.id;
}

Result<void> WebhookDemo::first_event() {
    const auto posted = post("Hello");
    if (!posted) return core::fail(posted.error());
    const auto id = receive(*posted, "Hello");
    if (!id) return core::fail(id.error());
    return {};
}

Result<void> WebhookDemo::failing_receiver() {
    arrivals_.fail_next();
    const auto posted = post("Hello again");
    if (!posted) return core::fail(posted.error());
    const auto refused = receive(*posted, "Hello again");
    if (!refused) return core::fail(refused.error());
    const auto refused_at = steady_clock::now();
    const auto again = next();
    if (!again) return core::fail(again.error());
    if (again->request.id != *refused) {
        return core::fail(Fault::corrupt, "another delivery came than the one that was refused");
    }
    steps_.add("500 to next attempt", again->at - refused_at, "the same webhook-id");
    return {};
}

void WebhookDemo::unsubscribe() {
    const auto start = steady_clock::now();
    webhook_.reset();
    steps_.add("DELETE", steady_clock::now() - start);
}

Result<void> WebhookDemo::everything() {
    steps_.title("A receiver makes a webhook");
    subscribe();
    steps_.title("An application posts an event");
    if (auto done = first_event(); !done) return done;
    steps_.title("The receiver answers 500; the event waits in a delay tier");
    if (auto done = failing_receiver(); !done) return done;
    steps_.title("The receiver goes");
    unsubscribe();
    return {};
}

int WebhookDemo::run() {
    const auto done = everything();
    webhook_.reset();
    return steps_.finish(done, "api", origin_, "Every event arrived as it was posted.");
}

}  // namespace

int run_webhook_demo(const client::ApiClient::Options& api, const DemoOptions& options) {
    try {
        auto patient = api;
        patient.patience = kPatience;
        return WebhookDemo{std::move(patient), options}.run();
    } catch (const std::exception& fault) {
        app::print_error(std::string{"beckon: "} + fault.what());
        return app::kFailed;
    }
}

}  // namespace beckon::tools
