#include "cluster/cluster.hpp"

#include "cluster/ownership.hpp"
#include "cluster/ownership_fold.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "fold/memory_state.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace beckon::cluster {

using log::Topic;

namespace {

const log::TopicPartition kOwnership{Topic::kOwnership, 0};
/// After a publish to `ownership` failed.
constexpr core::Duration kRetryAfter = std::chrono::milliseconds{500};

}  // namespace

/// Folds `ownership` into memory, from the log's start each time, and acts on it: publishes this
/// node's record, claims control while it is first in the group, and places partitions while it has
/// control.
struct Cluster::Impl final : fold::MemoryState {
    Impl(ClusterOptions o, log::EventLog& log, core::Executor& e, const core::Clock& clock,
         Events v)
        : options(std::move(o)),
          events(std::move(v)),
          executor(e),
          publisher(log.open_publisher(e)),
          ownership(options.role, options.partitions),
          fold({.folder = "cluster",
                .inputs = {kOwnership},
                .node = options.self,
                .group = {},  // every node folds all of it
                .stall_after = options.session_timeout / 2},
               {log, *publisher, e, clock}, *this),
          lifetime(e) {}
    ~Impl() override { lifetime.end(); }

    // --- fold::State
    void replay(fold::InputIndex, const core::RecordView& record) override;
    core::Result<void> clear() override;
    void committed() override;
    void caught_up() override;
    void restarted(std::string_view why) override;

    // --- the effects
    void join(log::EventLog& log);
    void act();
    void notify_nodes();
    void publish_node();
    void claim_control();
    void place_all();
    std::set<core::NodeId> handing_over(const std::vector<core::NodeId>& alive) const;
    void introduce();
    void remove_dead_nodes();
    void publish(core::Record record);
    void retry_later();
    bool knows_all() const { return fold.phase() == fold::Phase::following; }
    bool controls() const {
        return knows_all() && members.first && ownership.controller_epoch() != 0 &&
               ownership.controller() == options.self;
    }

    const ClusterOptions options;
    const Events events;
    core::Executor& executor;
    const std::unique_ptr<log::Publisher> publisher;
    std::unique_ptr<log::Member> member;

    OwnershipFold ownership;
    bool has_read = false;                    ///< in this turn
    bool nodes_changed = false;               ///< not reported yet
    std::vector<core::Partition> placed_now;  ///< in this turn
    std::vector<core::Record> repairs;        ///< of this turn, for the controller to write again

    log::Members members;
    std::map<core::NodeId, PlacedNode> introduced;  ///< members, as the controller knows them
    std::set<core::Partition> ready;
    std::optional<std::uint64_t> clients;
    std::set<core::NodeId> links;
    core::Epoch claiming = 0;  ///< a claim to be controller that is not read back yet; 0: none
    std::set<std::string> in_flight;  ///< keys published and not read back yet
    /// The moves from a living home among them, with the nodes that they concern.
    std::map<std::string, std::set<core::NodeId>> moves;
    bool retry_posted = false;

    beckon::fold::Fold fold;
    core::Lifetime lifetime;
};

// --- the fold

void Cluster::Impl::replay(fold::InputIndex, const core::RecordView& record) {
    has_read = true;
    in_flight.erase(std::string{record.key});
    moves.erase(std::string{record.key});
    auto effect = ownership.apply(record);
    if (effect.placed) placed_now.push_back(*effect.placed);
    if (effect.repair) repairs.push_back(std::move(*effect.repair));
    nodes_changed |= effect.node_changed;
    if (!effect.new_controller) return;
    claiming = 0;
    // Records from before the start, which it reads again, are no news.
    core::log_line(knows_all() ? core::LogLevel::info : core::LogLevel::debug, "cluster",
                   "controller",
                   {{"role", options.role},
                    {"epoch", ownership.controller_epoch()},
                    {"node", ownership.controller().text}});
}

core::Result<void> Cluster::Impl::clear() {
    ownership = OwnershipFold{options.role, options.partitions};
    placed_now.clear();
    repairs.clear();
    return {};
}

void Cluster::Impl::restarted(std::string_view) {
    placed_now.clear();
    repairs.clear();
    in_flight.clear();
    moves.clear();
    claiming = 0;
}

void Cluster::Impl::committed() {
    if (!std::exchange(has_read, false)) return;
    const auto changed = std::exchange(placed_now, {});
    const auto lost = std::exchange(repairs, {});
    if (!knows_all()) return;  // all are notified when it does
    const auto term = lifetime.term();
    notify_nodes();
    if (term.over()) return;
    for (const auto partition : changed) {
        events.placed(partition, ownership.placed().at(partition));
        if (term.over()) return;
    }
    if (controls()) {
        for (const auto& record : lost) publish(record);
    }
    act();
}

void Cluster::Impl::notify_nodes() {
    if (std::exchange(nodes_changed, false) && events.nodes) events.nodes(ownership.nodes());
}

void Cluster::Impl::caught_up() {
    const auto term = lifetime.term();
    nodes_changed = true;
    notify_nodes();
    if (term.over()) return;
    for (const auto& [partition, placement] : std::map{ownership.placed()}) {
        events.placed(partition, placement);
        if (term.over()) return;
    }
    act();
}

// --- this node

void Cluster::Impl::join(log::EventLog& log) {
    member = log.join({.group = options.role + ".members",
                       .self = options.self,
                       .session_timeout = options.session_timeout},
                      executor, lifetime.guard([this](const log::Members& now) {
                          members = now;
                          act();
                          // A node that is missing now is removed later: it may be slow to join.
                          executor.post_after(2 * options.session_timeout,
                                              lifetime.guard([this] { remove_dead_nodes(); }));
                      }));
}

/// Compares the present placements with the wanted ones and publishes the differences; call it
/// after any change.
void Cluster::Impl::act() {
    if (!knows_all()) return;
    publish_node();
    if (!members.first) return;
    if (controls()) {
        for (const auto& claim : ownership.outdated_claims()) publish(encode(claim));
        place_all();
    } else {
        claim_control();
    }
}

void Cluster::Impl::publish_node() {
    const NodeRecord us{options.role, options.self, options.link_url, ready, false, clients, links,
                        options.name, options.zone, options.capacity};
    const auto known = ownership.nodes().find(options.self);
    if (known == ownership.nodes().end() || known->second != us) publish(encode(us));
}

void Cluster::Impl::claim_control() {
    if (claiming > ownership.controller_epoch()) return;  // until it is read back, or a higher one
    claiming = ownership.controller_epoch() + 1;
    publish(encode(ControllerClaim{options.role, claiming, options.self, false}));
}

/// Keeps the members whose node record was read: of the others not even the name is known. A record
/// that is missing for a moment (a former controller took the node for dead) takes nothing from it.
void Cluster::Impl::introduce() {
    std::erase_if(introduced,
                  [this](const auto& one) { return !contains(members.alive, one.first); });
    for (const auto& [node, record] : ownership.nodes()) {
        if (!contains(members.alive, node)) continue;
        introduced[node] = {node, ownership.name_of(node), record.zone, record.capacity};
    }
}

/// Nodes that move a partition at present: the placement names one, and the other, which lives too,
/// is still the last to have announced an epoch. (A role without leases announces none.)
std::set<core::NodeId> Cluster::Impl::handing_over(const std::vector<core::NodeId>& alive) const {
    std::set<core::NodeId> nodes;
    for (const auto& [key, concerned] : moves) nodes.insert(concerned.begin(), concerned.end());
    for (const auto& [partition, placement] : ownership.placed()) {
        const auto claim = ownership.highest_claim(partition);
        if (claim.node == placement.home || !contains(alive, claim.node)) continue;
        nodes.insert({claim.node, placement.home});
    }
    return nodes;
}

/// Places all partitions. Only one partition at a time leaves or enters each node in a move from a
/// living home.
void Cluster::Impl::place_all() {
    introduce();
    std::vector<PlacedNode> nodes;
    std::vector<core::NodeId> alive;
    for (const auto& [id, node] : introduced) {
        nodes.push_back(node);
        alive.push_back(id);
    }
    auto busy = handing_over(alive);
    const PlacementFacts facts{
        .partitions = options.partitions,
        .nodes = std::move(nodes),
        .now =
            [this](core::Partition p) {
                const auto at = ownership.placed().find(p);
                return at == ownership.placed().end() ? nullptr : &at->second;
            },
        .former_name = [this](const auto& node) { return ownership.name_of(node); },
        .ready = [this](const auto& node,
                        core::Partition p) { return ownership.is_ready(node, p); },
        .moves = [&busy](const auto& node) { return busy.contains(node); },
        .standby_count = static_cast<std::size_t>(options.standby_count),
        .controller_epoch = ownership.controller_epoch()};
    const auto targets = plan(facts);
    for (core::Partition p = 0; p < static_cast<core::Partition>(targets.size()); ++p) {
        const auto next = next_step(facts, p, targets[static_cast<std::size_t>(p)]);
        if (!next) continue;
        const auto* now = facts.now(p);
        auto record = encode(PlacementRecord{options.role, p, next->home, next->standbys,
                                             next->controller_epoch, next->former_home});
        if (now != nullptr && next->home != now->home && contains(alive, now->home)) {
            moves[record.key] = {now->home, next->home};
            busy.insert({now->home, next->home});
        }
        publish(std::move(record));
    }
}

void Cluster::Impl::remove_dead_nodes() {
    if (!controls()) return;
    for (const auto& [id, record] : ownership.nodes()) {
        if (contains(members.alive, id)) continue;
        auto gone = record;
        gone.removed = true;
        publish(encode(gone));
    }
}

void Cluster::Impl::publish(core::Record record) {
    auto key = record.key;
    if (!in_flight.insert(key).second) return;  // act() comes again when that one is read back
    fold.publisher().publish(kOwnership, std::move(record),
                             lifetime.guard([this, key](const core::Result<log::Appended>& result) {
                                 if (result) return;  // it counts once it is read back
                                 in_flight.erase(key);
                                 moves.erase(key);
                                 claiming = 0;  // if it was a claim; act() claims again if not
                                 retry_later();
                             }));
}

void Cluster::Impl::retry_later() {
    if (std::exchange(retry_posted, true)) return;
    executor.post_after(kRetryAfter, lifetime.guard([this] {
        retry_posted = false;
        act();
    }));
}

Cluster::Cluster(ClusterOptions options, log::EventLog& log, core::Executor& executor,
                 const core::Clock& clock, Events events)
    : impl_(std::make_unique<Impl>(std::move(options), log, executor, clock, std::move(events))) {
    impl_->fold.start();
    impl_->join(log);
}

Cluster::~Cluster() = default;

void Cluster::still_alive() {
    if (impl_->member) impl_->member->still_alive();
}

void Cluster::set_status(std::uint64_t clients, const std::set<core::NodeId>& links) {
    impl_->clients = clients;
    impl_->links = links;
    impl_->act();
}

bool Cluster::may_leave() const {
    const auto& alive = impl_->members.alive;
    const bool others = std::any_of(alive.begin(), alive.end(), [this](const auto& node) {
        return node != impl_->options.self;
    });
    return others && contains(alive, impl_->options.self);
}

bool Cluster::leave() {
    if (!may_leave()) return false;
    impl_->member.reset();
    impl_->members = {};
    return true;
}

void Cluster::set_ready(const std::set<core::Partition>& ready) {
    impl_->ready = ready;
    impl_->act();
}

std::optional<Placement> Cluster::placement(core::Partition partition) const {
    return impl_->ownership.placement(partition);
}

core::Epoch Cluster::highest_epoch(core::Partition partition) const {
    return impl_->ownership.highest_epoch(partition);
}

bool Cluster::caught_up() const { return impl_->knows_all(); }

bool Cluster::placement_is_current() const {
    const auto& alive = impl_->members.alive;
    const auto& placed = impl_->ownership.placed();
    return caught_up() && contains(alive, impl_->options.self) &&
           placed.size() == static_cast<std::size_t>(impl_->options.partitions) &&
           std::all_of(placed.begin(), placed.end(),
                       [&](const auto& entry) { return contains(alive, entry.second.home); });
}

fold::Progress Cluster::progress() const { return impl_->fold.progress(); }

}  // namespace beckon::cluster
