#include "cluster/cluster.hpp"

#include "cluster/liveness.hpp"
#include "cluster/ownership_fold.hpp"
#include "cluster/suspicions.hpp"
#include "core/backoff.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "fold/state.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace beckon::cluster {

using log::Topic;

namespace {

const log::TopicPartition kOwnership{Topic::kOwnership, 0};
/// After a publish to `ownership` failed.
constexpr core::Duration kRetryFirst = std::chrono::milliseconds{500};
constexpr core::Duration kRetryMost = std::chrono::seconds{4};
/// A node that has objected to a suspicion is suspected again here after this time, which doubles.
constexpr core::Duration kSuspectAgainFirst = std::chrono::seconds{10};
constexpr core::Duration kSuspectAgainMost = std::chrono::minutes{5};

}  // namespace

/// Folds `ownership` into memory, from the log's start each time, and acts on it: publishes this
/// node's record, claims control while it is first in the group, and places partitions while it has
/// control.
struct Cluster::Impl final : fold::MemoryState {
    Impl(ClusterOptions o, log::EventLog& log, core::Executor& e, const core::Clock& c, Events v)
        : options(std::move(o)),
          events(std::move(v)),
          executor(e),
          clock(c),
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
    void turn_ended() override;
    void caught_up() override;
    void restarted(std::string_view why) override;

    // --- who lives
    void grouped(const log::Members& now);
    void suspect(const core::NodeId& node);
    void suspect_predecessors();
    void object();
    void judge();
    void tell_gone(const core::NodeId& node) const;
    void judge_later();
    void fails_over(const core::NodeId& node, core::MonoTime since);
    void died(const core::NodeId& node);
    bool is_member(const core::NodeId& node) const { return contains(members.alive, node); }
    const NodeRecord* record_of(const core::NodeId& node) const;
    bool is_gone(const core::NodeId& node) const;
    bool is_alive(const core::NodeId& node) const;
    bool leads() const;
    bool leads_before_it_joins() const;
    bool rests(const core::NodeId& node, const NodeRecord& record) const;

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
        return knows_all() && leads() && ownership.controller_epoch() != 0 &&
               ownership.controller() == options.self;
    }
    void note_failover();

    const ClusterOptions options;
    const Events events;
    core::Executor& executor;
    const core::Clock& clock;
    const std::unique_ptr<log::Publisher> publisher;
    std::unique_ptr<log::Member> member;

    OwnershipFold ownership;
    bool has_read = false;                    ///< in this turn
    bool nodes_changed = false;               ///< not reported yet
    std::vector<core::Partition> placed_now;  ///< in this turn
    std::vector<core::Record> repairs;        ///< of this turn, for the controller to write again

    log::Members members;
    bool joined = false;   ///< the group has named its members here
    bool leaving = false;  ///< for good
    /// When the record of each node was read first, but for those from before the start.
    std::map<core::NodeId, core::MonoTime> first_read;
    Suspicions suspicions;
    CrashLoops crash_loops;
    std::set<core::NodeId> counted_dead;      ///< nodes whose death `crash_loops` knows
    std::optional<core::MonoTime> judged_at;  ///< for which a task is posted
    /// This node's own suspicions, and when it may suspect nodes again that have objected.
    std::map<core::NodeId, std::uint64_t> suspects;
    struct Again {
        core::Duration pause{};
        core::MonoTime not_before{};
    };
    std::map<core::NodeId, Again> suspect_again;
    std::uint64_t incarnation = 0;
    std::set<core::NodeId> linked;
    bool looked_back = false;  ///< for processes of the same name
    /// Processes of the same name that ran before this one, and ended without a stop.
    std::set<core::NodeId> predecessors;
    /// Partitions of nodes that died that do not serve elsewhere yet, and since when.
    std::map<core::NodeId, std::pair<core::MonoTime, std::set<core::Partition>>> failing_over;

    std::map<core::NodeId, PlacedNode> introduced;  ///< living nodes, as the controller knows them
    std::set<core::Partition> ready;
    std::optional<Status> status;
    core::Epoch claiming = 0;  ///< a claim to be controller that is not read back yet; 0: none
    std::set<std::string> in_flight;  ///< keys published and not read back yet
    /// The moves from a living home among them, with the nodes that they concern.
    std::map<std::string, std::set<core::NodeId>> moves;
    bool retry_posted = false;
    core::Backoff retry{kRetryFirst, kRetryMost};

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

void Cluster::Impl::turn_ended() {
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
    suspect_predecessors();
    notify_nodes();
    if (term.over()) return;
    for (const auto& [partition, placement] : std::map{ownership.placed()}) {
        events.placed(partition, placement);
        if (term.over()) return;
    }
    act();
}

// --- who lives

const NodeRecord* Cluster::Impl::record_of(const core::NodeId& node) const {
    const auto at = ownership.nodes().find(node);
    return at == ownership.nodes().end() ? nullptr : &at->second;
}

/// Dead by the word of others, or on its way out: it controls nothing and gets nothing.
bool Cluster::Impl::is_gone(const core::NodeId& node) const {
    const auto* record = record_of(node);
    return suspicions.gone(node) || (record != nullptr && record->leaving);
}

bool Cluster::Impl::is_alive(const core::NodeId& node) const {
    const auto* record = record_of(node);
    const auto since = first_read.find(node);
    const bool self = node == options.self && !leaving;
    return cluster::is_alive(
        {.gone = is_gone(node),
         .member = is_member(node),
         .linked = self || (linked.contains(node) && (leaving || record != nullptr)),
         .starting = !self && record != nullptr && record->joining && since != first_read.end() &&
                     clock.mono() - since->second < 2 * options.session_timeout,
         .judged_by_member = joined && !leaving});
}

/// Whether this node is to be the controller: the group's first member; if that is gone, the living
/// member with the smallest id, until the group has a new first. A controller that leaves gives its
/// partitions away itself until another one has claimed: a group that takes in a member at that
/// moment names no new first for as long as a session may last.
bool Cluster::Impl::leads() const {
    if (suspicions.gone(options.self)) return false;
    if (leaving) return ownership.controller() == options.self;
    if (members.first) return true;
    if (!joined) return leads_before_it_joins();
    if (!is_member(options.self)) return false;
    if (ownership.controller() == options.self) return true;
    if (!is_gone(ownership.controller())) return false;
    const auto next = std::find_if(
        members.alive.begin(), members.alive.end(),
        [this](const auto& node) { return !is_gone(node) && record_of(node) != nullptr; });
    return next != members.alive.end() && *next == options.self;
}

/// A process that was started again does not wait until the group has missed its predecessor, if
/// all other nodes are gone or start too.
bool Cluster::Impl::leads_before_it_joins() const {
    if (predecessors.empty() || member == nullptr) return false;
    return std::all_of(ownership.nodes().begin(), ownership.nodes().end(), [&](const auto& entry) {
        const auto& [node, record] = entry;
        return node == options.self || is_gone(node) ||
               (record.joining && linked.contains(node) && options.self < node);
    });
}

/// A process that starts again and again gets nothing for a while, unless it serves already.
bool Cluster::Impl::rests(const core::NodeId& node, const NodeRecord& record) const {
    const auto since = first_read.find(node);
    const auto now = clock.mono();
    if (since == first_read.end() || now - since->second >= crash_loops.pause(record.name, now))
        return false;
    return std::none_of(ownership.placed().begin(), ownership.placed().end(),
                        [&](const auto& entry) { return entry.second.home == node; });
}

void Cluster::Impl::grouped(const log::Members& now) {
    if (leaving) return;
    const auto before = std::exchange(members, now);
    joined |= contains(now.alive, options.self);
    for (const auto& node : before.alive) {
        if (is_member(node) || is_gone(node)) continue;
        fails_over(node, clock.mono());
        died(node);
    }
}

void Cluster::Impl::fails_over(const core::NodeId& node, core::MonoTime since) {
    std::set<core::Partition> partitions;
    for (const auto& [p, placement] : ownership.placed()) {
        if (placement.home == node) partitions.insert(p);
    }
    if (!partitions.empty()) failing_over[node] = {since, std::move(partitions)};
}

void Cluster::Impl::died(const core::NodeId& node) {
    const auto* record = record_of(node);
    if (record == nullptr || node == options.self || !counted_dead.insert(node).second) return;
    crash_loops.died(record->name, clock.mono());
}

void Cluster::Impl::suspect(const core::NodeId& node) {
    const auto* record = record_of(node);
    if (!knows_all() || record == nullptr || record->leaving || node == options.self ||
        suspects.contains(node)) {
        return;
    }
    const auto again = suspect_again.find(node);
    if (again != suspect_again.end() && clock.mono() < again->second.not_before) return;
    suspects[node] = record->incarnation;
    core::log_warn("cluster", "node_suspected",
                   {{"role", options.role},
                    {"node", node.text},
                    {"name", record->name},
                    {"address", record->link_url}});
    if (events.suspected) events.suspected();
    act();
}

/// This process holds the lock on its data directory: the processes of its name that `ownership`
/// still shows have ended.
void Cluster::Impl::suspect_predecessors() {
    if (options.name.empty() || std::exchange(looked_back, true)) return;
    for (const auto& [node, record] : ownership.nodes()) {
        if (node == options.self || record.name != options.name) continue;
        predecessors.insert(node);
        suspects.emplace(node, record.incarnation);
    }
}

/// Answers suspicions of this node.
void Cluster::Impl::object() {
    for (const auto& [node, record] : ownership.nodes()) {
        const auto at = record.suspects.find(options.self);
        if (at == record.suspects.end() || at->second < incarnation) continue;
        incarnation = at->second + 1;
        core::log_warn("cluster", "objects_to_suspicion",
                       {{"role", options.role}, {"by", node.text}});
    }
}

void Cluster::Impl::judge() {
    const auto now = clock.mono();
    for (const auto& [node, record] : ownership.nodes()) {
        if (!first_read.emplace(node, now).second) continue;
        const auto pause = crash_loops.pause(record.name, now);
        if (pause > core::Duration{}) executor.post_after(pause, lifetime.guard([this] { act(); }));
    }
    const auto is_unknown = [this](const auto& one) { return record_of(one.first) == nullptr; };
    if (!leads()) std::erase_if(failing_over, is_unknown);
    std::erase_if(first_read, is_unknown);
    std::erase_if(suspect_again, is_unknown);
    std::erase_if(counted_dead, [this](const auto& node) { return record_of(node) == nullptr; });
    std::set<core::NodeId> witnesses{members.alive.begin(), members.alive.end()};
    if (!joined) {
        for (const auto& [node, record] : ownership.nodes()) witnesses.insert(node);
    }
    const auto changes = suspicions.judge(ownership.nodes(), witnesses, now);
    for (const auto& node : changes.gone) {
        tell_gone(node);
        fails_over(node, suspicions.suspected_since(node).value_or(now));
        died(node);
    }
    for (const auto& node : changes.returned) {
        core::log_warn("cluster", "node_was_not_gone",
                       {{"role", options.role}, {"node", node.text}});
        failing_over.erase(node);
        if (events.wrongly_suspected) events.wrongly_suspected();
    }
    // A suspect that has objected is suspected again only after a while.
    for (auto it = suspects.begin(); it != suspects.end();) {
        const auto* record = record_of(it->first);
        if (record == nullptr || record->incarnation <= it->second) {
            ++it;
            continue;
        }
        auto& again = suspect_again[it->first];
        again.pause =
            std::clamp<core::Duration>(again.pause * 2, kSuspectAgainFirst, kSuspectAgainMost);
        again.not_before = now + again.pause;
        it = suspects.erase(it);
    }
    judge_later();
}

void Cluster::Impl::tell_gone(const core::NodeId& node) const {
    const auto name = ownership.name_of(node);
    if (predecessors.contains(node)) {
        core::log_info(
            "cluster", "former_process_ended",
            {{"role", options.role},
             {"node", node.text},
             {"name", name},
             {"note", "the former process with this data directory ended without a stop"}});
        return;
    }
    core::log_warn("cluster", "node_gone",
                   {{"role", options.role}, {"node", node.text}, {"name", name}});
}

void Cluster::Impl::judge_later() {
    const auto next = suspicions.next();
    if (!next || judged_at) return;
    judged_at = *next;
    const auto now = clock.mono();
    executor.post_after(std::max(*next - now, core::Duration{}), lifetime.guard([this] {
        const auto late = clock.mono() - *judged_at;
        judged_at.reset();
        if (late >= Suspicions::kObjection) suspicions.begin_again(clock.mono());
        act();
    }));
}

/// The controller measures how long the partitions of a dead node were without a home.
void Cluster::Impl::note_failover() {
    for (auto it = failing_over.begin(); it != failing_over.end();) {
        auto& [since, partitions] = it->second;
        std::erase_if(partitions, [this, &dead = it->first](core::Partition p) {
            const auto placed = ownership.placement(p);
            return placed && placed->home != dead && ownership.is_ready(placed->home, p) &&
                   ownership.highest_claim(p).node == placed->home;
        });
        if (!partitions.empty()) {
            ++it;
            continue;
        }
        if (events.failed_over) events.failed_over(clock.mono() - since);
        it = failing_over.erase(it);
    }
}

// --- this node

void Cluster::Impl::join(log::EventLog& log) {
    member = log.join({.group = options.role + ".members",
                       .self = options.self,
                       .session_timeout = options.session_timeout},
                      executor, lifetime.guard([this](const log::Members& now) {
                          grouped(now);
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
    judge();
    object();
    publish_node();
    if (!leads()) return;
    if (controls()) {
        for (const auto& claim : ownership.outdated_claims()) publish(encode(claim));
        place_all();
        note_failover();
    } else {
        claim_control();
    }
}

void Cluster::Impl::publish_node() {
    std::erase_if(suspects, [this](const auto& one) { return record_of(one.first) == nullptr; });
    NodeRecord us{.role = options.role,
                  .node = options.self,
                  .link_url = options.link_url,
                  .ready = ready,
                  .name = options.name,
                  .zone = options.zone,
                  .capacity = options.capacity,
                  .incarnation = incarnation,
                  .suspects = suspects,
                  .joining = !joined,
                  .leaving = leaving};
    if (status) {
        us.clients = status->clients;
        us.links = status->links;
        us.load = status->load;
    }
    const auto known = ownership.nodes().find(options.self);
    if (known == ownership.nodes().end() || known->second != us) publish(encode(us));
}

void Cluster::Impl::claim_control() {
    if (claiming > ownership.controller_epoch()) return;  // until it is read back, or a higher one
    claiming = ownership.controller_epoch() + 1;
    publish(encode(ControllerClaim{options.role, claiming, options.self, false}));
}

/// Keeps the living nodes whose record was read: of the others not even the name is known. A record
/// that is missing for a moment (a former controller took the node for dead) takes nothing from it.
void Cluster::Impl::introduce() {
    std::erase_if(introduced, [this](const auto& one) { return !is_alive(one.first); });
    for (const auto& [node, record] : ownership.nodes()) {
        if (!is_alive(node) || rests(node, record)) continue;
        introduced[node] = {node, ownership.name_of(node), record.zone, record.capacity};
    }
    if (!introduced.empty()) return;
    // All rest: somebody has to serve.
    for (const auto& [node, record] : ownership.nodes()) {
        if (is_alive(node))
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
    if (introduced.empty()) return;  // this node leaves, and has no link
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
        // Nodes that start may still come: until the group is known, each gets only what it had.
        if (!joined &&
            (now == nullptr || ownership.name_of(now->home) != ownership.name_of(next->home))) {
            continue;
        }
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
    if (leaving || !controls()) return;
    for (const auto& [id, record] : ownership.nodes()) {
        if (is_member(id) || is_alive(id)) continue;
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
                                 if (result) return retry.worked();  // read back, it counts
                                 in_flight.erase(key);
                                 moves.erase(key);
                                 claiming = 0;  // if it was a claim; act() claims again if not
                                 retry_later();
                             }));
}

void Cluster::Impl::retry_later() {
    if (std::exchange(retry_posted, true)) return;
    executor.post_after(retry.pause(), lifetime.guard([this] {
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

void Cluster::set_status(Status status) {
    impl_->status = std::move(status);
    impl_->act();
}

void Cluster::suspect(const core::NodeId& node) { impl_->suspect(node); }

void Cluster::set_linked(const std::set<core::NodeId>& nodes) {
    impl_->linked = nodes;
    for (const auto& node : nodes) impl_->suspects.erase(node);
    impl_->act();
}

bool Cluster::may_leave() const {
    const auto& alive = impl_->members.alive;
    const auto takes_over = [this](const core::NodeId& node) {
        return node != impl_->options.self &&
               (impl_->is_alive(node) || (impl_->linked.contains(node) && !impl_->is_gone(node)));
    };
    const auto& nodes = impl_->ownership.nodes();
    // One that has just started, or hung, may serve although the group has not taken it yet.
    return std::any_of(alive.begin(), alive.end(), takes_over) ||
           std::any_of(nodes.begin(), nodes.end(),
                       [&](const auto& entry) { return takes_over(entry.first); });
}

bool Cluster::leave() {
    if (!may_leave()) return false;
    impl_->leaving = true;
    impl_->member.reset();
    impl_->members = {};
    impl_->act();
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
    const auto& placed = impl_->ownership.placed();
    return caught_up() && impl_->is_alive(impl_->options.self) &&
           placed.size() == static_cast<std::size_t>(impl_->options.partitions) &&
           std::all_of(placed.begin(), placed.end(),
                       [&](const auto& entry) { return impl_->is_alive(entry.second.home); });
}

fold::Progress Cluster::progress() const { return impl_->fold.progress(); }

}  // namespace beckon::cluster
