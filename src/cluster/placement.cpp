#include "cluster/placement.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace beckon::cluster {

namespace {

using Index = std::size_t;  ///< of a node
constexpr Index kNone = static_cast<Index>(-1);

/// FNV-1a with a finaliser (of splitmix64), since FNV alone distributes short keys badly. It breaks
/// ties: two controllers that know the same choose the same.
std::uint64_t weight(std::string_view name, core::Partition partition) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    const auto mix = [&h](std::uint8_t byte) { h = (h ^ byte) * 0x100000001b3ULL; };
    for (const char c : name) mix(static_cast<std::uint8_t>(c));
    for (int shift = 0; shift < 32; shift += 8) {
        mix(static_cast<std::uint8_t>(static_cast<std::uint32_t>(partition) >> shift));
    }
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
    return h ^ (h >> 31);
}

/// The number of `total` items for each node, which now has `has` of them: its share by capacity,
/// rounded down or up. The nodes that have more than their share are rounded up, so that few items
/// move, then those with the highest `rank`.
std::vector<std::size_t> shares(const std::vector<PlacedNode>& nodes, std::size_t total,
                                const std::vector<std::size_t>& has,
                                const std::vector<std::size_t>& rank) {
    std::uint64_t capacity = 0;
    for (const auto& node : nodes) capacity += node.capacity;
    std::vector<std::size_t> share(nodes.size());
    for (Index i = 0; i < nodes.size(); ++i) share[i] = total * nodes[i].capacity / capacity;
    std::vector<Index> order(nodes.size());
    std::iota(order.begin(), order.end(), Index{0});
    const auto left = [&](Index i) { return total * nodes[i].capacity % capacity; };
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
        return std::tuple{has[a] > share[a], rank[a], left(a)} >
               std::tuple{has[b] > share[b], rank[b], left(b)};
    });
    auto rest = total - std::accumulate(share.begin(), share.end(), std::size_t{0});
    for (const Index i : order) {
        if (rest == 0) break;
        if (left(i) == 0) continue;  // its share is whole
        ++share[i];
        --rest;
    }
    return share;
}

const PlacedNode* find(const std::vector<PlacedNode>& nodes, const core::NodeId& id) {
    const auto at =
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.id == id; });
    return at == nodes.end() ? nullptr : &*at;
}

bool is_among(const std::vector<Index>& nodes, Index node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

/// The nodes that get partitions, by name: of each name the one that has most homes.
std::vector<PlacedNode> one_of_each_name(const PlacementFacts& facts) {
    std::map<core::NodeId, std::size_t> homes;
    for (core::Partition p = 0; p < facts.partitions; ++p) {
        if (const auto* now = facts.now(p)) ++homes[now->home];
    }
    std::map<std::string, PlacedNode> by_name;
    for (const auto& node : facts.nodes) {
        const auto [at, is_new] = by_name.emplace(node.name, node);
        if (is_new) continue;
        auto& other = at->second;
        if (std::pair{homes[other.id], other.id} < std::pair{homes[node.id], node.id}) other = node;
    }
    std::vector<PlacedNode> out;
    out.reserve(by_name.size());
    for (auto& [name, node] : by_name) out.push_back(std::move(node));
    return out;
}

/// The nodes and placements of one role with nodes as indices.
class Planner {
public:
    explicit Planner(const PlacementFacts& facts)
        : facts_(facts),
          nodes_(one_of_each_name(facts)),
          rows_(static_cast<std::size_t>(facts.partitions)) {
        for (Index i = 0; i < nodes_.size(); ++i) index_[nodes_[i].id] = i;
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            const auto* now = facts.now(partition(p));
            if (now == nullptr) continue;
            rows_[p].now_home = index_of(now->home);
            const auto name = find(facts.nodes, now->home) == nullptr ? facts.former_name(now->home)
                                                                      : now->former_home;
            const auto& former = name.empty() ? now->former_home : name;
            rows_[p].former_home = named(former);
            rows_[p].inherited = !former.empty() && rows_[p].former_home == kNone;
            for (const auto& standby : now->standbys) {
                if (const auto i = index_of(standby); i != kNone)
                    rows_[p].now_standbys.push_back(i);
            }
        }
    }

    std::vector<Placement> targets() {
        if (nodes_.empty()) return {};
        place_homes();
        place_standbys();
        std::vector<Placement> out;
        out.reserve(rows_.size());
        for (const auto& row : rows_) {
            Placement target{nodes_[row.home].id, {}, facts_.controller_epoch};
            for (const auto i : row.standbys) target.standbys.push_back(nodes_[i].id);
            out.push_back(std::move(target));
        }
        return out;
    }

private:
    struct Row {
        Index now_home = kNone;  ///< none: it is dead
        std::vector<Index> now_standbys;
        Index former_home = kNone;  ///< if a node of its name lives
        bool inherited = false;     ///< the former home is dead
        Index home = kNone;
        std::vector<Index> standbys;
    };

    static core::Partition partition(std::size_t p) { return static_cast<core::Partition>(p); }
    Index index_of(const core::NodeId& id) const {
        const auto at = index_.find(id);
        return at == index_.end() ? kNone : at->second;
    }

    bool is_ready(Index node, std::size_t p) const {
        return facts_.ready(nodes_[node].id, partition(p));
    }

    Index named(std::string_view name) const {
        for (Index i = 0; i < nodes_.size() && !name.empty(); ++i) {
            if (nodes_[i].name == name) return i;
        }
        return kNone;
    }

    // --- homes

    /// To which nodes a partition may move, the best first.
    enum class To { former_home, ready, standby, any };
    bool fits(std::size_t p, Index node, To wanted) const {
        switch (wanted) {
            case To::former_home: return rows_[p].former_home == node;
            case To::ready: return is_ready(node, p);
            case To::standby: return is_among(rows_[p].now_standbys, node);
            case To::any: return true;
        }
        return false;
    }

    /// Which partitions a pass over all of them places.
    enum class Of { all, without_home, steady };
    /// The partitions that each node has, and its share of them.
    struct Loads {
        std::vector<std::size_t> has;
        std::vector<std::size_t> share;
        bool full(Index node) const { return has[node] >= share[node]; }
        bool above(Index node) const { return has[node] > share[node]; }
    };

    /// A node that came back gets its partitions first. Those of dead homes go to nodes that are
    /// ready, even beyond their share. A node above its share gives away partitions that it did not
    /// take over from a dead home, if it has any: so a death moves no partition twice.
    void place_homes() {
        Loads loads{std::vector<std::size_t>(nodes_.size()), {}};
        std::vector<std::size_t> own(
            nodes_.size());  // without those of which the former home lives
        for (auto& row : rows_) {
            row.home = row.now_home;
            if (row.home != kNone) ++loads.has[row.home];
            const Index owner = row.former_home != kNone ? row.former_home : row.home;
            if (owner != kNone) ++own[owner];
        }
        loads.share = shares(nodes_, rows_.size(), own, with_inherited(own));
        place(Of::all, To::former_home, loads);
        place(Of::without_home, To::ready, loads);
        place_beyond_shares(loads);
        for (const Of of : {Of::without_home, Of::steady, Of::all}) {
            for (const To wanted : {To::ready, To::standby, To::any}) place(of, wanted, loads);
        }
    }

    /// How many partitions each node has once the standbys of dead homes have taken over.
    std::vector<std::size_t> with_inherited(std::vector<std::size_t> own) const {
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            const auto& row = rows_[p];
            if (row.home != kNone || row.former_home != kNone) continue;
            const auto heir = std::find_if(row.now_standbys.begin(), row.now_standbys.end(),
                                           [&](Index node) { return is_ready(node, p); });
            if (heir != row.now_standbys.end()) ++own[*heir];
        }
        return own;
    }

    void place(Of of, To wanted, Loads& loads) {
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            const auto& row = rows_[p];
            if (of == Of::without_home && row.home != kNone) continue;
            if (of == Of::steady && row.inherited) continue;
            if (row.home != kNone && !loads.above(row.home)) continue;
            put(p, best(p, wanted, loads), loads);
        }
    }

    /// Gives partitions without a home to the ready nodes that are furthest below their share, or
    /// least above it.
    void place_beyond_shares(Loads& loads) {
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            if (rows_[p].home != kNone) continue;
            Index found = kNone;
            for (Index i = 0; i < nodes_.size(); ++i) {
                if (!is_ready(i, p)) continue;
                if (found != kNone &&
                    loads.has[i] + loads.share[found] >= loads.has[found] + loads.share[i]) {
                    continue;
                }
                found = i;
            }
            put(p, found, loads);
        }
    }

    void put(std::size_t p, Index node, Loads& loads) {
        auto& home = rows_[p].home;
        if (node == kNone) return;
        if (home != kNone) --loads.has[home];
        home = node;
        ++loads.has[home];
    }

    /// A node of the wanted kind that is below its share.
    Index best(std::size_t p, To wanted, const Loads& loads) const {
        Index found = kNone;
        std::uint64_t highest = 0;
        for (Index i = 0; i < nodes_.size(); ++i) {
            if (loads.full(i) || !fits(p, i, wanted)) continue;
            const auto of = weight(nodes_[i].name, partition(p));
            if (found != kNone && of <= highest) continue;
            found = i;
            highest = of;
        }
        return found;
    }

    // --- standbys

    bool zones_differ(Index a, Index b) const { return nodes_[a].zone != nodes_[b].zone; }
    bool several_zones() const {
        return std::any_of(nodes_.begin(), nodes_.end(),
                           [this](const auto& node) { return node.zone != nodes_[0].zone; });
    }
    /// Whether a node may be a standby of the partition beside those that it has.
    bool may_stand_by(std::size_t p, Index node) const {
        const auto& row = rows_[p];
        if (node == row.home || (several_zones_ && !zones_differ(node, row.home))) return false;
        return !is_among(row.standbys, node);
    }
    std::size_t candidates(std::size_t p) const {
        std::size_t count = 0;
        for (Index i = 0; i < nodes_.size(); ++i) count += may_stand_by(p, i) ? 1 : 0;
        return count;
    }

    void place_standbys() {
        several_zones_ = several_zones();
        stands_by_.assign(nodes_.size(), 0);
        pairs_.assign(nodes_.size() * nodes_.size(), 0);
        std::vector<std::size_t> wanted(rows_.size());
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            wanted[p] = std::min(facts_.standby_count, candidates(p));
        }
        keep_standbys(wanted);
        // Those with few homes come first: they have most room for the partitions of the dead.
        std::vector<std::size_t> rank(nodes_.size(), rows_.size());
        for (const auto& row : rows_) --rank[row.home];
        const auto total = std::accumulate(wanted.begin(), wanted.end(), std::size_t{0});
        const auto share = shares(nodes_, total, stands_by_, rank);
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            while (rows_[p].standbys.size() < wanted[p]) add_standby(p, share);
        }
        even_out(share);
    }

    /// A home that moves is the best standby of its partition: it has all of it.
    void keep_standbys(const std::vector<std::size_t>& wanted) {
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            auto& row = rows_[p];
            auto candidates = row.now_standbys;
            if (row.now_home != kNone) candidates.insert(candidates.begin(), row.now_home);
            for (const auto node : candidates) {
                if (row.standbys.size() >= wanted[p] || !may_stand_by(p, node)) continue;
                row.standbys.push_back(node);
                ++stands_by_[node];
                ++pairs(row.home, node);
            }
        }
    }

    /// How many partitions have this home and this standby.
    std::size_t& pairs(Index home, Index standby) { return pairs_[home * nodes_.size() + standby]; }

    /// A node below its share; among these the one that stands by least for this home, so that the
    /// partitions of a home that dies go to all others evenly, which then need not give others
    /// away.
    void add_standby(std::size_t p, const std::vector<std::size_t>& share) {
        const Index home = rows_[p].home;
        Index found = kNone;
        std::tuple<bool, std::size_t, std::uint64_t> lowest;
        for (Index i = 0; i < nodes_.size(); ++i) {
            if (!may_stand_by(p, i)) continue;
            const std::tuple rank{stands_by_[i] >= share[i], pairs(home, i),
                                  ~weight(nodes_[i].name, partition(p))};
            if (found != kNone && rank >= lowest) continue;
            found = i;
            lowest = rank;
        }
        rows_[p].standbys.push_back(found);
        ++stands_by_[found];
        ++pairs(home, found);
    }

    /// Hands standbys on from nodes above their share to nodes below it; over others where no
    /// partition of the one may go to the other: a shortest path each time.
    void even_out(const std::vector<std::size_t>& share) {
        for (Index from = 0; from < nodes_.size(); ++from) {
            while (stands_by_[from] > share[from] &&
                   (hand_on(from, share) || hand_on_over_others(from, share))) {
            }
        }
    }

    struct Step {
        Index from = kNone;
        std::size_t partition = 0;
    };

    /// Of the partition whose home has this standby most often, to the node that stands by least
    /// for that home.
    bool hand_on(Index from, const std::vector<std::size_t>& share) {
        Step found;
        Index taker = kNone;
        std::ptrdiff_t lowest = 0;
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            const Index home = rows_[p].home;
            if (!is_among(rows_[p].standbys, from)) continue;
            for (Index to = 0; to < nodes_.size(); ++to) {
                if (stands_by_[to] >= share[to] || !may_stand_by(p, to)) continue;
                const auto rank = static_cast<std::ptrdiff_t>(pairs(home, to)) -
                                  static_cast<std::ptrdiff_t>(pairs(home, from));
                if (taker != kNone && rank >= lowest) continue;
                found = {from, p};
                taker = to;
                lowest = rank;
            }
        }
        if (taker == kNone) return false;
        --stands_by_[from];
        ++stands_by_[taker];
        replace(found, taker);
        return true;
    }

    bool hand_on_over_others(Index from, const std::vector<std::size_t>& share) {
        std::vector<Step> reached(nodes_.size());
        std::vector<bool> seen(nodes_.size());
        seen[from] = true;
        std::deque<Index> queue{from};
        while (!queue.empty()) {
            const Index at = queue.front();
            queue.pop_front();
            for (std::size_t p = 0; p < rows_.size(); ++p) {
                if (!is_among(rows_[p].standbys, at)) continue;
                for (Index to = 0; to < nodes_.size(); ++to) {
                    if (seen[to] || !may_stand_by(p, to)) continue;
                    seen[to] = true;
                    reached[to] = {at, p};
                    if (stands_by_[to] < share[to]) {
                        --stands_by_[from];
                        ++stands_by_[to];
                        walk_back(from, to, reached);
                        return true;
                    }
                    queue.push_back(to);
                }
            }
        }
        return false;
    }

    void walk_back(Index from, Index to, const std::vector<Step>& reached) {
        while (to != from) {
            replace(reached[to], to);
            to = reached[to].from;
        }
    }

    void replace(const Step& step, Index to) {
        auto& row = rows_[step.partition];
        *std::find(row.standbys.begin(), row.standbys.end(), step.from) = to;
        --pairs(row.home, step.from);
        ++pairs(row.home, to);
    }

    const PlacementFacts& facts_;
    std::vector<PlacedNode> nodes_;  ///< by name, then id
    std::map<core::NodeId, Index> index_;
    std::vector<Row> rows_;
    bool several_zones_ = false;
    std::vector<std::size_t> stands_by_;  ///< of how many partitions each node is a standby
    std::vector<std::size_t> pairs_;      ///< see pairs()
};

/// The node that takes over from a dead home.
core::NodeId successor(const PlacementFacts& facts, core::Partition partition,
                       const Placement& target, const Placement* now) {
    const auto ready = [&](const core::NodeId& node) {
        return find(facts.nodes, node) != nullptr && facts.ready(node, partition);
    };
    if (ready(target.home)) return target.home;
    for (const auto& standby : now != nullptr ? now->standbys : target.standbys) {
        if (ready(standby)) return standby;
    }
    for (const auto& node : facts.nodes) {
        if (ready(node.id)) return node.id;
    }
    return target.home;
}

/// The standbys of a partition that waits for its target to warm up: those that it has stay, since
/// one of them may have to take over meanwhile.
std::vector<core::NodeId> while_waiting(const PlacementFacts& facts, const Placement& target,
                                        const Placement& next, const Placement* now) {
    std::vector<core::NodeId> standbys;
    const auto add = [&](const core::NodeId& node) {
        if (standbys.size() >= facts.standby_count || node == next.home || node == target.home ||
            find(facts.nodes, node) == nullptr || contains(standbys, node)) {
            return;
        }
        standbys.push_back(node);
    };
    for (const auto& node : now != nullptr ? now->standbys : std::vector<core::NodeId>{}) add(node);
    for (const auto& node : target.standbys) add(node);
    standbys.push_back(target.home);
    return standbys;
}

}  // namespace

bool contains(const std::vector<core::NodeId>& nodes, const core::NodeId& node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

std::vector<Placement> plan(const PlacementFacts& facts) { return Planner{facts}.targets(); }

std::optional<Placement> next_step(const PlacementFacts& facts, core::Partition partition,
                                   const Placement& target) {
    const auto* now = facts.now(partition);
    Placement next = target;
    if (now != nullptr && find(facts.nodes, now->home) != nullptr) {
        const bool goes = facts.ready(target.home, partition) && !facts.moves(target.home) &&
                          !facts.moves(now->home);
        if (!goes) next.home = now->home;
        next.former_home = now->former_home;
    } else {
        next.home = successor(facts, partition, target, now);
        if (now != nullptr) next.former_home = facts.former_name(now->home);
    }
    const auto* home = find(facts.nodes, next.home);
    if (home != nullptr && home->name == next.former_home) next.former_home.clear();
    if (next.home != target.home) next.standbys = while_waiting(facts, target, next, now);
    if (now != nullptr && now->home == next.home && now->standbys == next.standbys) {
        return std::nullopt;
    }
    return next;
}

}  // namespace beckon::cluster
