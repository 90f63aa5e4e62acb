#include "edge/edge.hpp"

#include "cluster/cluster.hpp"
#include "core/descriptors.hpp"
#include "core/lasting_executor.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "edge/edge_broadcasts.hpp"
#include "edge/edge_metrics.hpp"
#include "edge/fronts.hpp"
#include "edge/home/home_shard.hpp"
#include "edge/link/links.hpp"
#include "net/admission.hpp"

#include <algorithm>
#include <csignal>
#include <future>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>

namespace beckon::edge {

namespace {

constexpr core::Duration kDropMonthsEvery = std::chrono::hours{1};
constexpr core::Duration kDropMonthsFirst = std::chrono::minutes{1};
/// How often this node says in `ownership` how many clients and which links it has.
constexpr core::Duration kSayStatusEvery = std::chrono::seconds{10};
/// A loop that has hung this long will not come back: only a restart helps.
constexpr core::Duration kDeadAfter = std::chrono::minutes{1};
/// Partitions named in a reason; the rest is a number.
constexpr std::size_t kNamedMax = 5;
/// A log that has not answered for so long is named by `/ready`.
constexpr core::Duration kLogGrace = std::chrono::seconds{3};

std::size_t clients_max(std::size_t wanted) {
    const auto descriptors = core::raise_descriptor_limit();
    const auto possible = net::clients_possible(wanted, descriptors);
    if (possible < wanted) {
        core::log_warn("edge", "clients_limited",
                       {{"connections_max", wanted},
                        {"file_descriptors", descriptors},
                        {"clients_max", possible}});
    }
    return possible;
}

FrontsOptions fronts_options(const EdgeConfig& config, const core::NodeId& node) {
    FrontsOptions options;
    options.host = config.host;
    options.port = config.port;
    options.partitions = config.partitions;
    options.shards = config.shards > 0
                         ? static_cast<std::size_t>(config.shards)
                         : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
    options.front.node = node;
    options.front.hello_timeout = config.hello_timeout;
    options.front.ping_interval = config.ping_interval;
    options.front.ping_timeout = config.ping_timeout;
    options.front.early_bytes_max = config.frame_bytes_max;
    options.sockets.frame_bytes_max = config.frame_bytes_max;
    options.sockets.outbox_bytes_max = config.outbox_bytes_max;
    options.sockets.handshake_timeout = config.hello_timeout;
    options.sockets.frames_per_second_max = config.frames_per_second_max;
    options.sockets.allowed_origins = config.allowed_origins;
    if (config.tls_certificate && config.tls_key) {
        options.sockets.tls =
            net::TlsFiles{.certificate = *config.tls_certificate, .key = *config.tls_key};
    } else if (config.tls_certificate || config.tls_key) {
        throw std::runtime_error("TLS on the edge needs both a certificate and a key");
    }
    options.sockets.proxies = std::make_shared<const net::TrustedProxies>(config.trusted_proxies);
    options.sockets.proxy_protocol = config.proxy_protocol;
    options.limits = {.total_max = clients_max(config.connections_max),
                      .per_address_max = config.connections_per_address_max};
    options.version = config.version;
    return options;
}

store::Rotation rotation_of(const std::string& setting) {
    if (setting == "off") return store::Rotation::off;
    return setting == "day" ? store::Rotation::daily : store::Rotation::monthly;
}

std::unique_ptr<store::EdgeStore> open_store(const EdgeConfig& config) {
    store::EdgeStoreOptions options;
    options.directory = config.store_directory;
    options.log_id = config.log_id;
    options.memory = config.store_memory;
    options.rotation = rotation_of(config.rotation);
    auto opened = store::open_edge_store(options);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

/// Writing to a client that is gone must not end the process.
void ignore_broken_pipes() {
    struct sigaction pipe {};
    if (sigaction(SIGPIPE, nullptr, &pipe) == 0 && pipe.sa_handler == SIG_DFL) {
        pipe.sa_handler = SIG_IGN;
        sigaction(SIGPIPE, &pipe, nullptr);
    }
}

/// "partitions 1 (restoring), 4 (standby) and 12 more"
std::string describe(const std::vector<std::pair<core::Partition, std::string_view>>& missing) {
    std::string text = missing.size() == 1 ? "partition " : "partitions ";
    for (std::size_t i = 0; i < std::min(missing.size(), kNamedMax); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(missing[i].first) + " (" + std::string{missing[i].second} + ")";
    }
    if (missing.size() > kNamedMax) {
        text += " and " + std::to_string(missing.size() - kNamedMax) + " more";
    }
    return text + " not served yet";
}

/// "0-3, 7"; "none".
std::string ranges(const std::set<core::Partition>& partitions) {
    std::string text;
    for (auto first = partitions.begin(); first != partitions.end();) {
        auto last = first;
        auto next = std::next(first);
        for (; next != partitions.end() && *next == *last + 1; ++next) last = next;
        if (!text.empty()) text += ", ";
        text += std::to_string(*first);
        if (last != first) text += "-" + std::to_string(*last);
        first = next;
    }
    return text.empty() ? "none" : text;
}

}  // namespace

struct Edge::Impl {
    Impl(EdgeConfig c, log::EventLog& l, std::shared_ptr<const core::KeyRing> k,
         const core::Clock& cl, ops::Metrics& metrics, ops::Health& h)
        : config(std::move(c)),
          log(l),
          keys(std::move(k)),
          clock(cl),
          health(h),
          counters(metrics),
          store(open_store(config)),
          fronts(fronts_options(config, node), clock, counters, [this] { return unready(); }),
          control("edge-control", clock),
          lifetime(control) {
        ignore_broken_pipes();
        set_unready("waiting for the placement of partitions");
        if (config.links) open_links();
        control.start();
        fronts.start();
        homes.resize(fronts.shards());
        for (std::size_t i = 0; i < homes.size(); ++i) open_homes(i);
        control.run_and_wait([this] { open_broadcasts(); });
        control.run_and_wait([this] { open_cluster(); });
    }

    ~Impl() {
        set_unready("stopping");
        hand_over();
        fronts.go_away(config.drain);
        control.run_and_wait([this] {
            lifetime.end();
            broadcasts.reset();
            cluster.reset();
        });
        for (std::size_t i = 0; i < homes.size(); ++i) {
            fronts.loop(i).run_and_wait([this, i] { homes[i].reset(); });
        }
        fronts.stop();
        links.reset();  // its thread posts to the loops until here
        control.stop();
    }

    // --- start and stop
    void open_links();
    void hand_over();
    void open_homes(std::size_t shard);
    void open_broadcasts();
    void open_cluster();

    // --- the control thread
    void placed(core::Partition partition, const cluster::Placement& placement);
    void homes_changed(std::size_t shard, std::map<core::Partition, HomeShard::Report> now);
    void introduce(const std::map<core::NodeId, cluster::NodeRecord>& nodes);
    void link_changed(const core::NodeId& peer, bool up);
    void tick();
    void ask_log();
    void say_status();
    void drop_months();
    void update_readiness();
    bool serves_any() const;
    void say_what_is_served();

    // --- any thread
    std::string unready() const {
        const std::scoped_lock lock{mutex};
        return why_unready;
    }
    void set_unready(std::string why) {
        health.set_ready("edge", why.empty(), why);
        const std::scoped_lock lock{mutex};
        if (why.empty() && !why_unready.empty()) core::log_info("edge", "ready");
        if (!why.empty() && why_unready.empty())
            core::log_info("edge", "not_ready", {{"why", why}});
        why_unready = std::move(why);
    }

    const EdgeConfig config;
    log::EventLog& log;
    const std::shared_ptr<const core::KeyRing> keys;
    const core::Clock& clock;
    ops::Health& health;
    const core::NodeId node = core::NodeId::random();
    EdgeMetrics counters;
    const std::unique_ptr<store::EdgeStore> store;

    mutable std::mutex mutex;
    std::string why_unready;

    Fronts fronts;
    std::unique_ptr<link::Links> links;
    /// Each is of its shard's thread, and longer there than the control thread posts to it.
    std::vector<std::unique_ptr<HomeShard>> homes;
    ShardLoop control;

    // of the control thread
    core::Lifetime lifetime;
    std::unique_ptr<EdgeBroadcasts> broadcasts;  ///< constant once the edge is made
    std::unique_ptr<cluster::Cluster> cluster;
    std::map<core::Partition, Assignment> assignments;
    std::map<core::Partition, HomeShard::Report> reports;
    std::set<core::Partition> said_served;
    std::set<core::NodeId> linked;  ///< whose link is up
    /// Set while this node leaves the cluster: told once no home serves here any more.
    std::optional<std::promise<void>> leaving;
    bool left = false;  ///< `leaving` was told
    core::MonoTime asked{};
    core::MonoTime log_answered{};
    std::string log_error;  ///< the last
};

void Edge::Impl::open_links() {
    auto& board = fronts.switchboard();
    links = std::make_unique<link::Links>(
        link::LinksOptions{.self = node,
                           .log_id = config.log_id,
                           .host = config.link_host,
                           .port = config.link_port},
        keys, clock,
        link::Links::Events{
            .arrived =
                [this, &board](const core::NodeId&, link::Arrivals arrivals) {
                    counters.links.to_homes->Increment(
                        static_cast<double>(arrivals.to_homes.size()));
                    counters.links.to_fronts->Increment(
                        static_cast<double>(arrivals.to_fronts.size()));
                    board.arrived(std::move(arrivals.to_homes), std::move(arrivals.to_fronts));
                },
            .up =
                [this, &board, to_control = lifetime.remote()](const core::NodeId& peer) {
                    board.peer_up(peer);
                    to_control.post([this, peer] { link_changed(peer, true); });
                },
            .down =
                [this, &board, to_control = lifetime.remote()](const core::NodeId& peer,
                                                               const core::Error&) {
                    board.peer_lost(peer);
                    counters.links.lost->Increment();
                    to_control.post([this, peer] { link_changed(peer, false); });
                },
            .refused = [this](const core::Error&) { counters.links.refused->Increment(); },
            .congested = [&board] { return board.congested(); }});
    board.connect_links(node, *links);
}

/// The other edges take the partitions over while this one goes on serving them, partition by
/// partition until the lease of the next home is read. Clients of other edges keep their sockets.
void Edge::Impl::hand_over() {
    std::future<void> done;
    control.run_and_wait([&] {
        if (!config.links || !cluster->leave()) return;
        leaving.emplace();
        done = leaving->get_future();
        update_readiness();
    });
    if (!done.valid()) return;
    const auto began = clock.mono();
    const bool all = done.wait_for(config.hand_over) == std::future_status::ready;
    core::log_info(
        "edge", all ? "handed_over" : "not_handed_over_in_time",
        {{"ms",
          std::chrono::duration_cast<std::chrono::milliseconds>(clock.mono() - began).count()}});
}

void Edge::Impl::open_homes(std::size_t shard) {
    HomeOptions options;
    options.partitions = config.partitions;
    options.node = node;
    options.endpoint_url = config.endpoint_url;
    options.delivery_window = config.delivery_window;
    // Half of what a socket holds back, so that answers and TTL-0 messages fit beside it.
    options.delivery_window_bytes = config.outbox_bytes_max / 2;
    options.pending = {.messages = config.max_pending,
                       .policy = config.max_pending_policy == "reset"
                                     ? PendingLimit::Policy::reset
                                     : PendingLimit::Policy::drop_oldest};
    options.channels_per_client = config.channels_per_client_max;
    options.client_ttl = config.client_ttl;
    options.ping_interval_min = config.client_ping_interval_min;
    options.delete_retention = config.delete_retention;
    options.session_timeout = config.session_timeout;
    auto& loop = fronts.loop(shard);
    loop.run_and_wait([&] {
        homes[shard] = std::make_unique<HomeShard>(
            options,
            HomeShard::Ports{.shard = shard,
                             .loop = loop,
                             .board = fronts.switchboard(),
                             .fronts = fronts.switchboard().fronts(shard),
                             .log = log,
                             .store = *store,
                             .keys = keys,
                             .clock = clock,
                             .metrics = counters.homes,
                             .milestones = config.milestones,
                             .changed = [this, shard, to_control = lifetime.remote()] {
                                 to_control.post(
                                     [this, shard, now = homes[shard]->reports()]() mutable {
                                         homes_changed(shard, std::move(now));
                                     });
                             }});
    });
}

void Edge::Impl::open_broadcasts() {
    broadcasts = std::make_unique<EdgeBroadcasts>(
        EdgeBroadcasts::Options{
            .node = node, .url = config.broadcasts_url, .interval = config.broadcasts_interval},
        EdgeBroadcasts::Ports{.log = log,
                              .control = control,
                              .clock = clock,
                              .fronts = fronts,
                              .metrics = counters.broadcasts});
}

void Edge::Impl::open_cluster() {
    cluster::ClusterOptions options;
    options.role = "edge";
    options.self = node;
    options.partitions = config.partitions;
    options.standby_count = config.standby_count;
    options.session_timeout = config.session_timeout;
    if (links) {
        options.link_url = config.link_address.empty()
                               ? config.link_host + ":" + std::to_string(links->port())
                               : config.link_address;
    }
    cluster = std::make_unique<cluster::Cluster>(
        options, log, control, clock,
        cluster::Cluster::Events{
            .placed = [this](core::Partition p,
                             const cluster::Placement& where) { placed(p, where); },
            .nodes = [this](const auto& nodes) { introduce(nodes); }});
    log_answered = clock.mono();
    tick();
    if (links) say_status();
    control.post_after(kDropMonthsFirst, lifetime.guard([this] { drop_months(); }));
}

void Edge::Impl::placed(core::Partition partition, const cluster::Placement& placement) {
    const bool standby = std::find(placement.standbys.begin(), placement.standbys.end(), node) !=
                         placement.standbys.end();
    auto assignment = placement.home == node ? Assignment::home
                      : standby              ? Assignment::standby
                                             : Assignment::none;
    fronts.switchboard().route(partition, placement.home);
    if (leaving && assignment == Assignment::none) {
        // What is folded here stays for the next start, which may trust it.
        if (assignments[partition] == Assignment::none) return;
        assignment = Assignment::standby;
    }
    assignments[partition] = assignment;
    // One edge of all polls: whoever is home of the first partition.
    if (partition == 0) broadcasts->poll(assignment == Assignment::home);
    auto& shard = *homes[fronts.switchboard().shard_of(partition)];
    const auto floor = cluster->highest_epoch(partition);
    shard.remote().post(
        [&shard, partition, assignment, floor] { shard.assign(partition, assignment, floor); });
    update_readiness();
}

/// Every node knows the address of every other one; who of two calls is settled by the links.
void Edge::Impl::introduce(const std::map<core::NodeId, cluster::NodeRecord>& nodes) {
    if (!links) return;
    std::map<core::NodeId, std::string> addresses;
    for (const auto& [id, record] : nodes) {
        if (!record.link_url.empty()) addresses.emplace(id, record.link_url);
    }
    links->set_peers(std::move(addresses));
}

void Edge::Impl::link_changed(const core::NodeId& peer, bool up) {
    if (up) {
        linked.insert(peer);
    } else {
        linked.erase(peer);
    }
    counters.links.up->Set(static_cast<double>(linked.size()));
    update_readiness();
}

bool Edge::Impl::serves_any() const {
    return std::any_of(reports.begin(), reports.end(), [](const auto& entry) {
        return entry.second.state == Home::State::serving;
    });
}

/// One line for all that changed since the last tick.
void Edge::Impl::say_what_is_served() {
    std::set<core::Partition> served;
    for (const auto& [partition, report] : reports) {
        if (report.state == Home::State::serving) served.insert(partition);
    }
    if (served == said_served) return;
    core::log_info("edge", "serving", {{"partitions", ranges(served)}});
    said_served = std::move(served);
}

/// What the homes of a shard are doing now.
void Edge::Impl::homes_changed(std::size_t shard,
                               std::map<core::Partition, HomeShard::Report> now) {
    std::erase_if(reports, [&](const auto& entry) {
        return fronts.switchboard().shard_of(entry.first) == shard;
    });
    reports.merge(now);
    update_readiness();
}

/// Ready as soon as every partition that is placed here is served; at once, if none is. But what
/// `ownership` says first may be a placement from before a restart, without this node: then it is
/// not ready.
void Edge::Impl::update_readiness() {
    if (!cluster) return;  // homes are opened before it
    if (leaving) {
        if (!serves_any() && !std::exchange(left, true)) leaving->set_value();
        return;
    }
    std::vector<std::pair<core::Partition, std::string_view>> missing;
    std::set<core::Partition> ready;
    bool any = false;
    bool any_home = false;
    for (const auto& [partition, assignment] : assignments) {
        any = any || assignment != Assignment::none;
        any_home = any_home || assignment == Assignment::home;
        const auto at = reports.find(partition);
        const auto report = at == reports.end() ? HomeShard::Report{} : at->second;
        const auto state = report.state;
        const bool warm = state == Home::State::standby && !report.behind;
        if (state == Home::State::serving || warm) ready.insert(partition);
        if (assignment == Assignment::home && state != Home::State::serving) {
            missing.emplace_back(partition, to_string(state));
        }
    }
    cluster->set_ready(ready);
    if (clock.mono() - log_answered > kLogGrace) {
        return set_unready(log_error.empty() ? "the log does not answer" : log_error);
    }
    if (const auto ownership = cluster->progress().stuck) {
        return set_unready("the fold of ownership is stuck: " + ownership->why);
    }
    for (const auto& [partition, report] : reports) {
        if (!report.stuck) continue;
        return set_unready("partition " + std::to_string(partition) +
                           " is stuck: " + *report.stuck);
    }
    if (assignments.size() < static_cast<std::size_t>(config.partitions) ||
        (!any && !cluster->settled())) {
        return set_unready("waiting for the placement of partitions");
    }
    if (!missing.empty()) return set_unready(describe(missing));
    if (links && !any_home && linked.empty()) {
        return set_unready("no partition is served here, and no link to another edge is up");
    }
    set_unready({});
}

/// Tells the group that this node is alive, as long as all of its loops turn.
void Edge::Impl::tick() {
    bool fresh = true;
    for (std::size_t i = 0; i < fronts.shards(); ++i) {
        const auto still = clock.mono() - fronts.loop(i).last_turn();
        fresh = fresh && still < config.session_timeout / 2;
        if (still > kDeadAfter) health.set_dead("edge", fronts.loop(i).name() + " hangs");
    }
    if (fresh) cluster->still_alive();
    if (links) {
        std::size_t waiting = 0;
        for (const auto& link : links->status()) waiting += link.waiting_bytes;
        counters.links.waiting_bytes->Set(static_cast<double>(waiting));
    }
    ask_log();
    update_readiness();  // who lives may have changed without any placement
    say_what_is_served();
    control.post_after(config.session_timeout / 8, lifetime.guard([this] { tick(); }));
}

/// The homes only notice that the log is away when they have something to write.
void Edge::Impl::ask_log() {
    // Not "once the last is answered": an answer that got lost would be waited for for ever.
    if (clock.mono() - asked < kLogGrace / 3) return;
    asked = clock.mono();
    core::ask_while(
        lifetime,
        [this](core::Executor& executor, auto callback) {
            log.ends({log::Topic::kOwnership, 0}, executor, std::move(callback));
        },
        [this](const core::Result<log::Ends>& ends) {
            if (ends) {
                log_answered = clock.mono();
                log_error.clear();
            } else {
                log_error = ends.error().message;
            }
        });
}

void Edge::Impl::say_status() {
    if (leaving) return;
    cluster->set_status(fronts.identified(), linked);
    control.post_after(kSayStatusEvery, lifetime.guard([this] { say_status(); }));
}

/// Asks a shard for log time; here, since it may wait for the disk, months are dropped.
void Edge::Impl::drop_months() {
    auto& shard = *homes[0];
    shard.remote().post([this, &shard, to_control = lifetime.remote()] {
        const auto log_now = shard.log_now();
        if (!log_now) return;
        to_control.post([this, log_now] {
            for (const auto& month : store->drop_past_months(*log_now, clock.wall())) {
                core::log_info("edge", "month_dropped", {{"family", month}});
            }
        });
    });
    control.post_after(kDropMonthsEvery, lifetime.guard([this] { drop_months(); }));
}

Edge::Edge(EdgeConfig config, log::EventLog& log, std::shared_ptr<const core::KeyRing> keys,
           const core::Clock& clock, ops::Metrics& metrics, ops::Health& health)
    : impl_(std::make_unique<Impl>(std::move(config), log, std::move(keys), clock, metrics,
                                   health)) {}

Edge::~Edge() = default;

std::uint16_t Edge::port() const { return impl_->fronts.port(); }

void Edge::reload_tls() { impl_->fronts.reload_tls(); }

BroadcastsPtr Edge::broadcasts() const { return impl_->broadcasts->now(); }

void Edge::set_broadcast(BroadcastSet broadcast) { impl_->broadcasts->set(std::move(broadcast)); }

}  // namespace beckon::edge
