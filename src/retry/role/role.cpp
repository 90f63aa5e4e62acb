#include "retry/role/role.hpp"

#include "core/logger.hpp"
#include "net/http/http_server.hpp"
#include "net/tls.hpp"
#include "retry/api/api.hpp"
#include "retry/api/api_handler.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/loop/loop.hpp"
#include "retry/node/retry_node.hpp"
#include "retry/role/bridge_metrics.hpp"
#include "retry/role/bridge_parts.hpp"
#include "retry/role/role_metrics.hpp"

#include <future>
#include <latch>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include <pthread.h>

namespace beckon::retry {

namespace {

constexpr std::chrono::seconds kTick{1};
constexpr std::string_view kPart = "retry";
/// At a stop, until the log has what is finished.
constexpr std::chrono::seconds kLastRecords{1};

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
    options.times.request = config.request_deadline;
    options.connections.total_max = config.connections_max;
    options.when_full = net::WhenFull::replace_oldest;
    options.tls = load_tls(config);
    options.drain = config.drain;
    return options;
}

}  // namespace

struct Role::Impl {
    Impl(RoleConfig c, log::EventLog& l, std::shared_ptr<const core::KeyRing> k,
         const core::Clock& clk, ops::Metrics& m, ops::Health& h)
        : config(std::move(c)),
          table(or_throw(TierTable::from(config.tiers), "the tier table of `control`")),
          guard(or_throw(AddressGuard::with_allowed(config.allowed_addresses),
                         "retry.allowed_addresses")),
          inside(or_throw(HostList::of(config.allowed_hosts), "retry.allowed_hosts")),
          log(l),
          keys(std::move(k)),
          clock(clk),
          health(h),
          metrics(m),
          bridge_metrics(m),
          bridge_credentials(load_bridge_credentials(config)),
          server(server_options(config), metrics) {
        say_ready(false, "starting");
        std::latch opened{1};
        thread = std::thread{[this, &opened] { run(opened); }};
        opened.wait();
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
        loop.stop();
        thread.join();
    }

    void run(std::latch& opened);
    std::unique_ptr<net::HttpHandler> make_handler(core::Executor& http);
    RetryNode::Options node_options() const;
    void tick();
    void warn_of_bridges();
    void begin_stop();

    void say_ready(bool ready, std::string_view why) {
        if (config.decides_readiness) health.set_ready(kPart, ready, why);
        if (std::exchange(was_ready, ready) != ready) {
            core::log_info("retry", ready ? "ready" : "not_ready", {{"why", why}});
        }
    }

    const RoleConfig config;
    const TierTable table;
    const AddressGuard guard;
    const HostList inside;
    log::EventLog& log;
    const std::shared_ptr<const core::KeyRing> keys;
    const core::Clock& clock;
    ops::Health& health;
    RoleMetrics metrics;
    BridgeMetrics bridge_metrics;
    std::optional<BridgeCredentials> bridge_credentials;  ///< until the bridges are made
    Loop loop;                                            ///< outlives everybody who posts to it
    net::HttpServer server;
    bool stopping = false;
    std::promise<void> stopped;

    // Of the thread `retry`.
    std::unique_ptr<HttpSender> sender;
    std::unique_ptr<BridgeParts> bridges;
    std::unique_ptr<RetryNode> node;
    std::unique_ptr<Api> api;
    bool was_ready = false;
    std::map<BridgeAppName, std::string> warned_of;  ///< apps of bridges, and why

    std::thread thread;
};

RetryNode::Options Role::Impl::node_options() const {
    RetryNode::Options options{.partitions = config.partitions,
                               .table = table,
                               .node = config.node,
                               .node_name = config.node_name};
    options.schedule.workers = config.workers;
    options.age_max = config.age_max;
    options.failing_max = config.failing_max;
    options.drain = config.drain;
    if (config.max_runtime > config.max_runtime.zero()) {
        options.stop_at = clock.mono() + config.max_runtime;
    }
    return options;
}

void Role::Impl::run(std::latch& opened) {
    pthread_setname_np(pthread_self(), "retry");
    sender =
        std::make_unique<HttpSender>(HttpSender::Options{.guard = guard,
                                                         .inside = inside,
                                                         .proxy = config.proxy,
                                                         .ca_file = config.ca_file,
                                                         .user_agent = "Beckon/" + config.version},
                                     loop);
    auto options = node_options();
    bridges = std::make_unique<BridgeParts>(config, std::move(*bridge_credentials), options, log,
                                            loop, clock, bridge_metrics);
    bridge_credentials.reset();
    node = std::make_unique<RetryNode>(
        std::move(options),
        RetryNode::Context{
            .log = log,
            .executor = loop,
            .clock = clock,
            .keys = keys,
            .send =
                [this](HttpRequest request, std::function<void(HttpAnswer)> done) {
                    sender->send(std::move(request), std::move(done));
                },
            .ready = [this](bool ready, const std::string& why) { say_ready(ready, why); },
            .bridges = &bridges->bridges()});
    api = std::make_unique<Api>(
        Api::Options{.guard = guard,
                     .webhooks_per_owner_max = config.webhooks_per_owner_max,
                     .memory = {.per_owner = config.webhook_memory_per_owner_max,
                                .in_all = config.webhook_memory_max},
                     .events_per_owner_per_second = config.events_per_owner_per_second,
                     .wait_max = std::chrono::floor<std::chrono::seconds>(
                         std::min<std::chrono::milliseconds>(Api::Options{}.wait_max,
                                                             config.request_deadline * 4 / 5))},
        *node, clock, keys);
    node->start();
    tick();
    opened.count_down();
    loop.run();
    api.reset();
    sender.reset();  // its answers go to the node
    bridges->end_answers();
    node.reset();
    bridges.reset();
}

std::unique_ptr<net::HttpHandler> Role::Impl::make_handler(core::Executor& http) {
    return std::make_unique<ApiHandler>(
        http,
        [this](ApiRequest request, Api::Reply reply) {
            loop.post([this, request = std::move(request), reply = std::move(reply)] {
                api->handle(request, reply);
            });
        },
        [this](int status) { metrics.replied(status); });
}

void Role::Impl::tick() {
    node->still_alive();
    metrics.measure(*node);
    warn_of_bridges();
    bridge_metrics.measure(bridges->bridges());
    loop.post_after(kTick, [this] { tick(); });
}

/// The process stays ready: what waits for an app waits in the tiers, and the rest goes on.
void Role::Impl::warn_of_bridges() {
    auto faults = bridges->bridges().faults();
    if (faults == warned_of) return;
    const auto what = [](const BridgeAppName& app) {
        return "retry: " + std::string{core::to_string(app.first)} + " " + app.second;
    };
    for (const auto& [app, why] : warned_of) health.set_warning(what(app), "");
    for (const auto& [app, why] : faults) health.set_warning(what(app), why);
    warned_of = std::move(faults);
}

void Role::Impl::begin_stop() {
    if (std::exchange(stopping, true)) return;
    server.begin_stop();
    loop.post([this] {
        say_ready(false, "stopping");
        node->stop([this] { stopped.set_value(); });
    });
}

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
        return;
    }
    impl_->server.use_tls(*loaded);
    core::log_info("retry", "tls_reloaded", {});
}

}  // namespace beckon::retry
