#include "app/roles/roles.hpp"

#include "app/config/config_faults.hpp"
#include "app/exit_codes.hpp"
#include "app/installation/control_watch.hpp"
#include "app/installation/copy_checksums.hpp"
#include "app/installation/installation.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/installation/self_made_certificate.hpp"
#include "app/installation/topics_watch.hpp"
#include "app/process/broker_wait.hpp"
#include "app/process/certificates.hpp"
#include "app/process/housekeeping.hpp"
#include "app/process/node_name.hpp"
#include "app/process/process_metrics.hpp"
#include "app/process/process_report.hpp"
#include "app/process/version.hpp"
#include "app/process/watchdog.hpp"
#include "app/roles/start_checks.hpp"
#include "console/console.hpp"
#include "core/ascii.hpp"
#include "core/authority.hpp"
#include "core/clock.hpp"
#include "core/logger.hpp"
#include "core/pause.hpp"
#include "core/setup_error.hpp"
#include "core/time_guard.hpp"
#include "core/time_text.hpp"
#include "edge/broadcast_pages.hpp"
#include "edge/edge.hpp"
#include "ingest/endpoint.hpp"
#include "inspect/backup/backup_service.hpp"
#include "inspect/delivery/delivery_pages.hpp"
#include "inspect/log/log_service.hpp"
#include "inspect/store/store_service.hpp"
#include "inspect/totals/reliability_pages.hpp"
#include "log/control.hpp"
#include "log/log_watch.hpp"
#include "log/topics_admin.hpp"
#include "net/io_loop.hpp"
#include "ops/metric_names.hpp"
#include "ops/ops_server.hpp"
#include "reliability/role.hpp"
#include "reliability/totals/totals_view.hpp"
#include "reliability/tracking/tracking.hpp"
#include "retry/role/role.hpp"
#include "rocks/memory.hpp"

#include <algorithm>
#include <string_view>
#include <thread>

namespace beckon::app {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds kControlTimeout{5'000};
constexpr seconds kOriginTimeout{10};
/// Until the process is ready for what comes then.
constexpr milliseconds kReadyPoll{20};

/// The parts that every role has, in the order of their lifetimes.
struct Process {
    Process(const std::string& role, const Config& config) {
        health.set_ready("process", false, "starting");  // before the ops port can be asked
        metrics
            .gauge(ops::metric::kBuildInfo, "Constant 1; the label names the build.",
                   {{"version", version_text()}})
            .Set(1);
        ops::OpsConfig ops_config = config.ops;
        ops_config.version = version_text();
        ops = std::make_unique<ops::OpsServer>(ops_config, metrics, health);
        looked_up.emplace(mount_process_metrics(role, *ops, metrics, config));
    }
    core::SystemClock clock;
    ops::Metrics metrics;
    ops::Health health;
    const Watchdog watchdog{health};
    std::unique_ptr<ops::OpsServer> ops;
    std::optional<ops::Mount> looked_up;
    core::NodeId node = core::NodeId::random();
};

std::string origin_of(const ingest::EndpointConfig& endpoint, std::uint16_t port) {
    if (!endpoint.public_url.empty()) return endpoint.public_url;
    return (endpoint.tls_certificate ? "https://" : "http://") +
           core::local_authority(endpoint.host, port);
}

/// One bound for all databases of the process, the embedded log's included. Larger write buffers
/// save no more writes, and a start after a crash would read more.
std::shared_ptr<rocks::Memory> memory_of(const Config& config) {
    constexpr std::size_t kWriteBuffersMax = 64U << 20;
    return std::make_shared<rocks::Memory>(config.cache_bytes,
                                           std::min(kWriteBuffersMax, config.cache_bytes / 2));
}

/// A stop has `stop_timeout` in all, so its steps are parts of it: seven tenths at an edge, and the
/// log's end has time left.
void share_stop_timeout(Config& config) {
    const milliseconds all = config.stop_timeout;
    config.edge.hand_over = all / 2;
    config.edge.drain = all / 5;
    config.endpoint.drain = all * 3 / 10;
    config.retry.drain = all / 5;
}

/// Attempts of the role retry at a time. One that waits takes 20 KiB with an event of 1 KiB, so all
/// take a sixth of `cache_bytes`; large events take three quarters of it besides (role.cpp).
std::size_t workers_of(const Config& config) {
    constexpr std::size_t kBytesOfEach = 128U << 10;
    constexpr std::size_t kMost = 10'000;  // sockets: beyond it, one more process does more
    if (config.retry_workers > 0) return config.retry_workers;
    return std::min(config.cache_bytes / kBytesOfEach, kMost);
}

std::string ops_origin(const Config& config, const Process& process) {
    return "http://" + core::local_authority(config.ops.host, process.ops->port());
}

/// Endpoint URLs live for years, and the VAPID tokens for them name the origin that they begin
/// with. So the log remembers every origin of an installation. Writes the one that `endpoint` has
/// now, unless `config.former_origins` has it, or its port is any free one (a trial: the next start
/// has another). A failure is logged, and the next start tries again. Blocks.
void remember_origin(log::EventLog& log, const ingest::EndpointConfig& config,
                     const ingest::Endpoint& endpoint) {
    const auto& known = config.former_origins;
    if (std::ranges::find(known, endpoint.origin()) != known.end()) return;
    if (config.public_url.empty() && config.port == 0) return;
    const auto written = log::write_origin(log, endpoint.origin(), kOriginTimeout);
    if (written) return;
    core::log_warn("app", "origin_not_remembered",
                   {{"origin", endpoint.origin()}, {"error", written.error().message}});
}

/// The settings that a role takes from the installation instead of its own configuration.
void adopt(Config& config, const log::Control& control, const Process& process) {
    config.endpoint.log_id = config.edge.log_id = control.log_id;
    config.layout = layout_of(config.layout, control);
    config.endpoint.partitions = config.edge.partitions = control.partitions;
    config.endpoint.node = process.node;
    config.endpoint.former_origins = control.origins;
    config.endpoint.version = version_text();
    config.endpoint.commit = commit_text();
    config.endpoint.threads = config.edge.shards;
    config.endpoint.view_directory = config.data / "endpoint";
    config.edge.store_directory = config.data / "edge";
    config.retry.directory = config.data;
    config.retry.workers = workers_of(config);
    share_stop_timeout(config);
    config.edge.node_name = config.retry.node_name = config.reliability.node_name =
        node_name(config.data);
    config.retry.node = process.node;
    config.retry.partitions = control.partitions;
    config.retry.tiers = control.tiers;
    config.retry.version = version_text();
    config.edge.version = version_text();
    config.edge.commit = commit_text();
    if (!config.embedded.memory) config.embedded.memory = memory_of(config);
    config.reliability.log_id = control.log_id;
    config.reliability.partitions = control.partitions;
    config.reliability.node = process.node;
    config.reliability.store_directory = config.data / "reliability";
    config.reliability.store_memory = config.edge.store_memory = config.endpoint.store_memory =
        config.embedded.memory;
}

std::vector<std::string> apps_of(const std::vector<std::string>& credentials) {
    std::vector<std::string> apps;
    apps.reserve(credentials.size());
    for (const auto& entry : credentials) apps.push_back(app_of(entry));
    return apps;
}

/// In one process the endpoint knows which bridges its messages have.
void join_bridges(ingest::EndpointConfig& endpoint, const retry::RoleConfig& retry) {
    endpoint.bridges.fcm = !retry.fcm_credentials.empty();
    endpoint.bridges.apns = !retry.apns_credentials.empty();
    if (endpoint.fcm_app_ids.empty()) endpoint.fcm_app_ids = apps_of(retry.fcm_credentials);
    if (endpoint.apns_channels.empty()) endpoint.apns_channels = apps_of(retry.apns_credentials);
}

/// On Kafka the operator names the apps for this.
void trust_bridges(ingest::EndpointConfig& endpoint) {
    endpoint.bridges.fcm = !endpoint.fcm_app_ids.empty();
    endpoint.bridges.apns = !endpoint.apns_channels.empty();
}

enum class Shows : std::uint8_t { nothing, counts };

reliability::TrackingOptions tracking_options(const Config& config, const Process& process,
                                              Shows shows) {
    return {.node = process.node,
            .partitions = config.endpoint.partitions,
            .follow_totals = shows == Shows::counts};
}

/// The endpoint's part in tracking: `tracking` outlives it.
void track(ingest::EndpointConfig& endpoint, reliability::Tracking& tracking) {
    endpoint.milestones = &tracking.sink();
    endpoint.milestone_counts = &tracking.totals();
}

log::Control await_control(log::EventLog& log, const Config& config, BrokerWait& wait) {
    for (;;) {
        const auto control = log::read_control(log, kControlTimeout);
        if (control) return *control;
        if (control.error().fault == core::Fault::not_found) {
            throw StartupError(
                "the log topics with prefix '" + config.kafka.prefix + "' do not exist on " +
                config.kafka.bootstrap_servers + ": run `beckon topics create --kafka-servers " +
                config.kafka.bootstrap_servers + "` (" + control.error().message + ")");
        }
        wait.pause_after(control.error());
    }
}

core::Result<log::TopicFacts> check_log_topics(const Config& config, const log::Control& control) {
    const auto layout = layout_of(config.layout, control);
    const auto admin = log::open_kafka_admin(config.kafka);
    if (const auto here = log::check_cluster(*admin, control.cluster); !here) {
        return core::fail(here.error());
    }
    return log::check_topics(*admin, log::topic_table(layout));
}

log::TopicFacts await_topics(const Config& config, const log::Control& control, BrokerWait& wait) {
    for (;;) {
        const auto checked = check_log_topics(config, control);
        if (checked) return *checked;
        wait.pause_after(checked.error());
    }
}

/// Opens Kafka, checks the installation, and gives the role its identity.
std::unique_ptr<log::EventLog> open_cluster_log(Config& config, const Process& process,
                                                core::KeyRing& keys, const Signals& signals) {
    config.kafka.client_id = process.node.text;
    auto log = log::open_kafka_log(config.kafka);
    BrokerWait wait{config,
                    [&](milliseconds pause) { signals.stop_start_within(pause, "a broker"); }};
    auto control = await_control(*log, config, wait);
    hold_to_cluster_log(*log, control, keys, config);
    const auto checked = await_topics(config, control, wait);
    adopt(config, control, process);
    config.edge.delete_retention = config.endpoint.delete_retention =
        std::chrono::floor<std::chrono::seconds>(checked.delete_retention);
    if (checked.message_bytes_max < config.kafka.message_bytes_max) {
        config.kafka.message_bytes_max = checked.message_bytes_max;
        log = log::open_kafka_log(config.kafka);  // with batches that the topics take
    }
    return log;
}

enum class Certificate : std::uint8_t { none, may_be_self_made };

const Config& prepared(Config& config, Certificate certificate) {
    if (certificate == Certificate::may_be_self_made) use_self_made_certificate(config);
    return config;
}

/// Before anything is made.
const Config& checked(const Config& config, Reader role) {
    if (!config.on_kafka()) {
        throw core::SetupError(
            "kafka.servers is not set: name the brokers with --kafka-servers HOST:PORT "
            "(or start `beckon standalone`, which needs none)");
    }
    check_start(config, role);
    return config;
}

Config& with_space(Config& config, Process& process, const Signals& signals) {
    await_disk_space(config.data, process.health, signals);
    return config;
}

/// Health's part "log" of every role on Kafka but the endpoint, which has one of its own that
/// learns from its publishes. It is off while the log has not answered for three seconds, with the
/// log's reason. It asks once a second, on a thread of its own ("log-watch"), so that a thread that
/// waits for the log does not delay the answer.
class LogReadiness {
public:
    /// All outlive it.
    LogReadiness(log::EventLog& log, const core::Clock& clock, ops::Health& health)
        : thread_("log-watch", clock),
          watch_({}, thread_.loop(), clock,
                 {.reach = log::ask_ends({log::Topic::kControl, 0}, log, thread_.loop())},
                 [&health](std::string_view why) {
                     health.set_ready("log", why.empty(), why);
                     if (why.empty()) return core::log_info("app", "log_works_again", {});
                     core::log_error("app", "log_does_not_work", {{"why", why}});
                 }) {
        thread_.start([this] {
            watch_.start();
            thread_.run();
        });
    }
    ~LogReadiness() { thread_.stop(); }
    LogReadiness(const LogReadiness&) = delete;
    LogReadiness& operator=(const LogReadiness&) = delete;

private:
    net::LoopThread thread_;
    log::LogWatch watch_;
};

/// The parts that every role on Kafka needs, in the order of their lifetimes; the role itself is
/// made after them.
struct OnKafka {
    OnKafka(Config& config, Reader role, Certificate certificate)
        : keys(load_key_ring(checked(config, role))),
          directory(config.data),
          process(role_name(role), prepared(config, certificate)),
          log(open_cluster_log(with_space(config, process, signals), process, *keys, signals)),
          stop_timeout(config.stop_timeout),
          log_readiness(role == Reader::endpoint
                            ? nullptr
                            : std::make_unique<LogReadiness>(*log, process.clock, process.health)),
          log_clock_watch(*log, process.health, process.metrics),
          key_ring_watch(*log, config, *keys, process.health,
                         KeyRingWatch::Publishes::operator_does),
          log_id_watch(process.health, config.endpoint.log_id, Signals::request_stop),
          control_watch(*log, key_ring_watch, &log_id_watch),
          topics_watch({.role = role_name(role),
                        .prefix = config.kafka.prefix,
                        .table = log::topic_table(config.layout)},
                       ask_kafka(config.kafka), process.health, process.metrics),
          report(role_name(role), config, process.ops->port(), process.clock, process.metrics,
                 process.health),
          reporter(report, *log),
          clock_watch(process.clock),
          host_watch(process.clock, config.data, certificates_of(role_name(role), config)),
          login_watch(config.kafka, process.health),
          housekeeping({[this] { clock_watch.look(); }, [this] { host_watch.look(); },
                        [this] { log_clock_watch.look(); }, [this] { control_watch.look(); },
                        [this] { login_watch.look(); }, [this] { topics_watch.look(); },
                        [this] { reporter.look(); }}) {}

    /// Until a signal ends the role, or another log does; `reload` runs at SIGHUP. The exit code,
    /// which asks a supervisor for a restart where another log has ended it.
    int serve(const std::function<void()>& reload) {
        Reloads reloads{[&] {
            key_ring_watch.reread();
            login_watch.reread();
            reload();
        }};
        signals.wait([&] { reloads.request(); });
        watchdog.emplace(stop_timeout);
        process.health.set_ready("process", false, "stopping");
        return log_id_watch.is_another_log() ? kFailed : 0;
    }

    const Signals signals;                 ///< before there are other threads
    std::optional<StopWatchdog> watchdog;  ///< outlives everything whose end it watches
    const std::shared_ptr<core::KeyRing> keys;
    const DataDirectory directory;
    Process process;
    const std::unique_ptr<log::EventLog> log;
    const seconds stop_timeout;
    const std::unique_ptr<LogReadiness> log_readiness;
    LogClockWatch log_clock_watch;
    KeyRingWatch key_ring_watch;
    LogIdWatch log_id_watch;
    ControlWatch control_watch;
    TopicsWatch topics_watch;
    const ProcessReport report;
    ProcessReporter reporter;  ///< a role that has ended says so while the log is open
    ClockWatch clock_watch;
    HostWatch host_watch;
    LoginWatch login_watch;
    const Housekeeping housekeeping;  ///< last: it calls the others
};

console::Console::Context console_context_of(const Config& config, Process& process,
                                             log::EventLog& log,
                                             const std::shared_ptr<const core::KeyRing>& keys) {
    return {.log = log,
            .clock = process.clock,
            .ops = *process.ops,
            .metrics = process.metrics,
            .keys = keys,
            .node = process.node,
            .layout = config.layout,
            .prefix = {},
            .self_signed = config.endpoint_self_signed || config.edge_self_signed};
}

void warn_of_damage(const log::EmbeddedLog& log, ops::Health& health) {
    const auto text = core::joined(log.damage(), "; ");
    if (!text.empty()) health.set_warning("log_damaged", "the log is damaged: " + text);
}

/// The last step of making a log: until then nobody has used it.
log::Control write_first_control(log::EmbeddedLog& log, const Config& config,
                                 const core::KeyRing& keys) {
    log::Control control{.log_id = core::to_hex(core::random_uuid4()),
                         .created = core::time_text_in_seconds(core::SystemClock{}.wall()),
                         .partitions = log.partitions(),
                         .tiers = config.layout.tiers,
                         .keyring_fingerprint = keys.fingerprint()};
    must(log::write_control(log, control, std::nullopt, kControlTimeout),
         "cannot write to the log: ");
    return control;
}

}  // namespace

int run_standalone(Config config, const StandaloneOptions& options) {
    const Signals signals;
    std::optional<StopWatchdog> watchdog;  // outlives everything whose end it watches
    check_start(config, Reader::standalone);
    auto keys = find_key_ring(config, options.new_log);
    const DataDirectory directory{config.data};
    accept_copy(config.data);
    use_self_made_certificate(config);
    Process process{role_name(Reader::standalone), config};
    await_disk_space(config.data, process.health, signals);

    config.embedded.directory = config.data / "log";
    config.embedded.sync = config.sync == "always" ? log::Sync::always : log::Sync::never;
    config.embedded.partitions = config.layout.partitions;
    config.embedded.history_window = config.layout.history_window;
    config.embedded.clock = &process.clock;
    config.embedded.clock_is_disciplined = core::host_clock_is_disciplined;
    config.embedded.memory = memory_of(config);
    config.embedded.boot_id = core::boot_id();
    config.edge.delete_retention = config.endpoint.delete_retention =
        config.embedded.delete_retention;
    const auto log = log::open_embedded_log(config.embedded);
    warn_of_damage(*log, process.health);

    auto control = log::read_control(*log, kControlTimeout);
    const bool first = !control && control.error().fault == core::Fault::not_found;
    if (!control && !first) throw StartupError("cannot read the log: " + control.error().message);
    if (!keys) keys = make_key_ring(config, !first);
    if (first) control = write_first_control(*log, config, *keys);
    hold_to_embedded_log(*log, *control, *keys, config);
    adopt(config, *control, process);
    const auto backups = inspect::mount_backup_service(*process.ops, *log, config.data, *keys);
    const auto log_pages = inspect::mount_log_service(*process.ops, *log, *keys);

    config.reliability.decides_readiness =
        false;  // the roles that deliver do not wait for the one that counts
    reliability::Role reliability{config.reliability, *log, process.clock, process.metrics,
                                  process.health};
    const auto reliability_pages = inspect::mount_reliability_pages(*process.ops, reliability);
    reliability::Tracking tracking{tracking_options(config, process, Shows::counts), *log,
                                   process.clock, process.metrics};
    track(config.endpoint, tracking);
    config.edge.milestones = config.retry.milestones = &tracking.sink();
    KeyRingWatch key_ring_watch{*log, config, *keys, process.health,
                                KeyRingWatch::Publishes::this_process};
    config.retry.key_missing = [&key_ring_watch] { key_ring_watch.key_missing(); };
    ControlWatch control_watch{*log, key_ring_watch, nullptr};
    ClockWatch clock_watch{process.clock};
    HostWatch host_watch{process.clock, config.data,
                         certificates_of(role_name(Reader::standalone), config)};
    LogClockWatch log_clock_watch{*log, process.health, process.metrics};
    const Housekeeping housekeeping{{[&] { clock_watch.look(); }, [&] { host_watch.look(); },
                                     [&] { log_clock_watch.look(); },
                                     [&] { control_watch.look(); }}};
    config.retry.decides_readiness = false;  // pushes do not wait for webhooks
    retry::Role retry{config.retry, *log, keys, process.clock, process.metrics, process.health};
    join_bridges(config.endpoint, config.retry);
    ingest::Endpoint endpoint{config.endpoint, *log,          keys, process.clock,
                              process.metrics, process.health};
    remember_origin(*log, config.endpoint, endpoint);
    config.edge.endpoint_url = origin_of(config.endpoint, endpoint.port());
    edge::Edge edge{config.edge, *log, keys, process.clock, process.metrics, process.health};
    const auto broadcast_pages = edge::mount_broadcast_pages(*process.ops, edge, keys);
    const auto delivery_pages = inspect::mount_delivery_pages(*process.ops, edge, keys);
    const auto store_copies = inspect::mount_store_service(*process.ops, config.data, *keys);
    const auto webhooks = (config.retry.tls_certificate ? "https://" : "http://") +
                          core::local_authority(config.retry.host, retry.port());
    const ProcessReport report{role_name(Reader::standalone),
                               config,
                               process.ops->port(),
                               process.clock,
                               process.metrics,
                               process.health};
    const auto process_page =
        process.ops->mount("/process", [&report](std::string_view, const ops::Query&) {
            return ops::Page{.body = encode(report.now()).value.value_or("{}")};
        });
    auto console_context = console_context_of(config, process, *log, keys);
    console_context.retry_origin = webhooks;
    console_context.self = [&report] { return report.now(); };
    const console::Console console{config.console, std::move(console_context),
                                   console::groups_of_standalone(*log, config.layout)};

    const Addresses addresses{
        .endpoint = config.edge.endpoint_url,
        .websocket = (config.edge.tls_certificate ? "wss://" : "ws://") +
                     core::local_authority(config.edge.host, edge.port()) + config.edge.path,
        .webhooks = webhooks,
        .ops = ops_origin(config, process),
        .console = "http://" + core::local_authority(config.console.host, console.port()),
        .self_signed = config.endpoint_self_signed || config.edge_self_signed,
        .data = config.data};
    process.health.set_ready("process", true);
    core::log_info("app", "listening",
                   {{"endpoint", addresses.endpoint},
                    {"websocket", addresses.websocket},
                    {"webhooks", addresses.webhooks},
                    {"console", addresses.console},
                    {"ops", addresses.ops}});
    int exit_code = 0;
    std::jthread beside;
    if (options.once_ready) {
        beside = std::jthread{[&](const std::stop_token& stop) {
            while (!process.health.report().ready) {
                if (!core::pause(stop, kReadyPoll)) return;
            }
            const auto code = options.once_ready(addresses);
            if (!code) return;
            exit_code = *code;
            Signals::request_stop();
        }};
    }
    Reloads reloads{[&] {
        key_ring_watch.reread();
        endpoint.reload_tls();
        edge.reload_tls();
        retry.reload_tls();
    }};
    signals.wait([&] { reloads.request(); });
    watchdog.emplace(config.stop_timeout);
    process.health.set_ready("process", false, "stopping");
    retry.begin_stop();
    endpoint.begin_stop();  // while the edge closes its clients
    beside = {};
    return exit_code;
}

int run_endpoint(Config config) {
    OnKafka on{config, Reader::endpoint, Certificate::may_be_self_made};
    auto& process = on.process;
    reliability::Tracking tracking{tracking_options(config, process, Shows::counts), *on.log,
                                   process.clock, process.metrics};
    track(config.endpoint, tracking);
    trust_bridges(config.endpoint);
    ingest::Endpoint endpoint{config.endpoint, *on.log,         on.keys,
                              process.clock,   process.metrics, process.health};
    process.health.set_ready("process", true);
    remember_origin(*on.log, config.endpoint, endpoint);
    core::log_info("app", "listening",
                   {{"endpoint", origin_of(config.endpoint, endpoint.port())},
                    {"ops", ops_origin(config, process)}});
    return on.serve([&] { endpoint.reload_tls(); });
}

int run_edge(Config config) {
    OnKafka on{config, Reader::edge, Certificate::may_be_self_made};
    auto& process = on.process;
    config.edge.endpoint_url = origin_of(config.endpoint, config.endpoint.port);
    config.edge.links = true;
    reliability::Tracking tracking{tracking_options(config, process, Shows::nothing), *on.log,
                                   process.clock, process.metrics};
    config.edge.milestones = &tracking.sink();
    edge::Edge edge{config.edge, *on.log, on.keys, process.clock, process.metrics, process.health};
    const auto broadcast_pages = edge::mount_broadcast_pages(*process.ops, edge, on.keys);
    const auto delivery_pages = inspect::mount_delivery_pages(*process.ops, edge, on.keys);
    const auto store_copies = inspect::mount_store_service(*process.ops, config.data, *on.keys);
    process.health.set_ready("process", true);
    core::log_info("app", "listening",
                   {{"websocket_port", edge.port()},
                    {"endpoint_url", config.edge.endpoint_url},
                    {"ops", ops_origin(config, process)}});
    return on.serve([&] { edge.reload_tls(); });
}

int run_retry(Config config) {
    OnKafka on{config, Reader::retry, Certificate::none};
    auto& process = on.process;
    reliability::Tracking tracking{tracking_options(config, process, Shows::nothing), *on.log,
                                   process.clock, process.metrics};
    config.retry.milestones = &tracking.sink();
    config.retry.key_missing = [&on] { on.key_ring_watch.key_missing(); };
    retry::Role retry{config.retry,  *on.log,         on.keys,
                      process.clock, process.metrics, process.health};
    process.health.set_ready("process", true);
    core::log_info("app", "listening", {{"webhooks_port", retry.port()}});
    const std::jthread end{[time = config.retry.max_runtime](const std::stop_token& stop) {
        if (time > time.zero() && core::pause(stop, time)) Signals::request_stop();
    }};
    return on.serve([&] { retry.reload_tls(); });
}

int run_reliability(Config config) {
    OnKafka on{config, Reader::reliability, Certificate::none};
    auto& process = on.process;
    reliability::Role role{config.reliability, *on.log, process.clock, process.metrics,
                           process.health};
    const auto pages = inspect::mount_reliability_pages(*process.ops, role);
    process.health.set_ready("process", true);
    core::log_info("app", "serving", {{"role", "reliability"}, {"ops_port", process.ops->port()}});
    return on.serve([] {});
}

int run_console(Config config) {
    OnKafka on{config, Reader::console, Certificate::none};
    auto& process = on.process;
    auto context = console_context_of(config, process, *on.log, on.keys);
    context.prefix = config.kafka.prefix;
    context.log_problem = [&health = process.health] { return health.fault("log"); };
    const console::Console console{config.console, std::move(context),
                                   log::open_kafka_groups(config.kafka)};
    process.health.set_ready("process", true);
    core::log_info(
        "app", "listening",
        {{"console", "http://" + core::local_authority(config.console.host, console.port())},
         {"ops", ops_origin(config, process)}});
    return on.serve([] {});
}

}  // namespace beckon::app
