#include "retry/role/role.hpp"

#include "core/descriptors.hpp"
#include "core/logger.hpp"
#include "core/short_slices.hpp"
#include "fold/sender_rules.hpp"
#include "net/connection_limiter.hpp"
#include "net/http/http_server.hpp"
#include "net/io_loop.hpp"
#include "net/tls.hpp"
#include "ops/loop_watch.hpp"
#include "retry/api/api.hpp"
#include "retry/api/api_handler.hpp"
#include "retry/api/owner_token.hpp"
#include "retry/api/problem.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/home/tiers/work_journal.hpp"
#include "retry/role/bridge_parts.hpp"
#include "retry/role/request_queue.hpp"
#include "retry/role/retry_node.hpp"
#include "retry/role/role_metrics.hpp"

#include <algorithm>
#include <future>
#include <latch>
#include <list>
#include <map>
#include <stdexcept>
#include <utility>

namespace beckon::retry {

namespace {

constexpr auto kTick = net::LoopThread::kTick;
constexpr const char* kPart = "retry";
/// A loop that has not turned for so long is stalled.
constexpr core::Duration kStalledAfter = std::chrono::seconds{3};
/// At a stop, until the log has the finished records.
constexpr std::chrono::seconds kLastRecords{1};
/// Connections of the API. A pool of an application has some ten; one more replaces the connection
/// that has waited longest for its client.
constexpr std::size_t kConnectionsMax = 1'024;
/// From a request's first byte to its reply: an event of 256 KiB takes less on any line, and the
/// longest wait for first attempts (Api::Options::wait_max) ends before it.
constexpr std::chrono::seconds kRequestDeadline{30};
/// Memory that the webhooks of all owners hold: sixteen owners' whole quota of 16 MiB.
constexpr std::size_t kWebhookMemoryMax = std::size_t{256} << 20;
/// Memory of large events for each attempt that may be under way: those that are being sent, and
/// those that are kept for the next attempts.
constexpr std::size_t kEventBytesOfAttempt = std::size_t{64} << 10;
constexpr std::size_t kEventCacheOfAttempt = std::size_t{32} << 10;
/// Less would hold fewer events than owners.
constexpr std::size_t kEventBytesLeast = 8 * kEventBytesMax;

template <class T>
T or_throw(core::Result<T> result, const char* what) {
    if (!result) throw std::runtime_error(std::string{what} + ": " + result.error().message);
    return std::move(*result);
}

std::shared_ptr<const net::TlsContext> load_tls(const RoleConfig& config) {
    if (!config.tls_certificate) return nullptr;
    return or_throw(net::TlsContext::load({*config.tls_certificate, *config.tls_key}), "retry");
}

net::HttpServerOptions server_options(const RoleConfig& config) {
    net::HttpServerOptions options;
    options.name = "retry-http";
    options.host = config.host;
    options.port = config.port;
    options.limits = {.header_bytes_max = 16'384,
                      .body_bytes_max = kEventBytesMax,
                      .extra_prefix = Api::kExtraPrefix};
    options.times.request = kRequestDeadline;
    options.connections.total_max = kConnectionsMax;
    options.when_full = net::WhenFull::replace_oldest;
    options.tls = load_tls(config);
    options.drain = config.drain;
    return options;
}

/// Whose turn a request takes: operators, and all requests without a valid token, have one each,
/// whose names no owner can have.
std::string turn_of(const core::Result<Caller>& caller) {
    if (!caller) return "/unauthorized";
    return caller->operates ? "/operator" : caller->owner;
}

SendRequest sends_with(HttpSender& sender) {
    return [&sender](HttpRequest request, std::function<void(HttpAnswer)> done) {
        sender.send(std::move(request), std::move(done));
    };
}

/// One of the threads for deliveries.
struct Deliverer {
    Deliverer(std::size_t number, const core::Clock& clock)
        : thread("retry-" + std::to_string(number), clock) {}
    net::LoopThread thread;
    std::unique_ptr<HttpSender> sender;   ///< of the thread
    std::unique_ptr<HttpSender> bridges;  ///< likewise, to bridges
};

}  // namespace

struct Role::Impl {
    Impl(RoleConfig c, log::EventLog& l, std::shared_ptr<const core::KeyRing> k,
         const core::Clock& clk, ops::Metrics& m, ops::Health& h)
        : config(std::move(c)),
          table(or_throw(TierTable::from(config.tiers), "the tier table of `control`")),
          guard(or_throw(AddressGuard::with_allowed(config.allowed_addresses),
                         "retry.allowed_addresses")),
          inside(or_throw(HostList::of(config.allowed_hosts), "retry.allowed_hosts")),
          certificate_hosts(or_throw(HostList::of(config.client_certificate_hosts),
                                     "retry.client_certificate_hosts")),
          log(l),
          keys(std::move(k)),
          clock(clk),
          health(h),
          metrics(m),
          bridge_credentials(load_bridge_credentials(config)),
          server(server_options(config), metrics) {
        report_ready(false, "starting");
        raise_descriptors();
        start_threads();
        std::latch opened{1};
        control.start([this, &opened] { run(opened); });
        opened.wait();
        watch(control);
        for (const auto& one : deliverers) watch(one->thread);
        server.start([this](core::Executor& http) { return make_handler(http); });
    }
    ~Impl() {
        begin_stop();
        server.join();
        if (stopped.get_future().wait_for(config.drain + kLastRecords) !=
            std::future_status::ready) {
            core::log_warn("retry", "stop_not_confirmed",
                           {{"effect", "some deliveries are repeated"}});
        }
        watched.clear();
        control.stop();  // ends the node, while the others run
        for (auto& one : deliverers) one->thread.stop();
    }

    void watch(const net::LoopThread& thread) {
        watched.emplace_back(health, kPart, thread.name(),
                             [&thread] { return thread.since_last_turn(); });
    }
    void report_ready(bool ready, std::string_view why) {
        if (config.decides_readiness) health.set_ready(kPart, ready, why);
        if (std::exchange(was_ready, ready) == ready) return;
        ready ? core::log_info("retry", "ready")
              : core::log_info("retry", "not_ready", {{"why", why}});
    }

    const RoleConfig config;
    const TierTable table;
    const AddressGuard guard;
    const HostList inside;
    const HostList certificate_hosts;
    log::EventLog& log;
    const std::shared_ptr<const core::KeyRing> keys;
    const core::Clock& clock;
    WorkJournal journal{config.directory / "retry-attempts"};
    ops::Health& health;
    RoleMetrics metrics;
    const BridgeCredentials bridge_credentials;
    // Loops outlive all that post to them.
    std::vector<std::unique_ptr<Deliverer>> deliverers;
    net::LoopThread control{"retry", clock};
    net::IoLoop& loop = control.loop();
    RequestQueue requests{loop, clock, {.requests_max = kConnectionsMax}};  ///< to the API
    net::HttpServer server;
    bool stopping = false;
    std::promise<void> stopped;

    // Of the thread `retry`.
    std::unique_ptr<RetryNode> node;
    std::unique_ptr<Api> api;
    bool was_ready = false;
    std::map<BridgeAppName, std::string> warned_of;  ///< apps of bridges, and why

    std::list<ops::WatchedLoop> watched;  ///< first to go

    RetryNode::Options node_options() const {
        DeliveryOptions deliveries{.partitions = config.partitions,
                                   .table = table,
                                   .node = config.node,
                                   .age_max = config.age_max};
        auto& schedule = deliveries.schedule;
        schedule.workers = std::max<std::size_t>(1, config.workers / config.threads);
        schedule.event_bytes = std::max(kEventBytesLeast, kEventBytesOfAttempt * schedule.workers);
        if (config.max_runtime > config.max_runtime.zero()) {
            deliveries.stop_at = clock.mono() + config.max_runtime;
        }
        return {.deliveries = std::move(deliveries),
                .node_name = config.node_name,
                .event_cache_bytes = kEventCacheOfAttempt * config.workers,
                .drain = config.drain};
    }

    /// Each attempt and each connection is a descriptor.
    void raise_descriptors() const {
        const auto sockets = config.workers + kConnectionsMax;
        const auto limit = core::raise_descriptor_limit(net::descriptors_for(sockets));
        if (limit >= sockets) return;
        core::log_warn(
            "retry", "file_descriptors_few",
            {{"workers", config.workers}, {"connections_max", kConnectionsMax}, {"limit", limit}});
    }

    void start_threads() {
        control.loop().measure_turns();
        for (std::size_t i = 0; i < config.threads; ++i) {
            auto& one = *deliverers.emplace_back(std::make_unique<Deliverer>(i, clock));
            one.thread.loop().measure_turns();
            one.sender = std::make_unique<HttpSender>(
                HttpSender::Options{
                    .guard = guard,
                    .inside = inside,
                    .proxy = config.proxy,
                    .ca_file = config.ca_file,
                    .client_certificate = config.client_certificate.value_or("").string(),
                    .client_key = config.client_key.value_or("").string(),
                    .client_certificate_hosts = certificate_hosts,
                    .user_agent = "Beckon/" + config.version},
                one.thread.loop());
            one.bridges =
                std::make_unique<HttpSender>(bridge_sender_options(config), one.thread.loop());
            one.thread.start([&one] {
                core::run_in_short_slices();
                one.thread.run();
                one.sender.reset();
                one.bridges.reset();
            });
        }
    }

    void run(std::latch& opened) {
        core::run_in_short_slices();
        std::vector<DeliveryShard::Thread> threads;
        for (std::size_t i = 0; i < deliverers.size(); ++i) {
            auto& one = *deliverers[i];
            threads.push_back({.executor = one.thread.loop(),
                               .send = sends_with(*one.sender),
                               .journal = &journal.slot(i),
                               .bridge_apps = [this, send = sends_with(*one.bridges)] {
                                   return make_bridge_apps(
                                       config, bridge_credentials,
                                       {.clock = clock, .send = send, .observer = metrics});
                               }});
        }
        node = std::make_unique<RetryNode>(
            node_options(),
            RetryNode::Context{
                .log = log,
                .executor = loop,
                .clock = clock,
                .keys = keys,
                .threads = std::move(threads),
                .ready = [this](bool ready, const std::string& why) { report_ready(ready, why); },
                .observer = &metrics,
                .milestones = config.milestones});
        const fold::SenderRules senders{"retry", {.log = log, .executor = loop, .clock = clock}};
        api = std::make_unique<Api>(
            Api::Options{.guard = guard,
                         .memory = {.per_owner = config.webhook_memory_per_owner_max,
                                    .in_all = kWebhookMemoryMax},
                         .events_per_owner_per_second = config.events_per_owner_per_second,
                         .is_blocked =
                             [&senders](const std::string& owner) {
                                 return senders.any() &&
                                        senders.blocks(core::SenderKind::owner, owner);
                             },
                         .key_missing = config.key_missing},
            *node, clock, keys);
        node->start();
        tick();
        watch_control();
        opened.count_down();
        control.run();
        api.reset();
        node.reset();
    }

    std::unique_ptr<net::HttpHandler> make_handler(core::Executor& http) {
        core::run_in_short_slices();
        return std::make_unique<ApiHandler>(
            http,
            [this](ApiRequest request, const Api::Reply& reply) { ask(std::move(request), reply); },
            [this](int status) { metrics.replied(status); });
    }

    /// On a thread of the port. Refuses the request if the owner holds its share of the queue.
    void ask(ApiRequest request, const Api::Reply& reply) {
        const auto owner = turn_of(caller_of(*keys, request.authorization));
        const auto bytes = request.body.size() + request.target.size();
        const bool taken = requests.put(
            owner, bytes,
            [this, request = std::move(request), reply](const RequestQueue::PlacePtr& place) {
                api->handle(request, [reply, place](net::HttpReply answer) {
                    place->replies(answer.body.size());
                    answer.held = place;
                    reply(std::move(answer));
                });
            });
        if (taken) return;
        auto refused =
            problem_reply(Problem::too_many_requests,
                          "too many requests of this owner are under way; try again in a moment");
        refused.add("Connection", "close");  // the next requests on it keep no connection busy
        reply(std::move(refused));
    }

    void tick() {
        loop.post_after(kTick, [this] { tick(); });  // first: an exception below ends no later tick
        // To the group a node is alive while all its loops are: else another takes over.
        if (watch_loops()) node->still_alive();
        node->measure();
        const auto counts = node->counts();
        metrics.measure(*node, counts);
        measure_turns();
        warn_of_bridges(counts.bridge_faults);
    }

    void measure_turns() {
        const auto measure = [this](net::LoopThread& thread) {
            metrics.turned(thread.name(), thread.loop().take_longest_turn());
        };
        measure(control);
        for (auto& one : deliverers) measure(one->thread);
    }

    /// Whether all loops but this one turn.
    bool watch_loops() {
        std::string why;
        for (const auto& one : deliverers) {
            if (auto stalled = why_stalled(one->thread); !stalled.empty()) why = std::move(stalled);
        }
        report_loops("retry: loops", why);
        return why.empty();
    }

    std::string why_stalled(const net::LoopThread& thread) const {
        return ops::why_stalled(thread.name(), thread.since_last_turn(), kStalledAfter);
    }

    /// Only another loop sees that the control thread is stalled; all of them are at once only
    /// where the machine is.
    void watch_control() {
        deliverers.front()->thread.loop().post_after(kTick, [this] {
            report_loops("retry: loop retry", why_stalled(control));
            watch_control();
        });
    }

    /// Beside the roles that deliver pushes it is a warning, as it holds none of them up.
    void report_loops(std::string_view part, const std::string& why) {
        if (config.decides_readiness) {
            health.set_ready(part, why.empty(), why);
        } else {
            health.set_warning(part, why);
        }
    }

    /// The process stays ready: messages for this app wait in the tiers, and the rest goes on.
    void warn_of_bridges(const std::map<BridgeAppName, std::string>& faults) {
        if (faults == warned_of) return;
        const auto what = [](const BridgeAppName& app) {
            return "retry: " + std::string{core::to_string(app.first)} + " " + app.second;
        };
        for (const auto& [app, why] : warned_of) health.set_warning(what(app), "");
        for (const auto& [app, why] : faults) health.set_warning(what(app), why);
        warned_of = faults;
    }

    void begin_stop() {
        if (std::exchange(stopping, true)) return;
        server.begin_stop();
        loop.post([this] {
            report_ready(false, "stopping");
            node->stop([this] { stopped.set_value(); });
        });
    }
};

Role::Role(RoleConfig config, log::EventLog& log, std::shared_ptr<const core::KeyRing> keys,
           const core::Clock& clock, ops::Metrics& metrics, ops::Health& health)
    : impl_(std::make_unique<Impl>(std::move(config), log, std::move(keys), clock, metrics,
                                   health)) {}

Role::~Role() = default;

void Role::begin_stop() { impl_->begin_stop(); }
std::uint16_t Role::port() const { return impl_->server.port(); }

void Role::reload_tls() {
    const auto& config = impl_->config;
    if (!config.tls_certificate) return;
    const auto loaded = net::TlsContext::load({*config.tls_certificate, *config.tls_key});
    if (!loaded) {
        core::log_error("retry", "tls_not_reloaded", {{"error", loaded.error().message}});
        impl_->health.set_warning(
            "retry_tls",
            "SIGHUP found a certificate that cannot be used, and the former one stays in use: " +
                loaded.error().message);
        return;
    }
    impl_->server.use_tls(*loaded);
    impl_->health.set_warning("retry_tls", "");
    core::log_info("retry", "tls_reloaded", {});
    net::warn_if_not_valid(*config.tls_certificate);
}

}  // namespace beckon::retry
