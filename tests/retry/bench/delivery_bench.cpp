#include "retry/bench/delivery_bench.hpp"

#include "core/clock.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/bench/receiver.hpp"
#include "retry/bench/run_on.hpp"
#include "retry/dispatch/dispatcher.hpp"
#include "retry/filter/percolator.hpp"
#include "retry/loop/loop.hpp"
#include "support/record_view.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace std::chrono_literals;

namespace beckon::test {

using namespace beckon::retry;
using std::chrono::steady_clock;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kEvent =
    R"({"data":{"price":12,"text":"0123456789012345678901234567890123456789"},"id":"e1",)"
    R"("source":"/shop","specversion":"1.0","type":"order.created"})";

double ms_between(steady_clock::time_point from, steady_clock::time_point to) {
    return std::chrono::duration<double, std::milli>{to - from}.count();
}

// ------------------------------------------------------------------------------- the dispatcher

/// A dispatcher with real requests on a loop of its own. The measurement makes deliveries due; a
/// promoted delivery counts as ended.
class Deliverer final : public DeliveryOutcomes {
public:
    Deliverer() : thread_([this] { loop_.run(); }) {
        on_loop([this] {
            sender_ = std::make_unique<HttpSender>(
                HttpSender::Options{.guard = *AddressGuard::with_allowed({"127.0.0.1"})}, loop_);
            dispatcher_ = std::make_unique<Dispatcher>(
                Dispatcher::Options{.table = *TierTable::from({0s, 5s, 60s})},
                Dispatcher::Context{.executor = loop_,
                                    .clock = clock_,
                                    .webhooks = webhooks_,
                                    .outcomes = *this,
                                    .send =
                                        [this](HttpRequest request, auto done) {
                                            sender_->send(std::move(request), std::move(done));
                                        },
                                    .change_state = [](const auto&, const auto&) {},
                                    .catch_up = [](const auto&, const auto& done) { done(true); }});
        });
    }
    ~Deliverer() override {
        on_loop([this] {
            sender_.reset();
            dispatcher_.reset();
        });
        loop_.stop();
        thread_.join();
    }

    void finish(const Ticket&) override { ++ended_; }
    void promote(const Ticket&, Delivery, int) override { ++ended_; }
    void dead_letter(const Ticket&, Delivery) override { ++ended_; }

    void add_webhook(const std::string& id, const std::string& url, const std::string& owner = "o",
                     std::chrono::seconds timeout = 1s) {
        Webhook webhook;
        webhook.id = id;
        webhook.owner = owner;
        webhook.url = url;
        webhook.timeout = timeout;
        webhook.secrets = {std::string(32, 's')};
        on_loop([&] { webhooks_.apply(*ReadBack{encode(webhook, webhooks_.box())}); });
    }
    /// So many deliveries become due at once.
    void due(const std::string& webhook, std::size_t count) {
        on_loop([&] {
            for (std::size_t i = 0; i < count; ++i) due_now(webhook);
        });
    }
    std::string due_now(const std::string& webhook) {
        auto id = "dlv_" + std::to_string(++made_);
        dispatcher_->due({.ticket = {.partition = 0, .tier = 0, .offset = made_},
                          .delivery = {.id = id,
                                       .webhook = webhook,
                                       .event = std::string{kEvent},
                                       .accepted = clock_.wall()},
                          .due = clock_.wall(),
                          .now = clock_.wall(),
                          .handed_on = clock_.mono()});
        return id;
    }
    void on_loop(const std::function<void()>& what) { run_on(loop_, what); }
    std::size_t ended() const { return ended_; }
    /// Deliveries that the scheduler's window has not taken.
    std::size_t waiting() {
        std::size_t count = 0;
        on_loop([&] { count = dispatcher_->waiting(); });
        return count;
    }
    std::uint64_t delivered() {
        std::uint64_t count = 0;
        on_loop([&] {
            const auto& all = dispatcher_->counts().attempts;
            const auto found = all.find(Outcome::delivered);
            count = found == all.end() ? 0 : found->second;
        });
        return count;
    }

private:
    core::SystemClock clock_;
    Loop loop_;
    WebhookDirectory webhooks_{
        SecretBox{std::make_shared<core::KeyRing>(core::KeyRing::generate())}};
    std::unique_ptr<HttpSender> sender_;
    std::unique_ptr<Dispatcher> dispatcher_;
    core::Offset made_ = 0;
    std::atomic<std::size_t> ended_ = 0;
    std::thread thread_;
};

// ------------------------------------------------------------------------------ what is measured

constexpr std::size_t kBusyWebhooks = 8;

bool deliveries(Report& report, bool quick) {
    const std::size_t count = quick ? 4'000 : 150'000;
    Receiver receiver;
    Deliverer deliverer;
    for (std::size_t i = 0; i < kBusyWebhooks; ++i) {
        deliverer.add_webhook("w" + std::to_string(i), receiver.url("/busy"));
    }
    const auto begun = steady_clock::now();
    for (std::size_t made = 0; made < count;) {
        if (deliverer.waiting() < 1'000) {
            for (std::size_t i = 0; i < kBusyWebhooks; ++i) {
                deliverer.due("w" + std::to_string(i), 50);
                made += 50;
            }
        }
        std::this_thread::sleep_for(200us);
    }
    while (deliverer.ended() < count) std::this_thread::sleep_for(1ms);
    const auto ms = ms_between(begun, steady_clock::now());
    const auto delivered = deliverer.delivered();
    report.add("HTTP deliveries on loopback", static_cast<double>(delivered) / ms * 1'000, "/s",
               at_least(15'000));
    return delivered >= count;
}

/// From due to the receiver's first line of code, while others make noise.
struct Quiet {
    std::vector<double> waits_ms;
    double p50() { return percentile(waits_ms, 0.5); }
    double p99() { return percentile(waits_ms, 0.99); }
};

/// `noise` is called every 10 ms.
Quiet measure_quiet(Deliverer& deliverer, Receiver& receiver, const std::function<void()>& noise,
                    bool quick, bool& sound) {
    const std::size_t count = quick ? 100 : 2'000;
    std::map<std::string, steady_clock::time_point> due;
    for (std::size_t i = 0; i < count; ++i) {
        noise();
        std::this_thread::sleep_for(5ms);
        const auto now = steady_clock::now();
        deliverer.on_loop([&] { due.emplace(deliverer.due_now("quiet"), now); });
        std::this_thread::sleep_for(5ms);
    }
    Quiet quiet;
    const auto until = steady_clock::now() + 20s;
    while (quiet.waits_ms.size() < due.size() && steady_clock::now() < until) {
        for (const auto& [id, at] : receiver.take_quiet()) {
            quiet.waits_ms.push_back(ms_between(due.at(id), at));
        }
        std::this_thread::sleep_for(1ms);
    }
    sound = sound && quiet.waits_ms.size() == due.size();
    return quiet;
}

struct Noise {
    const char* path = nullptr;  ///< none: the quiet webhook is alone
    int for_each = 0;            ///< deliveries that become due for each quiet one
};

/// One noisy webhook of the same owner.
Quiet beside_one(const Noise& noise, bool quick, bool& sound) {
    Receiver receiver;
    Receiver others;  // those of one host share its cap
    Deliverer deliverer;
    deliverer.add_webhook("quiet", receiver.url("/quiet"));
    if (noise.path) deliverer.add_webhook("noisy", others.url(noise.path));
    const auto make = [&] {
        if (noise.path) deliverer.due("noisy", static_cast<std::size_t>(noise.for_each));
    };
    return measure_quiet(deliverer, receiver, make, quick, sound);
}

bool fairness(Report& report, bool quick) {
    bool sound = true;
    auto alone = beside_one({}, quick, sound);
    report.add("quiet webhook alone, p50", alone.p50(), "ms");
    report.add("quiet webhook alone, p99", alone.p99(), "ms");
    auto flood = beside_one({.path = "/busy", .for_each = 1'000}, quick, sound);
    report.add("a flood of 1000 to 1 costs a quiet one of its owner, p99",
               flood.p99() - alone.p99(), "ms", at_most(5));
    auto hanging = beside_one({.path = "/hang", .for_each = 10}, quick, sound);
    report.add("a receiver that hangs costs a quiet one of its owner, p99",
               hanging.p99() - alone.p99(), "ms", at_most(10));
    if (!sound) std::fprintf(stderr, "retry_bench: a quiet webhook lacks deliveries\n");
    return sound;
}

void percolation(Report& report, bool quick) {
    const std::size_t filters = quick ? 20'000 : 100'000;
    Percolator percolator;
    std::vector<Query> queries;
    for (std::size_t i = 0; i < filters; ++i) {
        const Json query{{"term", {{"data.customer", i}}}};
        if (i < 1'000) queries.push_back(*Query::compile(query));
        percolator.put({.id = std::to_string(i),
                        .owner = "o",
                        .types = {"order.created"},
                        .query = *Query::compile(query)});
    }
    Json event = Json::parse(kEvent);
    constexpr int kEvents = 2'000;
    auto begun = steady_clock::now();
    std::size_t matched = 0;
    for (int i = 0; i < kEvents; ++i) {
        event["data"]["customer"] = i;
        Steps steps;
        matched += percolator.match(event, "o", {}, steps).ids.size();
    }
    const auto name = "an event among " + std::to_string(filters) + " filters, ";
    report.add(name + "matched", ms_between(begun, steady_clock::now()) / kEvents * 1'000, "us");
    begun = steady_clock::now();
    std::size_t evaluated = 0;
    for (const auto& query : queries) {
        Steps steps;
        evaluated += query.matches(event, {}, steps).value_or(false) ? 1 : 0;
    }
    const auto each = ms_between(begun, steady_clock::now()) / static_cast<double>(queries.size());
    report.add(name + "if each were evaluated", each * static_cast<double>(filters) * 1'000, "us");
    if (matched != kEvents || evaluated > queries.size()) std::printf("  (they do not match)\n");
}

}  // namespace

bool measure_deliveries(Report& report, bool quick) {
    percolation(report, quick);
    bool sound = deliveries(report, quick);
    sound = fairness(report, quick) && sound;
    return sound;
}

}  // namespace beckon::test
