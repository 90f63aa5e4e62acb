#include "retry/bench/role_bench.hpp"

#include "core/clock.hpp"
#include "core/short_slices.hpp"
#include "log/embedded/embedded_log.hpp"
#include "net/io_loop.hpp"
#include "records/delivery.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/bench/receiver.hpp"
#include "retry/bench/waits.hpp"
#include "retry/event/event.hpp"
#include "retry/role/request_queue.hpp"
#include "retry/role/retry_node.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace beckon::test {

using namespace beckon::retry;
using Json = nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

constexpr core::Partition kRolePartitions = 8;

/// A loop with its thread, as the role has them.
struct Thread : net::LoopThread {
    Thread(const char* name, const core::Clock& clock) : LoopThread(name, clock) {
        loop().measure_turns();
        start([this] {
            core::run_in_short_slices();
            run();
        });
    }
    double longest_turn_ms() {
        return std::chrono::duration<double, std::milli>{loop().take_longest_turn()}.count();
    }
};

/// The role, as a process has it: a control thread, and one for homes.
class RoleAtWork {
public:
    RoleAtWork(log::EventLog& log, Waits& waits) : waits_(waits) {
        deliveries_.run_there([this] {
            sender_ = std::make_unique<HttpSender>(
                HttpSender::Options{.guard = *AddressGuard::with_allowed({"127.0.0.1"})},
                deliveries_.loop());
        });
        control_.run_there([&] {
            node_ = std::make_unique<RetryNode>(
                RetryNode::Options{.deliveries = {.partitions = kRolePartitions,
                                                  .table = *TierTable::from({0s, 5s, 60s}),
                                                  .node = {"bench"}}},
                RetryNode::Context{
                    .log = log,
                    .executor = control_.loop(),
                    .clock = clock_,
                    .keys = std::make_shared<core::KeyRing>(core::KeyRing::generate()),
                    .threads = {{.executor = deliveries_.loop(),
                                 .send =
                                     [this](HttpRequest request, auto done) {
                                         note_attempt(request);
                                         sender_->send(std::move(request), std::move(done));
                                     }}},
                    .ready = [](bool, const std::string&) {}});
            node_->start();
            beat();
        });
        while (true) {
            std::size_t served = 0;
            control_.run_there([&] { served = node_->partitions_served(); });
            if (served == kRolePartitions) break;
            std::this_thread::sleep_for(10ms);
        }
    }
    ~RoleAtWork() {
        std::promise<void> stopped;
        control_.loop().post([&] { node_->stop([&] { stopped.set_value(); }); });
        stopped.get_future().wait();
        control_.run_there([this] { node_.reset(); });
        deliveries_.run_there([this] { sender_.reset(); });
    }

    void add_webhook(const std::string& id, const std::string& owner, const std::string& url,
                     const std::string& type, const Json& filter = nullptr) {
        Webhook webhook;
        webhook.id = id;
        webhook.owner = owner;
        webhook.url = url;
        webhook.types = {type};
        webhook.filter = filter.is_null() ? "" : filter.dump();
        webhook.secrets = {std::string(32, 's')};
        std::promise<void> known;
        control_.loop().post(
            [&] { node_->put_webhook(webhook, [&](const auto&) { known.set_value(); }); });
        known.get_future().wait();
    }
    /// `data` is JSON, made before: the role has to parse it, not to print it.
    Event event_of(const std::string& owner, const std::string& type, const std::string& data) {
        return *for_owner(*parse_structured(R"({"specversion":"1.0","source":"/bench","id":")" +
                                            std::to_string(++posted_) + R"(","type":")" + type +
                                            R"(","data":)" + data + "}"),
                          owner);
    }
    /// As the API does it: in the owner's turn.
    void post(Event event) {
        const auto owner = event.owner;
        const auto bytes = event.json.size();
        static_cast<void>(requests_.put(
            owner, bytes, [this, event = std::move(event)](const RequestQueue::PlacePtr& place) {
                if (!node_->may_post(event, event.owner)) return;
                node_->post_event(event, event.owner, [this, place, id = event.id](const auto&) {
                    waits_.note(Step::stored, id);
                });
            }));
    }
    /// As of now.
    DeliveryShard::Counts counts() {
        DeliveryShard::Counts counts;
        control_.run_there([&] { node_->measure(); });
        std::this_thread::sleep_for(100ms);  // for the answers of the other threads
        control_.run_there([&] { counts = node_->counts(); });
        return counts;
    }

    /// Since the last call, of the control thread and that for homes, in ms.
    std::array<double, 2> longest_turns() {
        return {control_.longest_turn_ms(), deliveries_.longest_turn_ms()};
    }

private:
    void note_attempt(const HttpRequest& request) {
        constexpr std::string_view kName = "webhook-id: ";
        for (const auto& header : request.headers) {
            if (header.starts_with(kName)) {
                waits_.note(Step::attempted, header.substr(kName.size()));
            }
        }
    }
    void beat() {
        control_.loop().post_after(1s, [this] {
            if (!node_) return;
            node_->still_alive();
            node_->measure();
            beat();
        });
    }

    Waits& waits_;
    core::SystemClock clock_;
    Thread control_{"retry", clock_};
    Thread deliveries_{"retry-0", clock_};
    RequestQueue requests_{control_.loop(), clock_, {}};
    std::unique_ptr<HttpSender> sender_;  ///< of the deliveries' thread
    std::unique_ptr<RetryNode> node_;     ///< of the control thread
    std::atomic<std::uint64_t> posted_ = 0;
};

// -------------------------------------------------------------------------- the healthy owner

/// Posts an event every 10 ms, at no fixed distance from the posts of others; returns when all have
/// come. The poster's thread is as one of the API's: its own waits for a processor are none of the
/// role.
void measure_healthy(RoleAtWork& role, Receiver& receiver, Waits& waits, std::size_t count,
                     bool& sound) {
    std::vector<Event> events;
    std::vector<Waits::Names> names;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& event =
            events.emplace_back(role.event_of("healthy", "good", R"({"price":12})"));
        names.push_back({event.id, delivery_id(scope_of(event), event.id, "quiet")});
    }
    waits.observe(names);
    std::thread poster{[&] {
        core::run_in_short_slices();
        auto next = Clock::now();
        std::minstd_rand random;
        std::uniform_int_distribution<int> pause_us{5'000, 15'000};
        for (const auto& event : events) {
            waits.note(Step::posted, event.id);
            role.post(event);
            std::this_thread::sleep_until(next += std::chrono::microseconds{pause_us(random)});
        }
    }};
    poster.join();
    const auto until = Clock::now() + 20s;
    while (waits.reached(Step::received) < count && Clock::now() < until) {
        for (const auto& [id, at] : receiver.take_quiet()) waits.note(Step::received, id, at);
        std::this_thread::sleep_for(1ms);
    }
    sound = sound && waits.reached(Step::received) == count;
}

// -------------------------------------------------------------------------- the hostile ones

/// Takes all the steps that one event may.
Json costly_filter() {
    auto clauses = Json::array();
    for (int i = 0; i < 100; ++i) {
        clauses.push_back(
            {{"wildcard", {{"data.list.a", "*" + std::string(i % 50 + 1, 'b') + "c"}}}});
    }
    return {{"bool", {{"should", std::move(clauses)}}}};
}
Json costly_data() {
    auto list = Json::array();
    for (int i = 0; i < 400; ++i) list.push_back({{"a", std::string(100, 'b')}});
    return {{"list", std::move(list)}};
}

constexpr int kHostileOwners = 50;
constexpr int kHostileWebhooks = 6;  ///< of each, and as many with costly filters

/// Receivers of some owners hang, others answer after two seconds, with too much, or are not there,
/// and the rest flood. All of them have costly filters, for two events a second each.
class HostileOwners {
public:
    HostileOwners(RoleAtWork& role, const Receiver& hanging, const Receiver& others) : role_(role) {
        const std::array urls{hanging.url("/hang"), others.url("/slow"), others.url("/large"),
                              std::string{"http://127.0.0.1:1/"}, others.url("/flood")};
        for (int owner = 0; owner < kHostileOwners; ++owner) {
            const auto name = name_of(owner);
            for (int i = 0; i < kHostileWebhooks; ++i) {
                const auto id = name + "." + std::to_string(i);
                role.add_webhook(id, name, urls[static_cast<std::size_t>(owner) % kKinds], "noise");
                role.add_webhook("f" + id, name, others.url("/flood"), "costly", costly_filter());
            }
        }
    }
    /// A thousand times a second. Each owner posts ten events a second that six webhooks want, or a
    /// hundred where it floods, ten at once. They do not wait for each other: one comes every 2 ms.
    void make_noise(int round) {
        if (round % 10 == 5) {
            role_.post(role_.event_of(name_of(round / 10 % kHostileOwners), "costly", costly_));
        }
        if (round % 2 > 0) return;
        const int owner = round / 2 % kHostileOwners;
        const bool floods = owner % kKinds == kKinds - 1;
        for (int i = 0; i < (floods ? 10 : 1); ++i) {
            role_.post(role_.event_of(name_of(owner), "noise", "null"));
        }
    }

private:
    static constexpr int kKinds = 5;
    static std::string name_of(int owner) { return "h" + std::to_string(owner); }

    RoleAtWork& role_;
    const std::string costly_ = costly_data().dump();
};

/// The hostile owners post, each independently of the others, as long as this lasts. Its thread is
/// as one of the API's: a lower priority would hold up the role while it has a lock of the role's.
class Noise {
public:
    explicit Noise(HostileOwners& owners)
        : thread_([this, &owners] {
              core::run_in_short_slices();
              auto next = Clock::now();
              for (int round = 0; !over_; ++round) {
                  owners.make_noise(round);
                  std::this_thread::sleep_until(next += 1ms);
              }
          }) {}
    ~Noise() {
        over_ = true;
        thread_.join();
    }
    Noise(const Noise&) = delete;
    Noise& operator=(const Noise&) = delete;

private:
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// The time that all processors of the machine together had nothing to do.
double idle_seconds() {
    std::ifstream stat{"/proc/stat"};
    std::string cpu;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle = 0;
    double waiting = 0;
    stat >> cpu >> user >> nice >> system >> idle >> waiting;
    return (idle + waiting) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// The use of the machine, the process and the filters during a measurement. The process holds the
/// role, its log, the receivers, and the poster of the events.
class Load {
public:
    explicit Load(RoleAtWork& role) : role_(role), before_(now()) { role_.longest_turns(); }
    /// The aims of the role are for a machine that has a tenth of its capacity free.
    void add_to(Report& report) {
        const auto after = now();
        const auto seconds = std::chrono::duration<double>{Clock::now() - begun_}.count();
        const auto processors = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
        report.add("beside 50 hostile owners, processor time that is free",
                   100 * (after.idle - before_.idle) / seconds / processors, "%", at_least(10));
        report.add("the same, processors that the bench uses", (after.cpu - before_.cpu) / seconds,
                   "");
        report.add("the same, deliveries written",
                   (after.deliveries - before_.deliveries) / seconds, "/s");
        report.add("the same, steps of filters", (after.steps - before_.steps) / seconds, "/s");
        const auto turns = role_.longest_turns();
        report.add("the same, longest turn of the thread retry", turns[0], "ms");
        report.add("the same, longest turn of the thread retry-0", turns[1], "ms");
    }

private:
    struct At {
        double idle;
        double cpu;
        double deliveries;
        double steps;
    };
    At now() {
        const auto tally = role_.counts().tally;
        return {.idle = idle_seconds(),
                .cpu = cpu_seconds(),
                .deliveries = static_cast<double>(tally.fan_outs),
                .steps = static_cast<double>(tally.filter_steps)};
    }
    RoleAtWork& role_;
    const At before_;
    const Clock::time_point begun_ = Clock::now();
};

bool measure(log::EventLog& log, Report& report, bool quick) {
    const std::size_t count = quick ? 500 : 2'000;
    bool sound = true;
    Waits waits;
    Receiver receiver;
    Receiver hanging;
    Receiver others;  // those of one host share its cap
    RoleAtWork role{log, waits};
    const auto p99 = [&](Step to) {
        auto ms = waits.between(Step::posted, to);
        return percentile(ms, 0.99);
    };
    role.add_webhook("quiet", "healthy", receiver.url("/quiet"), "good");
    measure_healthy(role, receiver, waits, count, sound);
    report.add("event of a healthy owner to its first attempt, alone, p99", p99(Step::attempted),
               "ms");
    report.add("event of a healthy owner to its receiver, alone, p99", p99(Step::received), "ms");

    HostileOwners hostile{role, hanging, others};
    const Noise noise{hostile};
    // Until places are taken.
    measure_healthy(role, receiver, waits, quick ? 200 : 500, sound);
    Load load{role};
    measure_healthy(role, receiver, waits, count, sound);
    load.add_to(report);
    report.add("beside 50 hostile owners, to the API's answer, p99", p99(Step::stored), "ms",
               at_most(50));
    report.add("beside 50 hostile owners, to its first attempt, p99", p99(Step::attempted), "ms",
               at_most(50));
    report.add("beside 50 hostile owners, to its receiver, p99", p99(Step::received), "ms");
    if (!sound) std::fprintf(stderr, "retry_bench: a healthy owner lacks deliveries\n");
    return sound;
}

}  // namespace

bool measure_role(Report& report, bool quick) {
    const auto directory =
        std::filesystem::temp_directory_path() / ("beckon-role-bench-" + std::to_string(getpid()));
    const core::SystemClock clock;
    bool sound = false;
    {
        const auto log = log::open_embedded_log({.directory = directory,
                                                 .sync = log::Sync::never,
                                                 .partitions = kRolePartitions,
                                                 .clock = &clock});
        sound = measure(*log, report, quick);
    }
    std::filesystem::remove_all(directory);
    return sound;
}

}  // namespace beckon::test
