#include "retry/bench/delivery_bench.hpp"

#include "core/clock.hpp"
#include "net/io_loop.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/bench/receiver.hpp"
#include "retry/home/dispatcher.hpp"
#include "support/memory_log.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace beckon::test {

using namespace beckon::retry;
using std::chrono::steady_clock;

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
    explicit Deliverer(Scheduler::Options schedule = {}) {
        thread_.start();
        on_loop([this, schedule] {
            sender_ = std::make_unique<HttpSender>(
                HttpSender::Options{.guard = *AddressGuard::with_allowed({"127.0.0.1"})}, loop_);
            const DeliveryOptions options{.table = *TierTable::from({0s, 5s, 60s}),
                                          .schedule = schedule};
            publisher_ = log_->open_publisher(loop_);
            const HomeContext home{.log = *log_,
                                   .publisher = *publisher_,
                                   .executor = loop_,
                                   .clock = clock_,
                                   .tally = tally_};
            queue_ = std::make_unique<AttemptQueue>(
                options, home, [this](Job job) { dispatcher_->begin(std::move(job)); });
            dispatcher_ = std::make_unique<Dispatcher>(
                options,
                Dispatcher::Context{.home = home,
                                    .queue = *queue_,
                                    .webhooks = webhooks_,
                                    .events = events_,
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
            queue_.reset();
            publisher_.reset();
        });
        thread_.stop();
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
    void due(const std::string& webhook, std::size_t count, std::size_t event_bytes = 0) {
        on_loop([&] {
            for (std::size_t i = 0; i < count; ++i) due_now(webhook, event_bytes);
        });
    }
    std::string due_now(const std::string& webhook, std::size_t event_bytes = 0) {
        std::string event{kEvent};
        event.resize(std::max(event.size(), event_bytes), ' ');
        auto id = "dlv_" + std::to_string(++made_);
        dispatcher_->due({.ticket = {.partition = 0, .tier = 0, .offset = made_},
                          .delivery = {.id = id,
                                       .webhook = webhook,
                                       .event = std::move(event),
                                       .accepted = clock_.wall()},
                          .due = clock_.wall(),
                          .now = clock_.wall(),
                          .handed_on = clock_.mono()});
        return id;
    }
    void on_loop(const std::function<void()>& what) { thread_.run_there(what); }
    template <class F>
    auto read(F f) {
        decltype(f()) value{};
        on_loop([&] { value = f(); });
        return value;
    }
    std::size_t ended() const { return ended_; }
    /// Deliveries that wait in the scheduler's window.
    std::size_t waiting() {
        return read([this] { return queue_->scheduler().waiting(); });
    }
    std::size_t under_way() {
        return read([this] { return queue_->scheduler().in_flight(); });
    }
    std::uint64_t delivered() {
        return read([this] { return tally_.attempts[Outcome::delivered]; });
    }

private:
    core::SystemClock clock_;
    net::LoopThread thread_{"bench", clock_};
    net::IoLoop& loop_ = thread_.loop();
    WebhookDirectory webhooks_{
        SecretBox{std::make_shared<core::KeyRing>(core::KeyRing::generate())}};
    /// Its deliveries carry their events.
    std::unique_ptr<log::MemoryLog> log_ = log::make_memory_log({.clock = &clock_});
    EventCache cache_;
    EventReader events_{*log_, loop_, cache_};
    Tally tally_;
    std::unique_ptr<log::Publisher> publisher_;
    std::unique_ptr<AttemptQueue> queue_;
    std::unique_ptr<HttpSender> sender_;
    std::unique_ptr<Dispatcher> dispatcher_;
    core::Offset made_ = 0;
    std::atomic<std::size_t> ended_ = 0;
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

// ------------------------------------------------------------------------ what an attempt holds

/// A receiver in a process of its own, whose memory does not count: it takes every connection and
/// never answers.
class HangingProcess {
public:
    HangingProcess() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listener_, generic, size) != 0 || ::listen(listener_, SOMAXCONN) != 0 ||
            ::getsockname(listener_, generic, &size) != 0) {
            throw std::runtime_error("the bench cannot listen");
        }
        port_ = ntohs(address.sin_port);
        child_ = ::fork();
        if (child_ == 0) {
            while (::accept(listener_, nullptr, nullptr) >= 0) {
            }
            ::_exit(0);
        }
    }
    ~HangingProcess() {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
        ::close(listener_);
    }
    HangingProcess(const HangingProcess&) = delete;
    HangingProcess& operator=(const HangingProcess&) = delete;
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/hang"; }

private:
    int listener_;
    int port_ = 0;
    pid_t child_ = -1;
};

/// So many attempts of events of a kilobyte, all of which wait for an answer.
void attempts_in_flight(Report& report, std::size_t count) {
    constexpr std::size_t kOfWebhook = 8;  // as many as an unknown receiver is given
    const HangingProcess receiver;
    Deliverer deliverer{{.workers = 16 * count, .queued_max = 64 * count}};
    for (std::size_t i = 0; i < count / kOfWebhook; ++i) {
        deliverer.add_webhook("w" + std::to_string(i), receiver.url(), "o", 600s);
    }
    const auto before = resident_kib();
    for (std::size_t i = 0; i < count / kOfWebhook; ++i) {
        deliverer.due("w" + std::to_string(i), kOfWebhook, 1'024);
    }
    const auto until = steady_clock::now() + 30s;
    while (deliverer.under_way() < count && steady_clock::now() < until) {
        std::this_thread::sleep_for(10ms);
    }
    std::this_thread::sleep_for(2s);  // until all are connected, and have written their requests
    const auto under_way = static_cast<double>(deliverer.under_way());
    const auto name = std::to_string(count) + " attempts that wait for their answers, ";
    report.add(name + "under way", under_way, "", at_least(static_cast<double>(count)));
    report.add(name + "memory of each", (resident_kib() - before) / under_way, "KiB");
}

}  // namespace

void measure_attempts_in_flight(Report& report) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    for (const std::size_t count : {1'000, 4'000}) attempts_in_flight(report, count);
}

bool measure_deliveries(Report& report, bool quick) {
    measure_attempts_in_flight(report);
    bool sound = deliveries(report, quick);
    sound = fairness(report, quick) && sound;
    return sound;
}

}  // namespace beckon::test
