#include "edge/edge.hpp"

#include "cluster/cluster.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "edge/assignments.hpp"
#include "edge/edge_broadcasts.hpp"
#include "edge/edge_links.hpp"
#include "edge/edge_metrics.hpp"
#include "edge/edge_options.hpp"
#include "edge/fronts.hpp"
#include "edge/home/home_shard.hpp"
#include "edge/lag_reports.hpp"
#include "edge/partition_load.hpp"
#include "edge/switchboard/switchboard.hpp"
#include "edge/waiting_survey.hpp"
#include "fold/webhook_owners.hpp"
#include "ops/loop_watch.hpp"
#include "records/subscription_gone.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>

namespace beckon::edge {

namespace {

constexpr core::Duration kDropMonthsEvery = std::chrono::hours{1};
constexpr core::Duration kDropMonthsFirst = std::chrono::minutes{1};
/// How often this node publishes its number of clients and its links in `ownership`.
constexpr core::Duration kLogStatusEvery = std::chrono::seconds{10};

store::Rotation rotation_of(const std::string& setting) {
    if (setting == "off") return store::Rotation::off;
    return setting == "day" ? store::Rotation::daily : store::Rotation::monthly;
}

std::unique_ptr<store::EdgeStore> open_store(const EdgeOptions& edge) {
    auto opened = store::EdgeStore::open({.directory = edge.store_directory,
                                          .log_id = edge.log_id,
                                          .memory = edge.store_memory,
                                          .rotation = rotation_of(edge.rotation),
                                          .env = edge.store_env});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

EdgeOptions with_node(EdgeOptions options) {
    options.node = core::NodeId::random();
    return options;
}

/// Writing to a client that is gone must not end the process.
void ignore_broken_pipes() {
    struct sigaction pipe {};
    if (sigaction(SIGPIPE, nullptr, &pipe) == 0 && pipe.sa_handler == SIG_DFL) {
        pipe.sa_handler = SIG_IGN;
        sigaction(SIGPIPE, &pipe, nullptr);
    }
}

}  // namespace

struct Edge::Impl {
    Impl(EdgeOptions o, log::EventLog& l, std::shared_ptr<const core::KeyRing> k,
         const core::Clock& cl, ops::Metrics& metrics, ops::Health& h)
        : options(with_node(std::move(o))),
          log(l),
          keys(std::move(k)),
          clock(cl),
          health(h),
          counters(metrics),
          store(open_store(options)),
          fronts(options, clock, counters, [this] { return unready(); }),
          control("edge-control", clock),
          lifetime(control),
          assignments(options.partitions) {
        ignore_broken_pipes();
        set_unready("waiting for the placement of partitions");
        if (options.links) open_links();
        control.start();
        fronts.start();
        control.run_and_wait([this] {
            open_webhook_owners();
            lag_reports =
                std::make_unique<LagReports>(options.node, fronts.shards(), log, control, clock);
        });
        homes.resize(fronts.shards());
        for (std::size_t i = 0; i < homes.size(); ++i) open_homes(i);
        control.run_and_wait([this] { open_broadcasts(); });
        control.run_and_wait([this] { open_cluster(); });
        watch_control();
        for (std::size_t i = 0; i < fronts.shards(); ++i) watch(fronts.loop(i));
        watch(control);
    }

    ~Impl() {
        set_unready("stopping");
        hand_over();
        fronts.go_away(options.drain);
        control.run_and_wait([this] {
            lifetime.end();
            waiting.reset();
            broadcasts.reset();
            cluster.reset();
        });
        for (std::size_t i = 0; i < homes.size(); ++i) {
            fronts.loop(i).run_and_wait([this, i] { homes[i].reset(); });
        }
        control.run_and_wait([this] {
            lag_reports.reset();
            webhook_owners.reset();
        });
        fronts.stop();
        links.reset();  // its thread posts to the loops until here
        control.stop();
    }

    // --- start and stop
    void open_links();
    void hand_over();
    void open_webhook_owners();
    void open_homes(std::size_t shard);
    void open_broadcasts();
    void open_cluster();
    std::string link_address() const;

    // --- the control thread
    void placed(core::Partition partition, const cluster::Placement& placement);
    void homes_changed(std::size_t shard, std::map<core::Partition, HomeShard::Report> now);
    void links_changed();
    void tick();
    void check_loops_and_store();
    void log_status();
    void drop_months();
    std::optional<core::Timestamp> log_now() const;
    core::Timestamp shown_now() const;
    void update_readiness();
    std::string why_not_ready() const;
    void log_what_is_served();

    // --- any thread
    void at_home_of(const core::Uaid& client, std::function<void(Home*)> call);
    void watch(const ShardLoop& loop);
    void watch_control();
    std::string why_stalled(const ShardLoop& loop) const;
    std::string unready() const {
        const std::scoped_lock lock{mutex};
        return why_unready;
    }
    void set_unready(std::string why) {
        const std::scoped_lock lock{mutex};
        health.set_ready("edge", why.empty(), why);
        if (why.empty() && !why_unready.empty()) core::log_info("edge", "ready");
        if (!why.empty() && why_unready.empty())
            core::log_info("edge", "not_ready", {{"why", why}});
        why_unready = std::move(why);
    }

    const EdgeOptions options;
    log::EventLog& log;
    const std::shared_ptr<const core::KeyRing> keys;
    const core::Clock& clock;
    ops::Health& health;
    EdgeMetrics counters;
    const std::unique_ptr<store::EdgeStore> store;

    mutable std::mutex mutex;
    std::string why_unready;

    Fronts fronts;
    std::unique_ptr<EdgeLinks> links;
    /// Of the control thread, but for the queries of any thread; outlives the homes, which query
    /// it.
    std::unique_ptr<fold::WebhookOwners> webhook_owners;
    /// The same.
    std::unique_ptr<LagReports> lag_reports;
    /// Each is of its shard's thread, and longer there than the control thread posts to it.
    std::vector<std::unique_ptr<HomeShard>> homes;
    ShardLoop control;

    // of the control thread
    core::Lifetime lifetime;
    std::unique_ptr<EdgeBroadcasts> broadcasts;  ///< constant once the edge is made
    std::unique_ptr<cluster::Cluster> cluster;
    std::unique_ptr<WaitingSurvey> waiting;
    Assignments assignments;
    PartitionLoad load;
    std::set<core::Partition> logged_served;
    /// Set while this node leaves the cluster: called once no home serves here any more.
    std::optional<std::promise<void>> leaving;
    std::map<std::size_t, core::Timestamp> log_now_at_zero;  ///< by shard: when mono() was 0
    std::chrono::milliseconds mono_ms() const {
        return std::chrono::floor<std::chrono::milliseconds>(clock.mono().time_since_epoch());
    }
    bool left = false;  ///< `leaving` was called
    /// Why nothing goes on here, so that others are to take over; empty: it does.
    std::string halted;

    std::list<ops::WatchedLoop> watched;  ///< first to go
};

void Edge::Impl::open_links() {
    links = std::make_unique<EdgeLinks>(options, keys, clock,
                                        EdgeLinks::Context{.board = fronts.switchboard(),
                                                           .metrics = counters.links,
                                                           .control = lifetime.remote(),
                                                           .changed = [this] { links_changed(); },
                                                           .dead =
                                                               [this](const core::NodeId& peer) {
                                                                   if (cluster)
                                                                       cluster->suspect(peer);
                                                               }});
}

/// The other edges take the partitions over while this one goes on serving them, partition by
/// partition until the lease of the next home is read. Clients of other edges keep their sockets.
void Edge::Impl::hand_over() {
    std::future<void> done;
    control.run_and_wait([&] {
        if (!options.links || !cluster->leave()) return;
        leaving.emplace();
        done = leaving->get_future();
        update_readiness();
    });
    if (!done.valid()) return;
    const auto began = clock.mono();
    const bool all = done.wait_for(options.hand_over) == std::future_status::ready;
    core::log_info(
        "edge", all ? "handed_over" : "not_handed_over_in_time",
        {{"ms",
          std::chrono::duration_cast<std::chrono::milliseconds>(clock.mono() - began).count()}});
}

void Edge::Impl::open_webhook_owners() {
    webhook_owners = std::make_unique<fold::WebhookOwners>(
        fold::WebhookOwners::Options{.type = std::string{core::kSubscriptionGoneType},
                                     .partitions = options.partitions,
                                     .node = options.node,
                                     .folder = "edge"},
        fold::WebhookOwners::Context{.log = log, .executor = control, .clock = clock});
}

void Edge::Impl::open_homes(std::size_t shard) {
    auto& loop = fronts.loop(shard);
    loop.run_and_wait([&] {
        homes[shard] = std::make_unique<HomeShard>(
            options,
            HomeShard::Context{
                .shard = shard,
                .loop = loop,
                .board = fronts.switchboard(),
                .log = log,
                .store = *store,
                .keys = keys,
                .clock = clock,
                .metrics = counters.homes,
                .changed =
                    [this, shard, to_control = lifetime.remote()] {
                        to_control.post([this, shard, now = homes[shard]->reports()]() mutable {
                            homes_changed(shard, std::move(now));
                        });
                    },
                .gone_wanted = [owners = webhook_owners.get()](
                                   std::string_view owner) { return owners->may_want(owner); },
                .lag = [reports = lag_reports.get(),
                        shard](const Lags& lags) { reports->measured(shard, lags); }});
    });
}

void Edge::Impl::open_broadcasts() {
    broadcasts = std::make_unique<EdgeBroadcasts>(
        options, EdgeBroadcasts::Context{.log = log,
                                         .control = control,
                                         .clock = clock,
                                         .fronts = fronts,
                                         .metrics = counters.broadcasts});
}

/// Where other edges reach this one; empty: nowhere.
std::string Edge::Impl::link_address() const {
    if (!links) return "";
    if (!options.link_address.empty()) return options.link_address;
    return options.link_host + ":" + std::to_string(links->port());
}

void Edge::Impl::open_cluster() {
    cluster = std::make_unique<cluster::Cluster>(
        cluster::ClusterOptions{.role = "edge",
                                .self = options.node,
                                .name = options.node_name,
                                .zone = options.zone,
                                .partitions = options.partitions,
                                .link_url = link_address(),
                                .standby_count = options.standby_count,
                                .session_timeout = options.session_timeout},
        log, control, clock,
        cluster::Cluster::Events{
            .placed = [this](core::Partition p,
                             const cluster::Placement& where) { placed(p, where); },
            .nodes =
                [this](const auto& nodes) {
                    if (links) links->introduce(nodes);
                },
            .suspected = [this] { counters.cluster.suspicions->Increment(); },
            .wrongly_suspected = [this] { counters.cluster.wrong_suspicions->Increment(); },
            .failed_over =
                [this](core::Duration time) {
                    counters.cluster.failover_seconds->Observe(
                        std::chrono::duration<double>(time).count());
                }});
    tick();
    log_status();
    waiting = std::make_unique<WaitingSurvey>(
        *store, control, [this] { return shown_now(); }, counters.waiting,
        [this] { return assignments.served(); });
    control.post_after(kDropMonthsFirst, lifetime.guard([this] { drop_months(); }));
}

void Edge::Impl::placed(core::Partition partition, const cluster::Placement& placement) {
    const bool standby = cluster::contains(placement.standbys, options.node);
    auto assignment = placement.home == options.node ? Assignment::home
                      : standby                      ? Assignment::standby
                                                     : Assignment::none;
    fronts.switchboard().route(partition, placement.home);
    if (leaving && assignment == Assignment::none) {
        // The folded state stays for the next start, which may trust it.
        if (assignments.of(partition) == Assignment::none) return;
        assignment = Assignment::standby;
    }
    assignments.placed(partition, assignment);
    // One edge of all polls: the home of the first partition.
    if (partition == 0) broadcasts->poll(assignment == Assignment::home);
    auto& shard = *homes[fronts.switchboard().shard_of(partition)];
    const auto floor = cluster->highest_epoch(partition);
    shard.remote().post(
        [&shard, partition, assignment, floor] { shard.assign(partition, assignment, floor); });
    update_readiness();
}

/// One line for all that changed since the last tick.
void Edge::Impl::log_what_is_served() {
    auto served = assignments.served();
    if (served == logged_served) return;
    core::log_info("edge", "serving", {{"partitions", ranges(served)}});
    logged_served = std::move(served);
}

/// Takes the reports of a shard's homes.
void Edge::Impl::homes_changed(std::size_t shard,
                               std::map<core::Partition, HomeShard::Report> now) {
    assignments.reported(
        [&](core::Partition p) { return fronts.switchboard().shard_of(p) == shard; },
        std::move(now));
    update_readiness();
}

void Edge::Impl::links_changed() {
    if (cluster) cluster->set_linked(links->up());
    update_readiness();
}

void Edge::Impl::update_readiness() {
    if (!cluster) return;  // homes are opened before it
    if (leaving) {
        if (assignments.served().empty() && !std::exchange(left, true)) leaving->set_value();
        return;
    }
    cluster->set_ready(assignments.ready());
    set_unready(why_not_ready());
}

/// Why this node is not ready; empty: it is.
std::string Edge::Impl::why_not_ready() const {
    if (!halted.empty()) return halted;
    if (const auto ownership = cluster->progress().stuck) {
        return "the fold of ownership is stuck: " + ownership->why;
    }
    if (auto why = assignments.why_unready(cluster->placement_is_current()); !why.empty())
        return why;
    if (links && !assignments.any_home() && links->up().empty()) {
        return "no partition is served here, and no link to another edge is up";
    }
    return {};
}

/// Sends the group a heartbeat: this node is alive, as long as all of its loops turn and its store
/// takes their writes.
void Edge::Impl::tick() {
    // First: an exception below must not end the later ones.
    control.post_after(options.session_timeout / 8, lifetime.guard([this] { tick(); }));
    check_loops_and_store();
    if (halted.empty()) cluster->still_alive();
    if (links) {
        links->measure();
        health.set_warning("links", links->refusals());
    }
    update_readiness();  // the nodes alive may have changed without any placement
    log_what_is_served();
}

void Edge::Impl::check_loops_and_store() {
    halted = store->needs_restart();
    if (!halted.empty()) health.set_dead("edge", halted);
    for (std::size_t i = 0; i < fronts.shards(); ++i) {
        if (auto why = why_stalled(fronts.loop(i)); !why.empty()) halted = std::move(why);
    }
}

/// Beside other edges a loop that hangs is to end the process soon: they serve its partitions by
/// then, and its clients look for them only once their connections are gone.
void Edge::Impl::watch(const ShardLoop& loop) {
    constexpr core::Duration kBesideOthers = std::chrono::seconds{15};
    const auto dead_after =
        links ? std::max<core::Duration>(kBesideOthers, 2 * options.session_timeout)
              : ops::WatchedLoop::kDeadAfter;
    watched.emplace_back(
        health, "edge", loop.name(),
        [this, &loop] { return core::Duration{clock.mono() - loop.last_turn()}; }, dead_after);
}

/// The control thread reads and writes the store too (counts, months), and only another loop sees
/// that it hangs. It reports by itself when it goes on.
void Edge::Impl::watch_control() {
    homes.front()->remote().post_after(options.session_timeout / 8, [this] {
        watch_control();
        if (auto why = why_stalled(control); !why.empty()) set_unready(std::move(why));
    });
}

/// The reason why a loop is stalled; empty: it turns. It waits for the disk of its store, however
/// long that takes.
std::string Edge::Impl::why_stalled(const ShardLoop& loop) const {
    auto why =
        ops::why_stalled(loop.name(), clock.mono() - loop.last_turn(), options.session_timeout / 2);
    return why.empty() ? why : why + ": perhaps its disk hangs";
}

void Edge::Impl::log_status() {
    if (leaving) return;
    cluster->set_status({.clients = fronts.identified(),
                         .links = links ? links->up() : std::set<core::NodeId>{},
                         .load = load.rates()});
    for (std::size_t i = 0; i < homes.size(); ++i) {
        homes[i]->remote().post([this, i, to_control = lifetime.remote()] {
            to_control.post(
                [this, i, up_to = homes[i]->served_up_to(), log_now = homes[i]->log_now()] {
                    load.measured(up_to, clock.mono());
                    log_now_at_zero.erase(i);
                    if (log_now) log_now_at_zero[i] = *log_now - mono_ms();
                });
        });
    }
    control.post_after(kLogStatusEvery, lifetime.guard([this] { log_status(); }));
}

/// The log's time as the shards have last measured it, carried on by the monotonic clock: the
/// earliest of them, since a month is over when it is so by the time of every partition here.
/// nullopt: not known yet.
std::optional<core::Timestamp> Edge::Impl::log_now() const {
    std::optional<core::Timestamp> earliest;
    for (const auto& [shard, at_zero] : log_now_at_zero) {
        if (!earliest || at_zero < *earliest) earliest = at_zero;
    }
    if (earliest) *earliest += mono_ms();
    return earliest;
}

core::Timestamp Edge::Impl::shown_now() const {
    const auto wall = clock.wall();
    const auto now = log_now();
    return now ? core::shown_now(*now, wall) : wall;
}

/// On this thread, since it may wait for the disk.
void Edge::Impl::drop_months() {
    control.post_after(kDropMonthsEvery, lifetime.guard([this] { drop_months(); }));
    if (const auto now = log_now()) store->drop_past_months(*now, clock.wall());
}

/// Calls `call` with the client's home if it is here, else with null.
void Edge::Impl::at_home_of(const core::Uaid& client, std::function<void(Home*)> call) {
    const auto partition = core::partition_of(client, options.partitions);
    auto& shard = *homes[fronts.switchboard().shard_of(partition)];
    shard.remote().post(
        [&shard, partition, call = std::move(call)] { call(shard.find(partition)); });
}

Edge::Edge(EdgeOptions options, log::EventLog& log, std::shared_ptr<const core::KeyRing> keys,
           const core::Clock& clock, ops::Metrics& metrics, ops::Health& health)
    : impl_(std::make_unique<Impl>(std::move(options), log, std::move(keys), clock, metrics,
                                   health)) {}

Edge::~Edge() = default;

std::uint16_t Edge::port() const { return impl_->fronts.port(); }

void Edge::reload_tls() {
    const auto reloaded = impl_->fronts.reload_tls();
    impl_->health.set_warning(
        "edge_tls",
        reloaded
            ? ""
            : "SIGHUP found a certificate that cannot be used, and the former one stays in use: " +
                  reloaded.error().message);
}

void Edge::delivery_now(const core::MessageRef& message,
                        std::function<void(DeliveryNow)> reply) const {
    impl_->at_home_of(message.uaid, [message, reply = std::move(reply)](const Home* home) {
        reply(home ? home->delivery_now(message) : DeliveryNow{});
    });
}

void Edge::client_now(const core::Uaid& client, std::function<void(ClientNow)> reply) const {
    impl_->at_home_of(client, [client, reply = std::move(reply)](const Home* home) {
        reply(home ? home->client_now(client) : ClientNow{});
    });
}

void Edge::remove_client(const core::Uaid& client, std::function<void(ClientRemoval)> reply) {
    impl_->at_home_of(client, [client, reply = std::move(reply)](Home* home) {
        home ? home->remove_client(client, reply) : reply({});
    });
}

BroadcastsPtr Edge::broadcasts() const { return impl_->broadcasts->now(); }

void Edge::set_broadcast(BroadcastSet broadcast) { impl_->broadcasts->set(std::move(broadcast)); }

}  // namespace beckon::edge
