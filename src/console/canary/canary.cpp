#include "console/canary/canary.hpp"

#include "client/application_server.hpp"
#include "client/url.hpp"
#include "client/user_agent.hpp"
#include "core/authority.hpp"
#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "core/pause.hpp"
#include "ops/metric_names.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <pthread.h>

namespace beckon::console {

namespace {

using std::chrono::steady_clock;
namespace metric = ops::metric;

/// A push that is late is lost to the canary: the next one must not find it.
constexpr std::int64_t kTtlSeconds = 10;
/// Older ones that may come before the one that is waited for.
constexpr int kNotificationsMax = 100;
/// At an edge that has never let a push through, before that counts as a failure.
constexpr int kTriesAtStart = 20;

/// Both ends of a subscription at one edge. One thread, but for interrupt().
class Pair {
public:
    Pair(const CanaryConfig& config, const client::Url& edge, std::string origin)
        : timeout_(config.timeout),
          origin_(std::move(origin)),
          agent_(
              {.url = edge,
               .socket = {.tls = {.insecure = config.insecure}, .connect_timeout = config.timeout},
               .reply_timeout = config.timeout}),
          sender_({.tls = {.insecure = config.insecure}, .timeout = config.timeout}) {}

    void interrupt() { agent_.interrupt(); }

    /// Pushes and receives at the time `at`.
    CanaryPush push(core::Timestamp at) {
        auto step = CanaryStep::subscribe;
        const auto took = push(step);
        if (took) return {.at = at, .took = *took};
        return {.at = at, .why = took.error().message, .failed_at = step};
    }

    /// Waits, and answers the edge's pings meanwhile: it closes a client that does not.
    void rest(const std::stop_token& stop, core::Duration time) {
        using std::chrono::milliseconds;
        const auto until = steady_clock::now() + time;
        const auto left = [until] {
            return std::chrono::ceil<milliseconds>(until - steady_clock::now());
        };
        while (agent_.open() && !stop.stop_requested() && left() > milliseconds{0}) {
            const auto late = agent_.next(left());
            if (!late) break;  // the next push connects again
            if (*late) static_cast<void>(agent_.ack(**late));
        }
        core::pause(stop, left());
    }

private:
    /// The time that it took; `step` is the step under way.
    core::Result<core::Duration> push(CanaryStep& step) {
        if (auto ready = subscribe(); !ready) return core::fail(ready.error());
        const auto text = std::to_string(++number_);
        const auto begin = steady_clock::now();
        auto to = channel_->subscription();
        to.endpoint = at_origin(to.endpoint, origin_);
        step = CanaryStep::post;
        const auto reply = sender_.send(to, {.text = text, .ttl_s = kTtlSeconds});
        if (!reply) return failed("the POST failed: " + reply.error().message);
        step = CanaryStep::accept;
        if (reply->status == 404 || reply->status == 410) channel_.reset();
        if (!reply->accepted()) return failed("the POST was answered " + client::explain(*reply));
        step = CanaryStep::receive;
        for (int i = 0; i < kNotificationsMax; ++i) {
            const auto got = agent_.next(timeout_);
            if (!got) return failed("the connection ended: " + got.error().message);
            if (!*got) return failed("accepted, but not received in time");
            if (auto acked = agent_.ack(**got); !acked) return core::fail(acked.error());
            if ((*got)->text == text) return core::Duration{(*got)->arrived - begin};
        }
        return failed("only other messages were received");
    }

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
    const std::string origin_;
    client::UserAgent agent_;
    client::ApplicationServer sender_;
    std::optional<client::Channel> channel_;
    std::uint64_t number_ = 0;
};

}  // namespace

struct Canary::Impl {
    Impl(const CanaryConfig& c, const core::Clock& k, LivePages& p, ops::Metrics& metrics)
        : config(c),
          targets(canary_targets(c.targets)),
          clock(k),
          pages(p),
          times(metrics.seconds(metric::kCanarySeconds,
                                "Time from the canary's POST until it received the message.")),
          received(metrics.counter(metric::kCanaryPushes, "Pushes of the canary, by outcome.",
                                   {{"outcome", "received"}})),
          failures(metrics.counter(metric::kCanaryPushes, "Pushes of the canary, by outcome.",
                                   {{"outcome", "failed"}})) {
        use_edges({});
    }
    /// Every thread publishes the results of all `runners`, so they end before that goes.
    ~Impl() {
        for (auto& [edge, runner] : runners) runner->stop();
        for (auto& [edge, runner] : runners) runner->thread.join();
        for (auto& runner : retired) runner->thread.join();
    }

    /// One edge that is tried.
    struct Runner {
        Runner(Impl& impl, const client::Url& url, const std::string& edge)
            : pair(impl.config, url, impl.targets.origin),
              stats(edge),
              thread{[this, &impl](const auto& stop) {
                  impl.run(*this, stop);
                  ended = true;
              }} {}
        void stop() {
            thread.request_stop();
            pair.interrupt();
        }
        Pair pair;
        CanaryStats stats;  ///< under mutex
        std::atomic<bool> ended{false};
        std::jthread thread;  ///< last: it uses the others
    };

    void use_edges(const std::vector<std::string>& link_addresses) {
        auto wanted = canary_urls(targets.edges, link_addresses);
        const auto untried_now = wanted.size() - std::min(wanted.size(), kEdgesMax);
        wanted.resize(wanted.size() - untried_now);
        const std::set<std::string> now{wanted.begin(), wanted.end()};
        std::erase_if(retired, [](const auto& runner) { return runner->ended.load(); });
        bool changed = untried_now != untried;
        for (auto at = runners.begin(); at != runners.end();) {
            if (now.contains(at->first)) {
                ++at;
                continue;
            }
            at->second->stop();
            retired.push_back(take(at));
            changed = true;
        }
        for (const auto& edge : now) {
            if (!runners.contains(edge)) changed |= begin(edge);
        }
        untried = untried_now;
        {
            const std::scoped_lock lock{mutex};
            if (failing.size() > kEdgesMax) {
                std::erase_if(failing, [&](const auto& edge) { return !now.contains(edge); });
            }
        }
        if (changed) publish();
    }

    using Runners = std::map<std::string, std::unique_ptr<Runner>>;
    std::unique_ptr<Runner> take(Runners::iterator& at) {
        const std::scoped_lock lock{mutex};
        auto runner = std::move(at->second);
        at = runners.erase(at);
        return runner;
    }

    /// False: the cluster's address is no URL.
    bool begin(const std::string& edge) {
        const auto url = client::parse_url(edge);
        if (!url) return false;
        auto runner = std::make_unique<Runner>(*this, *url, edge);
        const std::scoped_lock lock{mutex};
        runners.emplace(edge, std::move(runner));
        return true;
    }

    void run(Runner& runner, const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), "console-canary");
        // An edge that has just started, perhaps in this process, need not work at once.
        const auto starts_until = steady_clock::now() + config.every;
        bool starting = true;
        while (!stop.stop_requested()) {
            auto push = runner.pair.push(clock.wall());
            if (stop.stop_requested()) return;
            starting = starting && !push.took && steady_clock::now() < starts_until;
            if (starting) {
                runner.pair.rest(stop, config.every / kTriesAtStart);
                continue;
            }
            add(runner, std::move(push));
            runner.pair.rest(stop, config.every);
        }
    }

    void add(Runner& runner, CanaryPush push) {
        if (push.took) {
            times.Observe(std::chrono::duration<double>{*push.took}.count());
            received.Increment();
        } else {
            failures.Increment();
        }
        CanaryFacts::Edge now;
        bool changed = false;
        {
            const std::scoped_lock lock{mutex};
            runner.stats.add(std::move(push));
            now = runner.stats.facts();
            changed = now.state == CanaryFacts::State::failing ? failing.insert(now.edge).second
                                                               : failing.erase(now.edge) > 0;
        }
        if (changed) tell(now);
        publish();
    }

    /// A line when an edge begins to fail, and when it works again.
    static void tell(const CanaryFacts::Edge& now) {
        if (now.state == CanaryFacts::State::failing) {
            core::log_warn("console", "canary_fails", {{"edge", now.edge}, {"why", now.why}});
        } else {
            core::log_info("console", "canary_works", {{"edge", now.edge}});
        }
    }

    CanaryFacts facts() const {
        CanaryFacts out;
        const std::scoped_lock lock{mutex};
        for (const auto& [edge, runner] : runners) out.edges.push_back(runner->stats.facts());
        return out;
    }

    void publish() {
        if (targets.edges.empty()) return;
        auto edges = nlohmann::json::array();
        const std::scoped_lock lock{mutex};
        for (const auto& [edge, runner] : runners) edges.push_back(runner->stats.json());
        const nlohmann::json page{
            {"every_seconds", std::chrono::duration<double>{config.every}.count()},
            {"untried", untried.load()},
            {"edges", std::move(edges)}};
        pages.publish("canary", core::json_text(page));
    }

    const CanaryConfig config;
    const CanaryTargets targets;
    const core::Clock& clock;
    LivePages& pages;
    prometheus::Histogram& times;
    prometheus::Counter& received;
    prometheus::Counter& failures;
    mutable std::mutex mutex;
    /// The edges whose last push failed, as the log says: an edge that dies fails, leaves the
    /// cluster, and comes back. Edges that have left are forgotten when there are too many. Under
    /// mutex.
    std::set<std::string> failing;
    std::atomic<std::size_t> untried{0};
    std::vector<std::unique_ptr<Runner>> retired;  ///< their threads end by themselves
    Runners runners;                               ///< by URL; changed under mutex
};

Canary::Canary(const CanaryConfig& config, const core::Clock& clock, LivePages& pages,
               ops::Metrics& metrics)
    : impl_(std::make_unique<Impl>(config, clock, pages, metrics)) {}

Canary::~Canary() = default;

void Canary::use_edges(const std::vector<std::string>& link_addresses) {
    impl_->use_edges(link_addresses);
}

std::optional<CanaryFacts> Canary::facts() const {
    return impl_->targets.edges.empty() ? std::nullopt : std::optional{impl_->facts()};
}

std::string Canary::metrics_text() const {
    ops::WrittenSeries written;
    written.begin(metric::kCanarySuccess,
                  "1: the last push of the canary through this edge arrived.");
    bool any = false;
    for (const auto& edge : impl_->facts().edges) {
        if (edge.state == CanaryFacts::State::starting) continue;
        written.add({{"edge", edge.edge}}, edge.state == CanaryFacts::State::well ? 1 : 0);
        any = true;
    }
    return any ? written.text() : std::string{};
}

namespace {

constexpr std::string_view kAnyHost = "//*";

bool is_for_all(const std::string& pattern) { return pattern.find(kAnyHost) != std::string::npos; }

std::string with_host(const std::string& pattern, std::string_view host) {
    auto url = pattern;
    return url.replace(url.find(kAnyHost) + 2, 1, host);
}

void add(std::vector<std::string>& urls, std::string url) {
    if (std::ranges::find(urls, url) == urls.end()) urls.push_back(std::move(url));
}

bool is_edge(const std::string& text) {
    const auto url = client::parse_url(is_for_all(text) ? with_host(text, "localhost") : text);
    return url && (url->scheme == "ws" || url->scheme == "wss");
}

/// Empty text: it is none.
std::string origin_of(const std::string& text) {
    const auto url = client::parse_url(text);
    const bool http = url && (url->scheme == "http" || url->scheme == "https");
    const bool one_host = url && url->host.find('*') == std::string::npos;
    return http && one_host && url->target == "/" ? url->origin() : std::string{};
}

}  // namespace

CanaryTargets canary_targets(const std::vector<std::string>& configured) {
    CanaryTargets targets;
    for (const auto& text : configured) {
        if (is_edge(text)) {
            targets.edges.push_back(text);
        } else if (auto origin = origin_of(text); !origin.empty() && targets.origin.empty()) {
            targets.origin = std::move(origin);
        } else {
            throw std::runtime_error(
                "'" + text +
                "' is no WebSocket URL: write ws://edge-1:8080/, or ws://*:8080/ for every edge of "
                "the cluster; at most one entry may be the origin to POST to, http://proxy:8082");
        }
    }
    if (targets.edges.empty() && !targets.origin.empty()) {
        throw std::runtime_error("names " + targets.origin +
                                 ", where it POSTs, and no edge: write ws://edge-1:8080/, or "
                                 "ws://*:8080/ for every edge of the cluster");
    }
    return targets;
}

std::string at_origin(const std::string& endpoint, const std::string& origin) {
    const auto url = client::parse_url(endpoint);
    return origin.empty() || !url ? endpoint : origin + url->target;
}

std::vector<std::string> canary_urls(const std::vector<std::string>& patterns,
                                     const std::vector<std::string>& link_addresses) {
    std::vector<std::string> urls;
    for (const auto& pattern : patterns) {
        if (!is_for_all(pattern)) {
            add(urls, pattern);
            continue;
        }
        for (const auto& address : link_addresses) {
            if (const auto split = core::split_authority(address)) {
                add(urls, with_host(pattern, split->host));
            }
        }
    }
    return urls;
}

}  // namespace beckon::console
