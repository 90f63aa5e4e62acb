#include "retry/bench/delivery_bench.hpp"

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "net/http/http_server.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/dispatch/dispatcher.hpp"
#include "retry/event/step_quota.hpp"
#include "retry/filter/percolator.hpp"
#include "retry/loop/loop.hpp"
#include "support/record_view.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
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

// --------------------------------------------------------------------------------- the receiver

struct NoObserver final : net::HttpObserver {
    void opened() override {}
    void closed(net::CloseReason) override {}
    void turned_away(net::CloseReason) override {}
    void accept_paused() override {}
};

/// Answers 204 at once; at /slow after two seconds, at /large with too much, at /hang never.
/// Remembers when each delivery to /quiet came.
class Receiver {
public:
    Receiver() : server_(options(), observer_) {
        server_.start(
            [this](core::Executor& http) { return std::make_unique<Handler>(*this, http); });
    }
    std::string url(const char* path) const {
        return "http://127.0.0.1:" + std::to_string(server_.port()) + path;
    }
    std::map<std::string, steady_clock::time_point> take_quiet() {
        const std::scoped_lock lock{mutex_};
        return std::exchange(quiet_, {});
    }

private:
    static net::HttpServerOptions options() {
        net::HttpServerOptions options;
        options.name = "receiver";
        options.limits = {.body_bytes_max = 1 << 20, .extra_prefix = "webhook-"};
        options.connections.total_max = 4'096;
        options.connections.per_address_max = 4'096;
        options.drain = 100ms;
        return options;
    }

    class Handler final : public net::HttpHandler {
    public:
        Handler(Receiver& receiver, core::Executor& http)
            : receiver_(receiver), http_(http), lifetime_(http) {}
        void handle(net::ExchangePtr exchange) override {
            const auto& target = exchange->request().target;
            if (target == "/hang") return receiver_.keep(std::move(exchange));
            if (target == "/quiet") receiver_.note(exchange->request());
            if (target == "/slow") return answer_later(std::move(exchange));
            net::HttpReply reply;
            reply.status = target == "/large" ? 200 : 204;
            if (target == "/large") reply.body = std::string(300 * 1024, 'x');
            exchange->reply(std::move(reply));
        }
        void answer_later(net::ExchangePtr exchange) {
            const auto number = next_++;
            later_.emplace(number, std::move(exchange));
            http_.post_after(2s, lifetime_.guard([this, number] {
                const auto node = later_.extract(number);
                net::HttpReply reply;
                reply.status = 204;
                node.mapped()->reply(std::move(reply));
            }));
        }
        net::HttpReply rejection(net::Rejection) override {
            net::HttpReply reply;
            reply.status = 503;
            return reply;
        }

    private:
        Receiver& receiver_;
        core::Executor& http_;
        std::uint64_t next_ = 0;
        std::map<std::uint64_t, net::ExchangePtr> later_;
        core::Lifetime lifetime_;
    };

    void note(const net::HttpRequest& request) {
        const auto now = steady_clock::now();
        for (const auto& header : request.extra) {
            if (header.name != "webhook-id") continue;
            const std::scoped_lock lock{mutex_};
            quiet_.emplace(header.value, now);
        }
    }
    void keep(net::ExchangePtr exchange) {
        hanging_.push_back(std::move(exchange));
        if (hanging_.size() > 1'000) hanging_.erase(hanging_.begin());
    }

    NoObserver observer_;
    std::mutex mutex_;
    std::map<std::string, steady_clock::time_point> quiet_;  ///< under mutex_
    std::vector<net::ExchangePtr> hanging_;                  ///< of the server's one thread
    net::HttpServer server_;
};

// ------------------------------------------------------------------------------- the dispatcher

/// A dispatcher with real requests on a loop of its own; what is due comes from the measurement,
/// and what is promoted to a tier is over.
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
    void on_loop(const std::function<void()>& what) {
        std::promise<void> done;
        loop_.post([&] {
            what();
            done.set_value();
        });
        done.get_future().wait();
    }
    std::size_t ended() const { return ended_; }
    /// What the scheduler's window has not taken.
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

// ---------------------------------------------------------------------------------- the fan-out

/// Matches events against the filters of their owners on a thread of its own, as the fan-out does:
/// one event after the other, with the steps that an owner may take.
class Matcher {
public:
    Matcher() : thread_([this] { loop_.run(); }) {}
    ~Matcher() {
        loop_.stop();
        thread_.join();
    }
    /// Before the first event.
    void add_webhook(const std::string& id, const std::string& owner, const Json& filter) {
        Webhook webhook;
        webhook.id = id;
        webhook.owner = owner;
        webhook.url = "http://127.0.0.1:1/";
        webhook.filter = filter.is_null() ? "" : filter.dump();
        webhook.secrets = {std::string(32, 's')};
        webhooks_.apply(*ReadBack{encode(webhook, webhooks_.box())});
    }
    /// `matched` is called on the thread.
    void event(
        const std::string& owner, std::shared_ptr<const std::string> text,
        std::function<void()> matched = [] {}) {
        loop_.post([this, owner, text = std::move(text), matched = std::move(matched)] {
            const auto now = clock_.wall();
            auto steps = quota_.of(owner, now);
            const auto before = steps.left();
            const auto match = webhooks_.match(Json::parse(*text), owner, now, steps);
            quota_.spend(owner, now, before - steps.left());
            steps_ += before - steps.left();
            matched();
        });
    }
    std::size_t steps() const { return steps_; }

private:
    core::SystemClock clock_;
    Loop loop_;
    WebhookDirectory webhooks_{
        SecretBox{std::make_shared<core::KeyRing>(core::KeyRing::generate())}};
    StepQuota quota_{1};
    std::atomic<std::size_t> steps_ = 0;
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
Quiet measure_quiet(Deliverer& deliverer, Matcher& matcher, Receiver& receiver,
                    const std::function<void(int)>& noise, bool quick, bool& sound) {
    const std::size_t count = quick ? 100 : 2'000;
    const auto event = std::make_shared<const std::string>(kEvent);
    std::map<std::string, steady_clock::time_point> due;  // of the matcher's thread until all are
    std::atomic<std::size_t> matched = 0;
    for (std::size_t i = 0; i < count; ++i) {
        noise(static_cast<int>(i));
        std::this_thread::sleep_for(5ms);
        matcher.event("healthy", event, [&, now = steady_clock::now()] {
            deliverer.on_loop([&] { due.emplace(deliverer.due_now("quiet"), now); });
            ++matched;
        });
        std::this_thread::sleep_for(5ms);
    }
    while (matched < count) std::this_thread::sleep_for(1ms);
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
    Matcher matcher;
    matcher.add_webhook("quiet", "healthy", {});
    deliverer.add_webhook("quiet", receiver.url("/quiet"));
    if (noise.path) deliverer.add_webhook("noisy", others.url(noise.path));
    const auto make = [&](int) {
        if (noise.path) deliverer.due("noisy", static_cast<std::size_t>(noise.for_each));
    };
    return measure_quiet(deliverer, matcher, receiver, make, quick, sound);
}

/// Takes all the steps that one event may.
Json costly_filter() {
    auto clauses = Json::array();
    for (int i = 0; i < 100; ++i) {
        clauses.push_back(
            {{"wildcard", {{"data.list.a", "*" + std::string(i % 50 + 1, 'b') + "c"}}}});
    }
    return {{"bool", {{"should", std::move(clauses)}}}};
}
std::string costly_event() {
    auto event = Json::parse(kEvent);
    for (int i = 0; i < 400; ++i) event["data"]["list"].push_back({{"a", std::string(100, 'b')}});
    return event.dump();
}

constexpr int kHostileOwners = 50;
constexpr int kHostileWebhooks = 6;  ///< of each

/// Fifty owners: receivers of some hang, others answer after two seconds, with too much, or are
/// not there, and the rest flood. All of them have costly filters, for two events a second each.
Quiet beside_fifty(bool quick, bool& sound) {
    Receiver receiver;
    Receiver hanging;
    Receiver others;
    Deliverer deliverer;
    Matcher matcher;
    matcher.add_webhook("quiet", "healthy", {});
    deliverer.add_webhook("quiet", receiver.url("/quiet"), "healthy");
    const std::array urls{hanging.url("/hang"), others.url("/slow"), others.url("/large"),
                          std::string{"http://127.0.0.1:1/"}, others.url("/flood")};
    std::vector<std::pair<std::string, std::size_t>> webhooks;  // how much each gets at a time
    for (int owner = 0; owner < kHostileOwners; ++owner) {
        const auto kind = static_cast<std::size_t>(owner) % urls.size();
        matcher.add_webhook("f" + std::to_string(owner), "h" + std::to_string(owner),
                            costly_filter());
        for (int i = 0; i < kHostileWebhooks; ++i) {
            const auto id = "h" + std::to_string(owner) + "." + std::to_string(i);
            deliverer.add_webhook(id, urls[kind], "h" + std::to_string(owner), 15s);
            webhooks.emplace_back(id, kind + 1 == urls.size() ? 10 : 1);
        }
    }
    const auto costly = std::make_shared<const std::string>(costly_event());
    const auto make = [&](int round) {
        matcher.event("h" + std::to_string(round % kHostileOwners), costly);
        // A tenth of them each time, so that all get theirs ten times a second.
        deliverer.on_loop([&] {
            for (std::size_t i = static_cast<std::size_t>(round) % 10; i < webhooks.size();
                 i += 10) {
                for (std::size_t n = 0; n < webhooks[i].second; ++n)
                    deliverer.due_now(webhooks[i].first);
            }
        });
    };
    bool ignored = true;
    measure_quiet(deliverer, matcher, receiver, make, true, ignored);  // until places are taken
    const auto before = matcher.steps();
    const auto begun = steady_clock::now();
    auto quiet = measure_quiet(deliverer, matcher, receiver, make, quick, sound);
    const auto seconds = ms_between(begun, steady_clock::now()) / 1'000;
    std::printf("  (filters of hostile owners took %.0f steps a second)\n",
                static_cast<double>(matcher.steps() - before) / seconds);
    return quiet;
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
    auto mix = beside_fifty(quick, sound);
    report.add("healthy owner beside 50 hostile ones, p50", mix.p50(), "ms");
    report.add("healthy owner beside 50 hostile ones, p99", mix.p99(), "ms", at_most(50));
    report.add("the same, p99 for that alone", mix.p99() / alone.p99(), "", at_most(3));
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
