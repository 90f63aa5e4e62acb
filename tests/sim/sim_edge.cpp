#include "sim/sim_edge.hpp"

#include "edge/edge_metrics.hpp"
#include "edge/switchboard/switchboard.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

constexpr const char* kLogId = "sim";
/// An edge does it once an hour, which no run of a simulation lasts.
constexpr core::Duration kDropMonthsEvery = 1min;
constexpr std::chrono::milliseconds kSessionTimeout = 6s;
constexpr core::Duration kHandOver = 10s;
constexpr core::Duration kDrainStep = 20ms;
/// Shorter than in life, so that a run sees some.
constexpr std::chrono::milliseconds kPingInterval = 40s;

/// One for all processes of all runs: nobody reads it, and to make one takes longer than a minute
/// of simulated time.
edge::EdgeMetrics& counters() {
    static ops::Metrics metrics;
    static edge::EdgeMetrics counted{metrics};
    return counted;
}

std::shared_ptr<rocks::Memory> memory_for(Buffers buffers) {
    constexpr std::size_t kScarce = 64U << 10;
    constexpr std::size_t kAmple = 256U << 20;
    static const auto ample = std::make_shared<rocks::Memory>(kAmple, kAmple);
    return buffers == Buffers::ample ? ample : std::make_shared<rocks::Memory>(kScarce, kScarce);
}

}  // namespace

std::unique_ptr<store::EdgeStore> open_store(const std::filesystem::path& directory,
                                             const test::MemoryDisk& disk, store::Rotation rotation,
                                             Buffers buffers) {
    auto opened = store::EdgeStore::open({.directory = directory,
                                          .log_id = kLogId,
                                          .memory = memory_for(buffers),
                                          .rotation = rotation,
                                          .env = disk.env()});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

SimEdge::SimEdge(Surroundings around, Options options)
    : around_(std::move(around)),
      options_(std::move(options)),
      life_(around_.executor),
      control_("control", life_),
      store_(open_store(around_.directory, around_.disk, around_.rotation, around_.buffers)),
      assignments_(options_.partitions) {
    if (around_.tracks) {
        tracking_ = std::make_unique<SimTracking>(around_.log, life_, around_.clock, options_.id,
                                                  options_.partitions);
    }
    edge_ = {.node = options_.id,
             .partitions = options_.partitions,
             .log_id = kLogId,
             .milestones = tracking_ ? &tracking_->sink() : nullptr,
             .ping_interval = kPingInterval,
             .client_ping_interval_min = {},
             .endpoint_url = "https://sim",
             .window = options_.window,
             .session_timeout = kSessionTimeout,
             .link_queue_bytes_max = options_.link_bytes_max};
    std::vector<edge::Loop*> loops;
    for (std::size_t i = 0; i < options_.shards; ++i) {
        shards_.push_back(
            std::make_unique<Shard>("edge-" + std::to_string(i), life_, around_.clients));
        loops.push_back(&shards_.back()->loop);
    }
    board_ = std::make_unique<edge::Switchboard>(options_.partitions, loops, options_.mailbox_max);
    open_links();
    for (std::size_t i = 0; i < shards_.size(); ++i) open_shard(i);
    open_cluster();
    tick();
    if (around_.rotation != store::Rotation::off) drop_months();
}

SimEdge::~SimEdge() { kill(); }

std::unique_ptr<store::EdgeStore> SimEdge::kill() {
    life_.kill();
    links_.reset();
    cluster_.reset();
    for (auto& shard : shards_) shard->homes.reset();
    shards_.clear();
    tracking_.reset();
    return std::move(store_);
}

void SimEdge::open_links() {
    links_ = std::make_unique<SimLinks>(
        edge_, around_.network, control_, around_.clock,
        edge::link::Links::Events{
            .arrived = [this](const core::NodeId&,
                              edge::Messages arrivals) { board_->arrived(std::move(arrivals)); },
            .up =
                [this](const core::NodeId& peer) {
                    around_.linked("node " + options_.id.text + " has a link to " + peer.text);
                    board_->peer_up(peer);
                    linked_.insert(peer);
                    links_changed();
                },
            .down =
                [this](const core::NodeId& peer, const core::Error& why) {
                    around_.report("node " + options_.id.text + " lost its link to " + peer.text +
                                   ": " + why.message);
                    board_->peer_lost(peer);
                    linked_.erase(peer);
                    links_changed();
                },
            .dead =
                [this](const core::NodeId& peer) {
                    around_.report("node " + options_.id.text + " finds nobody at " + peer.text);
                    control_.post([this, peer] { cluster_->suspect(peer); });
                },
            .congested = [this] { return board_->congested(); }});
    board_->connect_links(options_.id, *links_);
}

void SimEdge::open_shard(std::size_t index) {
    auto& shard = *shards_[index];
    shard.front = std::make_unique<edge::Front>(
        edge_, static_cast<std::uint32_t>(index), shard.sockets, board_->homes(index),
        [this, index]() -> std::optional<core::Uaid> {
            const auto near = board_->near(index);
            if (!near) return std::nullopt;
            return edge::new_uaid_in(*near, options_.partitions);
        },
        counters().front);
    shard.sockets.serve(*shard.front);
    auto* front = shard.front.get();
    board_->connect_front(index, [front](edge::ToFront m) { front->receive(std::move(m)); });
    board_->listen(index, {.moved = [front](core::Partition) { front->moved(); },
                           .peer_lost = [front](edge::NodeNumber node,
                                                const core::NodeId&) { front->peer_lost(node); }});
    shard.loop.at_turn_end([&shard] {
        if (shard.front->wants_tick() && !std::exchange(shard.tick_posted, true)) {
            shard.loop.post_after(edge::Front::kTick, [&shard] {
                shard.tick_posted = false;
                shard.front->tick();
            });
        }
        return false;
    });
    shard.homes = std::make_unique<edge::HomeShard>(
        edge_, edge::HomeShard::Context{.shard = index,
                                        .loop = shard.loop,
                                        .board = *board_,
                                        .log = around_.log,
                                        .store = *store_,
                                        .keys = around_.keys,
                                        .clock = around_.clock,
                                        .metrics = counters().homes,
                                        .changed = [this, index] {
                                            control_.post([this, index] { reported(index); });
                                        }});
}

void SimEdge::open_cluster() {
    cluster::ClusterOptions options;
    options.role = "edge";
    options.self = options_.id;
    options.name = options_.name;
    options.partitions = options_.partitions;
    options.link_url = options_.id.text;
    options.standby_count = options_.standbys;
    options.session_timeout = kSessionTimeout;
    cluster_ = std::make_unique<cluster::Cluster>(
        options, around_.log, control_, around_.clock,
        cluster::Cluster::Events{
            .placed = [this](core::Partition p, const auto& placement) { placed(p, placement); },
            .nodes =
                [this](const auto& nodes) {
                    std::set<core::NodeId> named;
                    for (const auto& [id, record] : nodes) named.insert(id);
                    links_->set_peers(named);
                },
            .wrongly_suspected =
                [this] {
                    around_.report("node " + options_.id.text + " has suspected wrongly");
                    around_.wrongly_suspected();
                },
            .failed_over = [this](core::Duration time) { around_.failed_over(time); }});
}

/// As the links' thread posts it to the control thread.
void SimEdge::links_changed() {
    control_.post([this] {
        if (cluster_) cluster_->set_linked(linked_);
    });
}

// --- what the control thread of an edge does

void SimEdge::placed(core::Partition partition, const cluster::Placement& placement) {
    const bool standby = cluster::contains(placement.standbys, options_.id);
    auto assignment = placement.home == options_.id ? edge::Assignment::home
                      : standby                     ? edge::Assignment::standby
                                                    : edge::Assignment::none;
    board_->route(partition, placement.home);
    if (left_ && assignment == edge::Assignment::none) {
        if (assignments_.of(partition) == edge::Assignment::none) return;
        assignment = edge::Assignment::standby;
    }
    const bool is_new = assignments_.of(partition) == edge::Assignment::none;
    if (is_new && assignment != edge::Assignment::none) around_.opened(partition);
    if (assignment == edge::Assignment::home) around_.placed(partition);
    assignments_.placed(partition, assignment);
    auto& shard = *shards_[board_->shard_of(partition)];
    const auto floor = cluster_->highest_epoch(partition);
    shard.loop.post([&shard, partition, assignment, floor] {
        shard.homes->assign(partition, assignment, floor);
    });
    update_readiness();
}

void SimEdge::reported(std::size_t shard) {
    assignments_.reported([&](core::Partition p) { return board_->shard_of(p) == shard; },
                          shards_[shard]->homes->reports());
    update_readiness();
}

void SimEdge::update_readiness() {
    if (!cluster_) return;  // homes are opened before it
    if (left_) {
        if (assignments_.served().empty()) go_away();
        return;
    }
    cluster_->set_ready(assignments_.ready());
}

bool SimEdge::ready() const {
    return !left_ && !life_.is_stalled() &&
           assignments_.why_unready(cluster_->placement_is_current()).empty();
}

void SimEdge::tick() {
    control_.post_after(kSessionTimeout / 8, [this] {
        if (!mute_) cluster_->still_alive();
        update_readiness();
        tick();
    });
}

void SimEdge::leave(std::function<void()> done) {
    control_.post([this, done = std::move(done)] {
        if (left_) return;
        left_ = done;
        if (!cluster_->leave()) return go_away();
        update_readiness();
        control_.post_after(kHandOver, [this] { go_away(); });
    });
}

/// Clients are closed in portions; then the process ends.
void SimEdge::go_away() {
    if (std::exchange(goes_away_, true)) return;
    constexpr int kPortions = 10;
    for (int i = 0; i < kPortions; ++i) {
        for (auto& shard : shards_) {
            shard->loop.post_after(i * kDrainStep, [&front = *shard->front] { front.go_away(1); });
        }
    }
    control_.post_after(1s, [this] { left_(); });
}

void SimEdge::drop_months() {
    control_.post_after(kDropMonthsEvery, [this] {
        std::optional<core::Timestamp> earliest;
        for (const auto& shard : shards_) {
            const auto now = shard->homes->log_now();
            if (now && (!earliest || *now < *earliest)) earliest = now;
        }
        if (earliest) store_->drop_past_months(*earliest, around_.clock.wall());
        drop_months();
    });
}

const edge::Home* SimEdge::home(core::Partition partition) const {
    return shards_[board_->shard_of(partition)]->homes->find(partition);
}

bool SimEdge::serves(core::Partition partition) const {
    const auto* here = home(partition);
    return here && here->state() == edge::Home::State::serving;
}

std::size_t SimEdge::identified() const {
    std::size_t count = 0;
    for (const auto& shard : shards_) count += shard->front->identified();
    return count;
}

std::size_t SimEdge::sessions() const {
    std::size_t count = 0;
    for (core::Partition p = 0; p < options_.partitions; ++p) {
        if (const auto* here = home(p)) count += here->status().sessions;
    }
    return count;
}

}  // namespace beckon::sim
