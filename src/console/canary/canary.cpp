#include "console/canary/canary.hpp"

#include "client/application_server.hpp"
#include "client/user_agent.hpp"
#include "console/canary/canary_stats.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include <nlohmann/json.hpp>
#include <pthread.h>

namespace beckon::console {

namespace {

using std::chrono::steady_clock;

/// A push that is late is lost to the canary: the next one must not find it.
constexpr std::int64_t kTtlSeconds = 10;
/// Older ones that may come before the one that is waited for.
constexpr int kNotificationsMax = 100;

client::Url url_of(const std::string& edge) {
    auto url = client::parse_url(edge);
    if (!url || (url->scheme != "ws" && url->scheme != "wss")) {
        throw std::runtime_error("console.canary: '" + edge +
                                 "' is no WebSocket URL such as ws://edge-1:8080/");
    }
    return *url;
}

/// Both ends of a subscription at one edge. One thread, but for interrupt().
class Pair {
public:
    Pair(const CanaryConfig& config, const std::string& edge)
        : timeout_(config.timeout),
          agent_(
              {.url = url_of(edge),
               .socket = {.tls = {.insecure = config.insecure}, .connect_timeout = config.timeout},
               .reply_timeout = config.timeout}),
          sender_({.tls = {.insecure = config.insecure}, .timeout = config.timeout}) {}

    void interrupt() { agent_.interrupt(); }

    /// Pushes and receives; the time that took.
    core::Result<core::Duration> push() {
        if (auto ready = subscribe(); !ready) return core::fail(ready.error());
        const auto text = std::to_string(++number_);
        const auto begin = steady_clock::now();
        const auto reply =
            sender_.send(channel_->subscription(), {.text = text, .ttl_s = kTtlSeconds});
        if (!reply) return failed("the POST failed: " + reply.error().message);
        if (reply->status == 404 || reply->status == 410) channel_.reset();
        if (!reply->accepted()) return failed("the POST was answered " + client::explain(*reply));
        for (int i = 0; i < kNotificationsMax; ++i) {
            const auto got = agent_.next(timeout_);
            if (!got) return failed("the connection ended: " + got.error().message);
            if (!*got) return failed("accepted, but not received in time");
            if (auto acked = agent_.ack(**got); !acked) return core::fail(acked.error());
            if ((*got)->text == text) return core::Duration{(*got)->arrived - begin};
        }
        return failed("only other messages were received");
    }

private:
    static tl::unexpected<core::Error> failed(std::string why) {
        return core::fail(core::Fault::unavailable, std::move(why));
    }

    core::Result<void> subscribe() {
        if (agent_.open() && channel_) return {};
        if (!agent_.open()) {
            if (auto done = agent_.connect(); !done) return done;
            const auto hello = agent_.hello();
            if (!hello) return core::fail(hello.error());
            if (!hello->kept) channel_.reset();
        }
        if (channel_) return {};
        auto channel = agent_.register_channel();
        if (!channel) return core::fail(channel.error());
        channel_ = std::move(*channel);
        return {};
    }

    const std::chrono::milliseconds timeout_;
    client::UserAgent agent_;
    client::ApplicationServer sender_;
    std::optional<client::Channel> channel_;
    std::uint64_t number_ = 0;
};

}  // namespace

struct Canary::Impl {
    Impl(const CanaryConfig& c, const core::Clock& k, LivePages& p)
        : config(c), clock(k), pages(p) {
        for (const auto& edge : config.edges) {
            pairs.push_back(std::make_unique<Pair>(config, edge));
            stats.emplace_back(edge);
        }
        publish();
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            threads.emplace_back([this, i](const std::stop_token& stop) { run(i, stop); });
        }
    }
    ~Impl() {
        for (auto& thread : threads) thread.request_stop();
        for (auto& pair : pairs) pair->interrupt();
    }

    void run(std::size_t number, const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), "console-canary");
        std::mutex waiting;
        std::condition_variable_any over;
        while (!stop.stop_requested()) {
            const auto at = clock.wall();
            const auto took = pairs[number]->push();
            if (stop.stop_requested()) return;
            add(number, {.at = at,
                         .took = took ? std::optional{*took} : std::nullopt,
                         .why = took ? std::string{} : took.error().message});
            std::unique_lock lock{waiting};
            over.wait_for(lock, stop, config.every, [] { return false; });
        }
    }

    void add(std::size_t number, CanaryPush push) {
        {
            const std::scoped_lock lock{mutex};
            stats[number].add(std::move(push));
        }
        publish();
    }

    void publish() {
        if (pairs.empty()) return;
        auto edges = nlohmann::json::array();
        const std::scoped_lock lock{mutex};
        for (const auto& one : stats) edges.push_back(one.json());
        const nlohmann::json page{
            {"every_seconds", std::chrono::duration<double>{config.every}.count()},
            {"edges", std::move(edges)}};
        pages.publish("canary",
                      page.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }

    const CanaryConfig config;
    const core::Clock& clock;
    LivePages& pages;
    std::mutex mutex;
    std::vector<CanaryStats> stats;  ///< under mutex
    std::vector<std::unique_ptr<Pair>> pairs;
    std::vector<std::jthread> threads;  ///< last: they use the others
};

Canary::Canary(const CanaryConfig& config, const core::Clock& clock, LivePages& pages)
    : impl_(std::make_unique<Impl>(config, clock, pages)) {}

Canary::~Canary() = default;

}  // namespace beckon::console
