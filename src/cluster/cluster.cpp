#include "cluster/cluster.hpp"

#include "cluster/liveness.hpp"
#include "core/logger.hpp"

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

// --- the fold

void Cluster::replay(fold::InputIndex, const core::RecordView& record) {
    has_read_ = true;
    // Where a stale write is read first, this node's own record follows it, and is the repair.
    const bool own_follows = in_flight_.erase(std::string{record.key}) > 0;
    moves_.erase(std::string{record.key});
    auto effect = ownership_.apply(record);
    if (effect.placed) placed_now_.push_back(*effect.placed);
    if (effect.repair && !own_follows) repairs_.push_back(std::move(*effect.repair));
    nodes_changed_ |= effect.node_changed;
    if (!effect.new_controller) return;
    claiming_ = 0;
    // Records from before the start, which it reads again, are no news.
    core::log_line(knows_all() ? core::LogLevel::info : core::LogLevel::debug, "cluster",
                   "controller",
                   {{"role", options_.role},
                    {"epoch", ownership_.controller_epoch()},
                    {"node", ownership_.controller().text}});
}

core::Result<void> Cluster::clear() {
    ownership_ = OwnershipFold{options_.role, options_.partitions};
    placed_now_.clear();
    repairs_.clear();
    return {};
}

void Cluster::restarted(std::string_view) {
    placed_now_.clear();
    repairs_.clear();
    in_flight_.clear();
    moves_.clear();
    claiming_ = 0;
}

void Cluster::turn_ended() {
    if (!std::exchange(has_read_, false)) return;
    const auto changed = std::exchange(placed_now_, {});
    const auto lost = std::exchange(repairs_, {});
    if (!knows_all()) return;  // all are notified when it does
    const auto term = lifetime_.term();
    notify_nodes();
    if (term.over()) return;
    for (const auto partition : changed) {
        events_.placed(partition, ownership_.placed().at(partition));
        if (term.over()) return;
    }
    if (controls()) {
        for (const auto& record : lost) publish(record);
    }
    act();
}

void Cluster::notify_nodes() {
    if (std::exchange(nodes_changed_, false) && events_.nodes) events_.nodes(ownership_.nodes());
}

void Cluster::caught_up() {
    const auto term = lifetime_.term();
    nodes_changed_ = true;
    suspect_predecessors();
    notify_nodes();
    if (term.over()) return;
    for (const auto& [partition, placement] : std::map{ownership_.placed()}) {
        events_.placed(partition, placement);
        if (term.over()) return;
    }
    act();
}

// --- who lives

const NodeRecord* Cluster::record_of(const core::NodeId& node) const {
    const auto at = ownership_.nodes().find(node);
    return at == ownership_.nodes().end() ? nullptr : &at->second;
}

/// Dead by the word of others, or on its way out: it controls nothing and gets nothing.
bool Cluster::is_gone(const core::NodeId& node) const {
    const auto* record = record_of(node);
    return suspicions_.gone(node) || (record != nullptr && record->leaving);
}

bool Cluster::is_alive(const core::NodeId& node) const {
    const auto* record = record_of(node);
    const auto since = first_read_.find(node);
    const bool self = node == options_.self && !leaving_;
    return cluster::is_alive(
        {.gone = is_gone(node),
         .member = is_member(node),
         .linked = self || (linked_.contains(node) && (leaving_ || record != nullptr)),
         .starting = !self && record != nullptr && record->joining && since != first_read_.end() &&
                     clock_.mono() - since->second < 2 * options_.session_timeout,
         .judged_by_member = joined_ && !leaving_});
}

/// Whether this node is to be the controller: the group's first member; if that is gone, the living
/// member with the smallest id, until the group has a new first. A controller that leaves gives its
/// partitions away itself until another one has claimed: a group that takes in a member at that
/// moment names no new first for as long as a session may last.
bool Cluster::leads() const {
    if (suspicions_.gone(options_.self)) return false;
    if (leaving_) return ownership_.controller() == options_.self;
    if (members_.first) return true;
    if (!joined_) return leads_before_it_joins();
    if (!is_member(options_.self)) return false;
    if (ownership_.controller() == options_.self) return true;
    if (!is_gone(ownership_.controller())) return false;
    const auto next = std::find_if(
        members_.alive.begin(), members_.alive.end(),
        [this](const auto& node) { return !is_gone(node) && record_of(node) != nullptr; });
    return next != members_.alive.end() && *next == options_.self;
}

/// A process that was started again does not wait until the group has missed its predecessor, if
/// all other nodes are gone or start too.
bool Cluster::leads_before_it_joins() const {
    if (predecessors_.empty() || member_ == nullptr) return false;
    return std::all_of(
        ownership_.nodes().begin(), ownership_.nodes().end(), [&](const auto& entry) {
            const auto& [node, record] = entry;
            return node == options_.self || is_gone(node) ||
                   (record.joining && linked_.contains(node) && options_.self < node);
        });
}

/// A process that starts again and again gets nothing for a while, unless it serves already.
bool Cluster::rests(const core::NodeId& node, const NodeRecord& record) const {
    const auto since = first_read_.find(node);
    const auto now = clock_.mono();
    if (since == first_read_.end() || now - since->second >= crash_loops_.pause(record.name, now))
        return false;
    return std::none_of(ownership_.placed().begin(), ownership_.placed().end(),
                        [&](const auto& entry) { return entry.second.home == node; });
}

void Cluster::grouped(const log::Members& now) {
    if (leaving_) return;
    const auto before = std::exchange(members_, now);
    joined_ |= contains(now.alive, options_.self);
    for (const auto& node : before.alive) {
        if (is_member(node) || is_gone(node)) continue;
        fails_over(node, clock_.mono());
        died(node);
    }
}

void Cluster::fails_over(const core::NodeId& node, core::MonoTime since) {
    std::set<core::Partition> partitions;
    for (const auto& [p, placement] : ownership_.placed()) {
        if (placement.home == node) partitions.insert(p);
    }
    if (!partitions.empty()) failing_over_[node] = {since, std::move(partitions)};
}

void Cluster::died(const core::NodeId& node) {
    const auto* record = record_of(node);
    if (record == nullptr || node == options_.self || !counted_dead_.insert(node).second) return;
    crash_loops_.died(record->name, clock_.mono());
}

void Cluster::suspect(const core::NodeId& node) {
    const auto* record = record_of(node);
    if (!knows_all() || record == nullptr || record->leaving || node == options_.self ||
        suspects_.contains(node)) {
        return;
    }
    const auto again = suspect_again_.find(node);
    if (again != suspect_again_.end() && clock_.mono() < again->second.not_before) return;
    suspects_[node] = record->incarnation;
    core::log_warn("cluster", "node_suspected",
                   {{"role", options_.role},
                    {"node", node.text},
                    {"name", record->name},
                    {"address", record->link_url}});
    if (events_.suspected) events_.suspected();
    act();
}

/// This process holds the lock on its data directory: the processes of its name that `ownership`
/// still shows have ended.
void Cluster::suspect_predecessors() {
    if (options_.name.empty() || std::exchange(looked_back_, true)) return;
    for (const auto& [node, record] : ownership_.nodes()) {
        if (node == options_.self || record.name != options_.name) continue;
        predecessors_.insert(node);
        suspects_.emplace(node, record.incarnation);
    }
}

/// Answers suspicions of this node.
void Cluster::object() {
    for (const auto& [node, record] : ownership_.nodes()) {
        const auto at = record.suspects.find(options_.self);
        if (at == record.suspects.end() || at->second < incarnation_) continue;
        incarnation_ = at->second + 1;
        core::log_warn("cluster", "objects_to_suspicion",
                       {{"role", options_.role}, {"by", node.text}});
    }
}

void Cluster::judge() {
    const auto now = clock_.mono();
    for (const auto& [node, record] : ownership_.nodes()) {
        if (!first_read_.emplace(node, now).second) continue;
        const auto pause = crash_loops_.pause(record.name, now);
        if (pause > core::Duration{})
            executor_.post_after(pause, lifetime_.guard([this] { act(); }));
    }
    const auto is_unknown = [this](const auto& one) { return record_of(one.first) == nullptr; };
    if (!leads()) std::erase_if(failing_over_, is_unknown);
    std::erase_if(first_read_, is_unknown);
    std::erase_if(suspect_again_, is_unknown);
    std::erase_if(counted_dead_, [this](const auto& node) { return record_of(node) == nullptr; });
    std::set<core::NodeId> witnesses{members_.alive.begin(), members_.alive.end()};
    if (!joined_) {
        for (const auto& [node, record] : ownership_.nodes()) witnesses.insert(node);
    }
    const auto changes = suspicions_.judge(ownership_.nodes(), witnesses, now);
    for (const auto& node : changes.gone) {
        tell_gone(node);
        fails_over(node, suspicions_.suspected_since(node).value_or(now));
        died(node);
    }
    for (const auto& node : changes.returned) {
        core::log_warn("cluster", "node_was_not_gone",
                       {{"role", options_.role}, {"node", node.text}});
        failing_over_.erase(node);
        if (events_.wrongly_suspected) events_.wrongly_suspected();
    }
    // A suspect that has objected is suspected again only after a while.
    for (auto it = suspects_.begin(); it != suspects_.end();) {
        const auto* record = record_of(it->first);
        if (record == nullptr || record->incarnation <= it->second) {
            ++it;
            continue;
        }
        auto& again = suspect_again_[it->first];
        again.pause =
            std::clamp<core::Duration>(again.pause * 2, kSuspectAgainFirst, kSuspectAgainMost);
        again.not_before = now + again.pause;
        it = suspects_.erase(it);
    }
    judge_later();
}

void Cluster::tell_gone(const core::NodeId& node) const {
    const auto name = ownership_.name_of(node);
    if (predecessors_.contains(node)) {
        core::log_info(
            "cluster", "former_process_ended",
            {{"role", options_.role},
             {"node", node.text},
             {"name", name},
             {"note", "the former process with this data directory ended without a stop"}});
        return;
    }
    core::log_warn("cluster", "node_gone",
                   {{"role", options_.role}, {"node", node.text}, {"name", name}});
}

void Cluster::judge_later() {
    const auto next = suspicions_.next();
    if (!next || judged_at_) return;
    judged_at_ = *next;
    const auto now = clock_.mono();
    executor_.post_after(std::max(*next - now, core::Duration{}), lifetime_.guard([this] {
        const auto late = clock_.mono() - *judged_at_;
        judged_at_.reset();
        if (late >= Suspicions::kObjection) suspicions_.begin_again(clock_.mono());
        act();
    }));
}

/// The controller measures how long the partitions of a dead node were without a home.
void Cluster::note_failover() {
    for (auto it = failing_over_.begin(); it != failing_over_.end();) {
        auto& [since, partitions] = it->second;
        std::erase_if(partitions, [this, &dead = it->first](core::Partition p) {
            const auto placed = ownership_.placement(p);
            return placed && placed->home != dead && ownership_.is_ready(placed->home, p) &&
                   ownership_.highest_claim(p).node == placed->home;
        });
        if (!partitions.empty()) {
            ++it;
            continue;
        }
        if (events_.failed_over) events_.failed_over(clock_.mono() - since);
        it = failing_over_.erase(it);
    }
}

// --- this node

void Cluster::join(log::EventLog& log) {
    member_ = log.join({.group = options_.role + ".members",
                        .self = options_.self,
                        .session_timeout = options_.session_timeout},
                       executor_, lifetime_.guard([this](const log::Members& now) {
                           grouped(now);
                           act();
                           // A node that is missing now is removed later: it may be slow to join.
                           executor_.post_after(2 * options_.session_timeout,
                                                lifetime_.guard([this] { remove_dead_nodes(); }));
                       }));
}

/// Compares the present placements with the wanted ones and publishes the differences; call it
/// after any change.
void Cluster::act() {
    if (!knows_all()) return;
    judge();
    object();
    publish_node();
    if (!leads()) return;
    if (controls()) {
        for (const auto& claim : ownership_.outdated_claims()) publish(encode(claim));
        place_all();
        note_failover();
    } else {
        claim_control();
    }
}

void Cluster::publish_node() {
    std::erase_if(suspects_, [this](const auto& one) { return record_of(one.first) == nullptr; });
    NodeRecord us{.role = options_.role,
                  .node = options_.self,
                  .link_url = options_.link_url,
                  .ready = ready_,
                  .name = options_.name,
                  .zone = options_.zone,
                  .capacity = options_.capacity,
                  .incarnation = incarnation_,
                  .suspects = suspects_,
                  .joining = !joined_,
                  .leaving = leaving_};
    if (status_) {
        us.clients = status_->clients;
        us.links = status_->links;
        us.load = status_->load;
    }
    const auto known = ownership_.nodes().find(options_.self);
    if (known == ownership_.nodes().end() || known->second != us) publish(encode(us));
}

void Cluster::claim_control() {
    if (claiming_ > ownership_.controller_epoch())
        return;  // until it is read back, or a higher one
    claiming_ = ownership_.controller_epoch() + 1;
    publish(encode(ControllerClaim{options_.role, claiming_, options_.self, false}));
}

/// Keeps the living nodes whose record was read: of the others not even the name is known. A record
/// that is missing for a moment (a former controller took the node for dead) takes nothing from it.
void Cluster::introduce() {
    std::erase_if(introduced_, [this](const auto& one) { return !is_alive(one.first); });
    for (const auto& [node, record] : ownership_.nodes()) {
        if (!is_alive(node) || rests(node, record)) continue;
        introduced_[node] = {node, ownership_.name_of(node), record.zone, record.capacity};
    }
    if (!introduced_.empty()) return;
    // All rest: somebody has to serve.
    for (const auto& [node, record] : ownership_.nodes()) {
        if (is_alive(node))
            introduced_[node] = {node, ownership_.name_of(node), record.zone, record.capacity};
    }
}

/// Nodes that move a partition at present: the placement names one, and the other, which lives too,
/// is still the last to have announced an epoch. (A role without leases announces none.)
std::set<core::NodeId> Cluster::handing_over(const std::vector<core::NodeId>& alive) const {
    std::set<core::NodeId> nodes;
    for (const auto& [key, concerned] : moves_) nodes.insert(concerned.begin(), concerned.end());
    for (const auto& [partition, placement] : ownership_.placed()) {
        const auto claim = ownership_.highest_claim(partition);
        if (claim.node == placement.home || !contains(alive, claim.node)) continue;
        nodes.insert({claim.node, placement.home});
    }
    return nodes;
}

/// Places all partitions. Only one partition at a time leaves or enters each node in a move from a
/// living home.
void Cluster::place_all() {
    introduce();
    if (introduced_.empty()) return;  // this node leaves, and has no link
    std::vector<PlacedNode> nodes;
    std::vector<core::NodeId> alive;
    for (const auto& [id, node] : introduced_) {
        nodes.push_back(node);
        alive.push_back(id);
    }
    auto busy = handing_over(alive);
    const PlacementFacts facts{
        .partitions = options_.partitions,
        .nodes = std::move(nodes),
        .now =
            [this](core::Partition p) {
                const auto at = ownership_.placed().find(p);
                return at == ownership_.placed().end() ? nullptr : &at->second;
            },
        .former_name = [this](const auto& node) { return ownership_.name_of(node); },
        .ready = [this](const auto& node,
                        core::Partition p) { return ownership_.is_ready(node, p); },
        .moves = [&busy](const auto& node) { return busy.contains(node); },
        .standby_count = static_cast<std::size_t>(options_.standby_count),
        .controller_epoch = ownership_.controller_epoch()};
    const auto targets = plan(facts);
    for (core::Partition p = 0; p < static_cast<core::Partition>(targets.size()); ++p) {
        const auto next = next_step(facts, p, targets[static_cast<std::size_t>(p)]);
        if (!next) continue;
        const auto* now = facts.now(p);
        // Nodes that start may still come: until the group is known, each gets only what it had.
        if (!joined_ &&
            (now == nullptr || ownership_.name_of(now->home) != ownership_.name_of(next->home))) {
            continue;
        }
        auto record = encode(PlacementRecord{options_.role, p, next->home, next->standbys,
                                             next->controller_epoch, next->former_home});
        if (now != nullptr && next->home != now->home && contains(alive, now->home)) {
            moves_[record.key] = {now->home, next->home};
            busy.insert({now->home, next->home});
        }
        publish(std::move(record));
    }
}

void Cluster::remove_dead_nodes() {
    if (leaving_ || !controls()) return;
    for (const auto& [id, record] : ownership_.nodes()) {
        if (is_member(id) || is_alive(id)) continue;
        auto gone = record;
        gone.removed = true;
        publish(encode(gone));
    }
}

void Cluster::publish(core::Record record) {
    auto key = record.key;
    if (!in_flight_.insert(key).second) return;  // act() comes again when that one is read back
    fold_.publisher().publish(
        kOwnership, std::move(record),
        lifetime_.guard([this, key](const core::Result<log::Appended>& result) {
            if (result) return retry_.worked();  // read back, it counts
            in_flight_.erase(key);
            moves_.erase(key);
            claiming_ = 0;  // if it was a claim; act() claims again if not
            retry_later();
        }));
}

void Cluster::retry_later() {
    if (std::exchange(retry_posted_, true)) return;
    executor_.post_after(retry_.pause(), lifetime_.guard([this] {
        retry_posted_ = false;
        act();
    }));
}

Cluster::Cluster(ClusterOptions options, log::EventLog& log, core::Executor& executor,
                 const core::Clock& clock, Events events)
    : options_(std::move(options)),
      events_(std::move(events)),
      executor_(executor),
      clock_(clock),
      publisher_(log.open_publisher(executor)),
      ownership_(options_.role, options_.partitions),
      retry_(kRetryFirst, kRetryMost),
      fold_({.folder = "cluster",
             .inputs = {kOwnership},
             .node = options_.self,
             .group = {},  // every node folds all of it
             .stall_after = options_.session_timeout / 2},
            {log, *publisher_, executor, clock}, *this),
      lifetime_(executor) {
    fold_.start();
    join(log);
}

Cluster::~Cluster() { lifetime_.end(); }

void Cluster::still_alive() {
    if (member_) member_->still_alive();
}

void Cluster::set_status(Status status) {
    status_ = std::move(status);
    act();
}

void Cluster::set_linked(const std::set<core::NodeId>& nodes) {
    linked_ = nodes;
    for (const auto& node : nodes) suspects_.erase(node);
    act();
}

bool Cluster::may_leave() const {
    const auto takes_over = [this](const core::NodeId& node) {
        return node != options_.self &&
               (is_alive(node) || (linked_.contains(node) && !is_gone(node)));
    };
    const auto& nodes = ownership_.nodes();
    // One that has just started, or hung, may serve although the group has not taken it yet.
    return std::any_of(members_.alive.begin(), members_.alive.end(), takes_over) ||
           std::any_of(nodes.begin(), nodes.end(),
                       [&](const auto& entry) { return takes_over(entry.first); });
}

bool Cluster::leave() {
    if (!may_leave()) return false;
    leaving_ = true;
    member_.reset();
    members_ = {};
    act();
    return true;
}

void Cluster::set_ready(const std::set<core::Partition>& ready) {
    ready_ = ready;
    act();
}

bool Cluster::placement_is_current() const {
    const auto& placed = ownership_.placed();
    return knows_all() && is_alive(options_.self) &&
           placed.size() == static_cast<std::size_t>(options_.partitions) &&
           std::all_of(placed.begin(), placed.end(),
                       [&](const auto& entry) { return is_alive(entry.second.home); });
}

}  // namespace beckon::cluster
