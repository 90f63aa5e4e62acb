#include "ingest/endpoint.hpp"

#include "core/ascii.hpp"
#include "core/authority.hpp"
#include "core/base64url.hpp"
#include "core/descriptors.hpp"
#include "core/logger.hpp"
#include "fetch/url.hpp"
#include "fold/sender_rules.hpp"
#include "fold/webhook_owners.hpp"
#include "ingest/receipts/receipt_polls.hpp"
#include "ingest/receipts/receipt_replies.hpp"
#include "ingest/service.hpp"
#include "ingest/view/edge_lag.hpp"
#include "ingest/view/subscription_view.hpp"
#include "net/connection_limiter.hpp"
#include "net/http/http_server.hpp"
#include "net/io_loop.hpp"
#include "records/subscription_gone.hpp"
#include "store/subscription_store.hpp"

#include <algorithm>
#include <latch>
#include <stdexcept>
#include <thread>

namespace beckon::ingest {

namespace {

constexpr std::string_view kPart = "endpoint";
constexpr std::string_view kLogPart = "log";
/// VAPID tokens with a wrong signature from one address: each costs 80 µs of CPU, so these take
/// less than a thousandth of a core. More get 429.
constexpr std::size_t kFailedVapidPerMinute = 600;
/// Verified tokens that are remembered until they expire, of all threads: 10 MB.
constexpr std::size_t kVapidCacheEntries = 100'000;
/// Records that wait for the log: more than kWaitingMax of the usual ones; POSTs beyond get 503.
constexpr std::size_t kPublishBytesMax = 64U << 20;

std::shared_ptr<const net::TlsContext> load_tls_or_throw(const EndpointConfig& config) {
    if (!config.tls_certificate && !config.tls_key) return nullptr;
    if (!config.tls_certificate || !config.tls_key) {
        throw std::runtime_error("TLS needs both a certificate and a key");
    }
    auto loaded = net::TlsContext::load({*config.tls_certificate, *config.tls_key});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    return std::move(*loaded);
}

int threads_of(const EndpointConfig& config) {
    if (config.threads > 0) return config.threads;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

net::HttpServerOptions server_options(const EndpointConfig& config) {
    net::HttpServerOptions options;
    options.name = "ingest";
    options.host = config.host;
    options.port = config.port;
    options.threads = threads_of(config);
    options.limits = {.body_bytes_max = config.data_bytes_max, .extra_prefix = kReceiptHeaders};
    options.times = {.request = config.request_deadline, .keep_alive = config.keep_alive};
    options.connections = {.total_max = config.connections_max,
                           .per_address_max = config.connections_per_address_max};
    options.proxies = net::TrustedProxies{config.trusted_proxies};
    options.proxy_protocol = config.proxy_protocol;
    options.tls = load_tls_or_throw(config);
    options.drain = config.drain;
    return options;
}

std::unique_ptr<store::SubscriptionStore> open_store_or_throw(const EndpointConfig& config) {
    store::SubscriptionStoreOptions options;
    options.directory = config.view_directory;
    options.log_id = config.log_id;
    options.partitions = config.partitions;
    options.memory = config.store_memory;
    auto opened = store::SubscriptionStore::open(options);
    if (!opened) throw std::runtime_error("endpoint view: " + opened.error().message);
    return std::move(*opened);
}

/// scheme://host[:port], from a URL that may have a path.
std::string origin_of(const std::string& url) {
    const auto parsed = fetch::Url::parse(url);
    if (!parsed) {
        throw std::runtime_error("public_url '" + url + "' must be like https://push.example.org");
    }
    return parsed->origin();
}

std::string scheme_of(const EndpointConfig& config) {
    return config.tls_certificate ? "https://" : "http://";
}

/// Without a public URL the machine itself is meant, also when all its addresses listen.
std::string listening_origin(const EndpointConfig& config, std::uint16_t port) {
    return scheme_of(config) + core::local_authority(config.host, port);
}

std::vector<std::string> audiences_of(const EndpointConfig& config, const std::string& origin,
                                      std::uint16_t port) {
    auto audiences = accepted_audiences(origin, config.extra_audiences);
    for (const auto& former : config.former_origins) {
        const auto good = accepted_audiences(former, {});
        audiences.insert(audiences.end(), good.begin(), good.end());
    }
    if (!config.public_url.empty()) return audiences;
    for (const char* host : {"localhost", "127.0.0.1", "[::1]"}) {  // names of one machine
        for (auto& audience :
             accepted_audiences(scheme_of(config) + host + ":" + std::to_string(port), {})) {
            audiences.push_back(std::move(audience));
        }
    }
    return audiences;
}

/// So much of a tracked key is shown.
constexpr std::size_t kTrackedNameSize = 8;

std::vector<std::string> tracked_points(const std::vector<std::string>& texts) {
    std::vector<std::string> points;
    for (const auto& text : texts) {
        auto point = parse_tracking_key(text);
        if (!point) throw std::runtime_error(point.error().message);
        if (!point->empty()) points.push_back(std::move(*point));
    }
    return points;
}

}  // namespace

core::Result<std::string> parse_tracking_key(std::string_view text) {
    std::string key{text};
    std::erase_if(
        key, [](char c) { return std::string_view{"[]\" \t"}.find(c) != std::string_view::npos; });
    if (key.empty()) return std::string{};
    auto point = core::parse_base64_any(key);
    if (!point || point->size() != 65 || (*point)[0] != 0x04) {
        return core::fail(
            core::Fault::invalid,
            "tracking key '" + key + "' is not the base64 of an uncompressed P-256 point");
    }
    return std::move(*point);
}

struct Endpoint::Impl {
    Impl(EndpointConfig config_in, log::EventLog& log_in, std::shared_ptr<const core::KeyRing> keys,
         const core::Clock& clock_in, ops::Metrics& metrics_in, ops::Health& health_in);
    ~Impl();

    void start_view();
    std::unique_ptr<log::LogWatch> make_log_watch();
    void run_view(std::latch& opened);
    void reload_tls();
    void begin_stop();
    ServiceConfig service_config() const;

    const EndpointConfig config;
    log::EventLog& log;
    const core::Clock& clock;
    ops::Health& health;
    IngestMetrics metrics;
    std::unique_ptr<store::SubscriptionStore> store;
    net::HttpServer server;
    std::string origin;
    bool stopping = false;

    // The view's loop outlives all that may post to it: joined first, destroyed last.
    net::IoLoop view_loop;
    std::unique_ptr<SubscriptionView> view;               ///< used on its thread, read from all
    std::unique_ptr<log::LogWatch> log_watch;             ///< on the view's thread; all notify it
    std::unique_ptr<ReceiptPolls> receipts;               ///< on the view's thread; asked by all
    std::unique_ptr<fold::WebhookOwners> webhook_owners;  ///< on the view's thread; asked by all
    std::unique_ptr<EdgeLag> edge_lag;                    ///< the same
    std::unique_ptr<fold::SenderRules> sender_rules;      ///< the same
    std::unique_ptr<SenderGate> senders;
    std::unique_ptr<ServiceShared> shared;
    std::thread view_thread;
};

Endpoint::Impl::Impl(EndpointConfig config_in, log::EventLog& log_in,
                     std::shared_ptr<const core::KeyRing> keys, const core::Clock& clock_in,
                     ops::Metrics& metrics_in, ops::Health& health_in)
    : config(std::move(config_in)),
      log(log_in),
      clock(clock_in),
      health(health_in),
      metrics(metrics_in),
      store(open_store_or_throw(config)),
      server(server_options(config), metrics) {
    health.set_ready(kPart, false, "the subscriptions are still being read");
    origin = config.public_url.empty() ? listening_origin(config, server.port())
                                       : origin_of(config.public_url);
    auto service = service_config();  // throws if it is wrong: before there are threads
    const auto limit = core::raise_descriptor_limit(net::descriptors_for(config.connections_max));
    if (limit < config.connections_max) {
        core::log_warn("ingest", "file_descriptors_few",
                       {{"connections_max", config.connections_max}, {"limit", limit}});
    }
    if (!keys->auth_key()) {
        core::log_warn("ingest", "no_auth_keys", {{"effect", "registrations are refused"}});
    }
    start_view();
    shared = std::unique_ptr<ServiceShared>(new ServiceShared{
        .config = std::move(service),
        .keys = std::move(keys),
        .clock = clock,
        .view = *view,
        .metrics = metrics,
        .health = health,
        .proxies = net::TrustedProxies{config.trusted_proxies},
        .requests = net::RateLimiter{{.limit = config.requests_per_address_per_second,
                                      .window = std::chrono::seconds{1}}},
        .failed_vapid = FailedChecks{kFailedVapidPerMinute},
        .publish_budget = PublishBudget{kPublishBytesMax, metrics},
        .receipts = receipts.get(),
        .log_watch = log_watch.get(),
        .refused = config.refused,
        .busiest = config.busiest,
        .edge_lag = edge_lag.get(),
        .senders = senders.get(),
        .gone_wanted = [this](std::string_view owner) { return webhook_owners->may_want(owner); },
    });
    server.start(
        [this](core::Executor& loop) { return std::make_unique<Service>(*shared, log, loop); });
    core::log_info("ingest", "listening",
                   {{"host", config.host},
                    {"port", server.port()},
                    {"origin", origin},
                    {"former_origins", core::joined(config.former_origins, " ")},
                    {"threads", threads_of(config)}});
}

ServiceConfig Endpoint::Impl::service_config() const {
    ServiceConfig service;
    static_cast<ServiceSettings&>(service) = config;
    service.origin = origin;
    service.audiences = audiences_of(config, origin, server.port());
    service.vapid_cache_entries =
        std::max<std::size_t>(1, kVapidCacheEntries / static_cast<std::size_t>(threads_of(config)));
    service.endpoint_origins = config.former_origins;
    service.endpoint_origins.push_back(origin);
    for (const auto& point : tracked_points(config.tracking_keys)) {
        service.tracked.push_back(core::sha256(point));
        service.tracked_names.push_back(core::base64url(point).substr(0, kTrackedNameSize));
    }
    service.receipt_wait = std::min<std::chrono::milliseconds>(
        service.receipt_wait, std::chrono::milliseconds{config.request_deadline} * 4 / 5);
    return service;
}

void Endpoint::Impl::start_view() {
    std::latch opened{1};
    view_thread = std::thread{[this, &opened] { run_view(opened); }};
    opened.wait();
}

void Endpoint::Impl::run_view(std::latch& opened) {
    view = std::make_unique<SubscriptionView>(
        ViewConfig{.node = config.node,
                   .partitions = config.partitions,
                   .delete_retention = config.delete_retention},
        log, view_loop, clock, *store, metrics,
        [this](const ViewReadiness& now) { health.set_ready(kPart, now.ready, now.why); });
    view->start();
    log_watch = make_log_watch();
    log_watch->start();
    receipts = std::make_unique<ReceiptPolls>(config.partitions, log, view_loop, clock);
    webhook_owners = std::make_unique<fold::WebhookOwners>(
        fold::WebhookOwners::Options{.type = std::string{core::kSubscriptionGoneType},
                                     .partitions = config.partitions,
                                     .node = config.node,
                                     .folder = "ingest"},
        fold::WebhookOwners::Context{.log = log, .executor = view_loop, .clock = clock});
    edge_lag = std::make_unique<EdgeLag>(config.partitions, log, view_loop, clock);
    sender_rules = std::make_unique<fold::SenderRules>(
        "ingest", fold::SenderRules::Context{.log = log, .executor = view_loop, .clock = clock});
    senders = std::make_unique<SenderGate>(*sender_rules);
    opened.count_down();
    view_loop.run("ingest-view");
    sender_rules.reset();
    edge_lag.reset();
    webhook_owners.reset();
    receipts.reset();
    log_watch.reset();
    view.reset();
}

/// Its read barrier goes through the first partition, as any other does.
std::unique_ptr<log::LogWatch> Endpoint::Impl::make_log_watch() {
    log::LogWatch::Probes probes;
    probes.reach = log::ask_ends({log::Topic::kSubscriptions, 0}, log, view_loop);
    probes.write = [this](log::LogWatch::Answer answer) {
        view->confirm(core::Uaid{}, view_loop, std::move(answer));
    };
    return std::make_unique<log::LogWatch>(
        log::LogWatch::Options{
            .grace = config.log_grace,
            .interval = std::min<core::Duration>(std::chrono::seconds{1}, config.log_grace / 2)},
        view_loop, clock, std::move(probes), [this](std::string_view why) {
            health.set_ready(kLogPart, why.empty(), why);
            if (why.empty()) return core::log_info("ingest", "log_works_again", {});
            core::log_error("ingest", "log_does_not_work", {{"why", why}});
        });
}

void Endpoint::Impl::begin_stop() {
    if (std::exchange(stopping, true)) return;
    health.set_ready(kPart, false, "stopping");
    receipts->end();
    server.begin_stop();
}

Endpoint::Impl::~Impl() {
    begin_stop();
    server.join();
    view_loop.stop();
    if (view_thread.joinable()) view_thread.join();
}

constexpr const char* kTlsWarning = "endpoint_tls";

void Endpoint::Impl::reload_tls() {
    if (!config.tls_certificate) return;
    auto loaded = net::TlsContext::load({*config.tls_certificate, *config.tls_key});
    if (!loaded) {
        core::log_error("ingest", "tls_not_reloaded", {{"error", loaded.error().message}});
        health.set_warning(
            kTlsWarning,
            "SIGHUP found a certificate that cannot be used, and the former one stays in use: " +
                loaded.error().message);
        return;
    }
    server.use_tls(*loaded);
    health.set_warning(kTlsWarning, "");
    core::log_info("ingest", "tls_reloaded", {});
    net::warn_if_not_valid(*config.tls_certificate);
}

Endpoint::Endpoint(EndpointConfig config, log::EventLog& log,
                   std::shared_ptr<const core::KeyRing> keys, const core::Clock& clock,
                   ops::Metrics& metrics, ops::Health& health)
    : impl_(std::make_unique<Impl>(std::move(config), log, std::move(keys), clock, metrics,
                                   health)) {}

Endpoint::~Endpoint() = default;

void Endpoint::begin_stop() { impl_->begin_stop(); }

std::uint16_t Endpoint::port() const { return impl_->server.port(); }

const std::string& Endpoint::origin() const { return impl_->origin; }

void Endpoint::reload_tls() { impl_->reload_tls(); }

}  // namespace beckon::ingest
