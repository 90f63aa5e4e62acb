#include "edge/edge.hpp"

#include "cluster/cluster.hpp"
#include "core/logger.hpp"
#include "core/tokens.hpp"
#include "edge/edge_metrics.hpp"
#include "edge/fronts.hpp"
#include "edge/home.hpp"
#include "edge/home_metrics.hpp"
#include "store/edge_store.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace beckon::edge {

namespace {

constexpr const char* kPart = "edge";
/// How often a shard says which of its homes serve, and the control thread looks at the shards.
constexpr core::Duration kLookEvery = std::chrono::milliseconds{50};
constexpr core::Duration kDropMonthsEvery = std::chrono::hours{1};
/// A loop that has not turned for so long will not turn again: a restart would help.
constexpr core::Duration kHungAfter = std::chrono::seconds{60};

std::unique_ptr<store::EdgeStore> open_store(const EdgeConfig& config) {
    auto opened = store::open_edge_store({.directory = config.store_directory,
                                          .log_id = config.log_id,
                                          .cache_bytes = config.cache_bytes,
                                          .write_buffer_bytes = config.write_buffer_bytes,
                                          .memory = nullptr});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

FrontsOptions fronts_options(const EdgeConfig& config, const core::NodeId& node) {
    FrontsOptions options{.host = config.host,
                          .port = config.port,
                          .partitions = config.partitions,
                          .shards = static_cast<std::size_t>(config.shards),
                          .front = {.node = node,
                                    .hello_timeout = config.hello_timeout,
                                    .ping_interval = config.ping_interval,
                                    .ping_timeout = config.ping_timeout},
                          .sockets = {.frame_bytes_max = config.frame_bytes_max,
                                      .outbox_bytes_max = config.outbox_bytes_max,
                                      .handshake_timeout = config.hello_timeout,
                                      .tls = std::nullopt},
                          .limits = {.clients_max = config.connections_max,
                                     .per_address_max = config.connections_per_address_max},
                          .version = config.version};
    if (options.shards == 0) options.shards = std::max(1U, std::thread::hardware_concurrency());
    if (config.tls_certificate) {
        options.sockets.tls = TlsFiles{*config.tls_certificate, config.tls_key.value()};
    }
    return options;
}

}  // namespace

struct Edge::Impl {
    Impl(EdgeConfig config, log::EventLog& log, std::shared_ptr<const core::KeyRing> keys,
         const core::Clock& clock, ops::Metrics& metrics, ops::Health& health);
    ~Impl();

    /// What the homes of one shard share. Made, used and destroyed on the shard's thread.
    struct Homes {
        Homes(log::EventLog& log, core::Executor& executor, const core::Clock& clock,
              std::shared_ptr<const core::KeyRing> keys)
            : log_clock(clock), publisher(log.open_publisher(executor)), tokens(std::move(keys)) {}
        core::LogClock log_clock;
        std::unique_ptr<log::Publisher> publisher;
        core::Tokens tokens;
        std::map<core::Partition, std::unique_ptr<Home>> by_partition;
        HomeTotals reported;  ///< what the metrics have of these homes
    };

    void open_homes(std::size_t shard, const std::shared_ptr<const core::KeyRing>& keys);
    void look_at_homes(std::size_t shard);
    void join();
    void placed(core::Partition partition, const cluster::Placement& placement);
    void look_at_shards();
    void drop_months();
    void say_ready();

    const EdgeConfig config;
    const core::NodeId node = core::NodeId::random();
    log::EventLog& log;
    const core::Clock& clock;
    ops::Health& health;
    const EdgeMetrics metrics;
    const HomeMetrics home_metrics;
    std::unique_ptr<store::EdgeStore> store;

    std::mutex unready_mutex;
    std::string unready = "starting";

    Fronts fronts;
    std::vector<std::unique_ptr<Homes>> homes;  ///< by shard
    /// The log's "now" as some shard last knew it, ms since the epoch; 0: not known yet.
    std::atomic<std::int64_t> log_now_ms{0};

    // --- the control thread's
    ShardLoop control;
    std::unique_ptr<cluster::Cluster> cluster;
    std::set<core::Partition> here;  ///< placed on this node
    bool any_placement = false;
};

Edge::Impl::Impl(EdgeConfig config_in, log::EventLog& log_in,
                 std::shared_ptr<const core::KeyRing> keys, const core::Clock& clock_in,
                 ops::Metrics& metrics_in, ops::Health& health_in)
    : config(std::move(config_in)),
      log(log_in),
      clock(clock_in),
      health(health_in),
      metrics(metrics_in),
      home_metrics(metrics_in),
      store(open_store(config)),
      fronts(fronts_options(config, node), clock, metrics,
             [this] {
                 const std::scoped_lock lock{unready_mutex};
                 return unready;
             }),
      control("cluster", clock) {
    health.set_ready(kPart, false, unready);
    homes.resize(fronts.shards());
    fronts.start();
    control.start();
    for (std::size_t shard = 0; shard < fronts.shards(); ++shard) {
        fronts.loop(shard).run_and_wait([&] { open_homes(shard, keys); });
    }
    control.run_and_wait([this] { join(); });
}

void Edge::Impl::open_homes(std::size_t shard, const std::shared_ptr<const core::KeyRing>& keys) {
    auto& loop = fronts.loop(shard);
    auto& switchboard = fronts.switchboard();
    homes[shard] = std::make_unique<Homes>(log, loop, clock, keys);
    auto& own = *homes[shard];
    for (core::Partition p = 0; p < config.partitions; ++p) {
        if (switchboard.shard_of(p) != shard) continue;
        auto home = std::make_unique<Home>(HomeOptions{.partition = p,
                                                       .partitions = config.partitions,
                                                       .node = node,
                                                       .endpoint_url = config.endpoint_url,
                                                       .delivery_window = config.delivery_window,
                                                       .delete_retention = config.delete_retention,
                                                       .session_timeout = config.session_timeout},
                                           Home::Ports{.log = log,
                                                       .publisher = *own.publisher,
                                                       .fronts = switchboard.fronts(shard),
                                                       .executor = loop,
                                                       .clock = clock,
                                                       .log_clock = own.log_clock,
                                                       .tokens = own.tokens},
                                           store->open_partition(p));
        switchboard.connect_home(
            p, [target = home.get()](ToHome message) { target->receive(std::move(message)); });
        home->start();
        own.by_partition.emplace(p, std::move(home));
    }
    look_at_homes(shard);
}

/// Tells the fronts which homes serve, and the metrics what the homes did.
void Edge::Impl::look_at_homes(std::size_t shard) {
    if (!homes[shard]) return;  // stopping
    auto& own = *homes[shard];
    HomeTotals totals;
    for (const auto& [partition, home] : own.by_partition) {
        const auto status = home->status();
        fronts.switchboard().set_serving(partition, status.state == Home::State::serving);
        totals.add(status);
    }
    home_metrics.report(totals, std::exchange(own.reported, totals));
    if (own.log_clock.learned()) log_now_ms = own.log_clock.now().time_since_epoch().count();
    fronts.loop(shard).post_after(kLookEvery, [this, shard] { look_at_homes(shard); });
}

void Edge::Impl::join() {
    cluster = std::make_unique<cluster::Cluster>(
        cluster::ClusterOptions{.role = "edge",
                                .self = node,
                                .partitions = config.partitions,
                                .link_url = {},
                                .session_timeout = config.session_timeout},
        log, control, clock,
        cluster::Cluster::Events{
            .placed = [this](core::Partition p, const cluster::Placement& at) { placed(p, at); }});
    look_at_shards();
    control.post_after(kDropMonthsEvery, [this] { drop_months(); });
}

void Edge::Impl::placed(core::Partition partition, const cluster::Placement& placement) {
    any_placement = true;
    const bool ours = placement.home == node;
    if (ours) {
        here.insert(partition);
    } else {
        here.erase(partition);
    }
    const auto floor = cluster ? cluster->highest_epoch(partition) : 0;
    const auto shard = fronts.switchboard().shard_of(partition);
    fronts.loop(shard).post([this, shard, partition, ours, floor] {
        if (!homes[shard]) return;
        auto& home = *homes[shard]->by_partition.at(partition);
        if (ours) {
            home.take(floor);
        } else {
            home.give_up();
        }
    });
}

/// Heartbeats go on only while every loop turns: a node that hangs shall lose its partitions.
void Edge::Impl::look_at_shards() {
    if (!cluster) return;  // stopping
    const auto now = clock.mono();
    core::Duration slowest{};
    for (std::size_t shard = 0; shard < fronts.shards(); ++shard) {
        slowest = std::max(slowest, now - fronts.loop(shard).last_turn());
    }
    if (slowest < config.session_timeout / 2) cluster->still_alive();
    if (slowest > kHungAfter) health.set_dead(kPart, "a shard's loop has not turned for a minute");
    say_ready();
    control.post_after(kLookEvery, [this] { look_at_shards(); });
}

void Edge::Impl::say_ready() {
    std::string missing;
    for (const auto partition : here) {
        if (fronts.switchboard().serving(partition)) continue;
        missing += (missing.empty() ? "" : ", ") + std::to_string(partition);
    }
    std::string why;
    if (!any_placement) {
        why = "no partition is placed yet: there is no controller, or `ownership` is not read";
    } else if (!missing.empty()) {
        why = "partitions that are placed here and do not serve yet: " + missing;
    }
    health.set_ready(kPart, why.empty(), why);
    const std::scoped_lock lock{unready_mutex};
    if (unready != why) {
        core::log_info("edge", why.empty() ? "ready" : "not_ready",
                       {{"why", why}, {"partitions_here", here.size()}});
    }
    unready = std::move(why);
}

/// Destructive, so both clocks must have passed the month (DESIGN §3 "Time is the log's").
void Edge::Impl::drop_months() {
    if (!cluster) return;  // stopping
    if (const auto ms = log_now_ms.load(); ms > 0) {
        const core::Timestamp log_now{std::chrono::milliseconds{ms}};
        for (const auto& family : store->drop_past_months(log_now, clock.wall())) {
            core::log_info("edge", "month_dropped", {{"family", family}});
        }
    }
    control.post_after(kDropMonthsEvery, [this] { drop_months(); });
}

Edge::Impl::~Impl() {
    health.set_ready(kPart, false, "stopping");
    fronts.go_away(config.drain);
    control.run_and_wait([this] { cluster.reset(); });
    for (std::size_t shard = 0; shard < fronts.shards(); ++shard) {
        fronts.loop(shard).run_and_wait([this, shard] {
            for (const auto& [partition, home] : homes[shard]->by_partition) {
                fronts.switchboard().connect_home(partition, {});
            }
            homes[shard].reset();
        });
    }
    control.stop();
    fronts.stop();
}

Edge::Edge(EdgeConfig config, log::EventLog& log, std::shared_ptr<const core::KeyRing> keys,
           const core::Clock& clock, ops::Metrics& metrics, ops::Health& health)
    : impl_(std::make_unique<Impl>(std::move(config), log, std::move(keys), clock, metrics,
                                   health)) {}

Edge::~Edge() = default;

std::uint16_t Edge::port() const { return impl_->fronts.port(); }

void Edge::reload_tls() { impl_->fronts.reload_tls(); }

}  // namespace beckon::edge
