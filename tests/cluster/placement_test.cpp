#include "cluster/placement.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using cluster::PlacedNode;
using cluster::Placement;
using core::NodeId;
using core::Partition;

namespace {

/// The placements of one role and its nodes; a node becomes ready for a partition one round after
/// it became its home or standby, as if it had warmed up meanwhile.
struct Role {
    explicit Role(Partition count, std::size_t standby_count = 1)
        : partitions(count), standbys(standby_count) {}

    void join(const std::string& name, const std::string& zone = {}, std::uint32_t capacity = 1) {
        nodes.push_back({{name + '#' + std::to_string(++started)}, name, zone, capacity});
        names[nodes.back().id] = name;
    }
    void leave(const std::string& name) {
        std::erase_if(nodes, [&](const auto& node) { return node.name == name; });
    }

    cluster::PlacementFacts facts() const {
        return {.partitions = partitions,
                .nodes = nodes,
                .now =
                    [this](Partition p) {
                        const auto at = placed.find(p);
                        return at == placed.end() ? nullptr : &at->second;
                    },
                .former_name = [this](const auto& node) { return names.at(node); },
                .ready =
                    [this](const auto& node, Partition p) {
                        return ready.contains({node, p});
                    },
                .moves = [this](const auto& node) { return busy.contains(node); },
                .standby_count = standbys,
                .controller_epoch = 1};
    }

    /// One placement of all; false: nothing was left to do.
    bool round() {
        busy.clear();
        const auto all = facts();
        const auto targets = cluster::plan(all);
        REQUIRE(targets.size() == (nodes.empty() ? 0U : static_cast<std::size_t>(partitions)));
        bool any = false;
        for (Partition p = 0; p < partitions && !nodes.empty(); ++p) {
            const auto next = cluster::next_step(all, p, targets[static_cast<std::size_t>(p)]);
            if (!next) continue;
            any = true;
            const auto before = placed.find(p);
            if (before != placed.end() && before->second.home != next->home &&
                lives(before->second.home)) {
                CHECK(ready.contains({next->home, p}));  // else its clients would wait
                CHECK(busy.insert(before->second.home).second);
                CHECK(busy.insert(next->home).second);
            }
            CHECK(next->standbys.size() <= standbys + 1);
            placed[p] = *next;
        }
        for (const auto& [p, placement] : placed) {
            ready.insert({placement.home, p});
            for (const auto& node : placement.standbys) ready.insert({node, p});
        }
        return any;
    }

    /// Places until nothing is left to do.
    void stabilise() {
        int rounds = 0;
        while (round()) REQUIRE(++rounds < 10 + 3 * partitions);
    }

    /// The plan in one go, as if every move had been made.
    void jump() {
        const auto targets = cluster::plan(facts());
        REQUIRE(targets.size() == static_cast<std::size_t>(partitions));
        for (Partition p = 0; p < partitions; ++p) {
            placed[p] = targets[static_cast<std::size_t>(p)];
        }
        ready.clear();
        for (const auto& [p, placement] : placed) {
            ready.insert({placement.home, p});
            for (const auto& node : placement.standbys) ready.insert({node, p});
        }
    }

    bool lives(const NodeId& id) const {
        return std::any_of(nodes.begin(), nodes.end(),
                           [&](const auto& node) { return node.id == id; });
    }
    std::vector<std::string> homes() const {
        std::vector<std::string> out;
        for (const auto& [p, placement] : placed) out.push_back(names.at(placement.home));
        return out;
    }
    /// As home or as standby: of so many partitions its disk has the state.
    std::size_t copies_at(const std::string& name) const {
        std::size_t count = 0;
        for (const auto& [p, placement] : placed) {
            count += names.at(placement.home) == name ? 1 : 0;
            for (const auto& node : placement.standbys) count += names.at(node) == name ? 1 : 0;
        }
        return count;
    }
    std::set<Partition> homes_of(const std::string& name) const {
        std::set<Partition> out;
        for (const auto& [p, placement] : placed) {
            if (names.at(placement.home) == name) out.insert(p);
        }
        return out;
    }

    Partition partitions;
    std::size_t standbys;
    std::vector<PlacedNode> nodes;
    std::map<NodeId, std::string> names;  ///< of all that ever lived
    std::map<Partition, Placement> placed;
    std::set<std::pair<NodeId, Partition>> ready;
    mutable std::set<NodeId> busy;
    int started = 0;
};

/// How many partitions have another home.
std::size_t moved(const std::vector<std::string>& before, const std::vector<std::string>& after) {
    std::size_t count = 0;
    for (std::size_t p = 0; p < before.size(); ++p) count += before[p] == after[p] ? 0 : 1;
    return count;
}

/// How many copies of partitions, of homes and standbys together, are at nodes that had none of
/// that partition: each has to be read from the log.
std::size_t copied(const std::map<Partition, Placement>& before,
                   const std::map<Partition, Placement>& after) {
    std::size_t count = 0;
    for (const auto& [p, placement] : after) {
        const auto& was = before.at(p);
        const auto had = [&was = was](const NodeId& node) {
            return node == was.home || cluster::contains(was.standbys, node);
        };
        count += had(placement.home) ? 0 : 1;
        for (const auto& node : placement.standbys) count += had(node) ? 0 : 1;
    }
    return count;
}

/// At most one and a half times `least`, rounded up.
std::size_t half_as_many_again(std::size_t least) { return (3 * least + 1) / 2; }

std::size_t spread(const std::vector<std::size_t>& counts) {
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return *most - *least;
}

/// Homes and standbys differ by at most one from node to node, and nobody is its own standby.
void check_even(const Role& role) {
    std::map<NodeId, std::size_t> homes;
    std::map<NodeId, std::size_t> standbys;
    for (const auto& [p, placement] : role.placed) {
        ++homes[placement.home];
        CHECK(placement.standbys.size() == std::min(role.standbys, role.nodes.size() - 1));
        CHECK_FALSE(cluster::contains(placement.standbys, placement.home));
        for (const auto& node : placement.standbys) ++standbys[node];
    }
    std::vector<std::size_t> of_homes;
    std::vector<std::size_t> of_standbys;
    for (const auto& node : role.nodes) {
        of_homes.push_back(homes[node.id]);
        of_standbys.push_back(standbys[node.id]);
    }
    CHECK(std::accumulate(of_homes.begin(), of_homes.end(), std::size_t{0}) == role.placed.size());
    CHECK(spread(of_homes) <= 1);
    CHECK(spread(of_standbys) <= 1);
}

std::string name(int i) { return "node-" + std::to_string(i); }

}  // namespace

TEST_CASE("homes and standbys are even for any number of nodes, and as few move as possible") {
    const auto partitions = GENERATE(4, 5, 16, 17, 64, 100, 256);
    const std::size_t standby_count = GENERATE(1, 2);
    const int nodes = GENERATE(1, 2, 3, 4, 5, 7, 10, 16, 33, 50);
    CAPTURE(partitions, standby_count, nodes);
    Role role{partitions, standby_count};
    for (int i = 0; i < nodes; ++i) role.join(name(i));
    role.stabilise();
    check_even(role);

    // Another node joins: only what it gets moves.
    const auto before = role.homes();
    role.join("joins");
    role.stabilise();
    check_even(role);
    const auto share = role.homes_of("joins").size();
    CHECK(moved(before, role.homes()) == share);
    CHECK(share <= static_cast<std::size_t>(partitions / (nodes + 1) + 1));

    // It dies: only what it had moves. It is started again: it gets the same ones.
    const auto with_it = role.homes();
    const auto had = role.homes_of("joins");
    role.leave("joins");
    role.stabilise();
    check_even(role);
    CHECK(2 * moved(with_it, role.homes()) <= 3 * had.size());
    role.join("joins");
    role.stabilise();
    check_even(role);
    CHECK(role.homes_of("joins") == had);
}

TEST_CASE("1 to 50 nodes join and leave, with any number of partitions") {
    const auto partitions = GENERATE(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 24, 31, 32, 48, 64,
                                     97, 128, 250, 440, 512, 1000, 1024, 2047, 2048);
    const std::size_t standby_count = partitions % 3 == 0 ? 2 : 1;
    CAPTURE(partitions, standby_count);
    Role role{partitions, standby_count};
    role.join(name(1));
    role.jump();
    check_even(role);
    for (int i = 2; i <= 50; ++i) {
        CAPTURE(i);
        const auto before = role.homes();
        const auto placed = role.placed;
        role.join(name(i));
        role.jump();
        check_even(role);
        CHECK(moved(before, role.homes()) == role.homes_of(name(i)).size());
        CHECK(copied(placed, role.placed) <= half_as_many_again(role.copies_at(name(i))));
    }
    // The standbys take over. A node that has more than its share then gives another one away.
    std::size_t least = 0;
    std::size_t all = 0;
    std::size_t least_copies = 0;
    std::size_t all_copies = 0;
    for (int i = 1; i < 50; ++i) {
        CAPTURE(-i);
        const auto before = role.homes();
        const auto placed = role.placed;
        const auto had = role.homes_of(name(i)).size();
        const auto copies = role.copies_at(name(i));
        role.leave(name(i));
        role.jump();
        check_even(role);
        const auto now = moved(before, role.homes());
        CHECK(now <= 2 * had);
        least += had;
        all += now;
        // A copy of a home and one of a standby weigh the same: both are read from the log.
        if (role.nodes.size() > standby_count) {
            const auto made = copied(placed, role.placed);
            CHECK(made >= copies);
            CHECK(made <= half_as_many_again(copies) + 1);
            least_copies += copies;
            all_copies += made;
        }
    }
    CAPTURE(all, least, all_copies, least_copies);
    CHECK(2 * all_copies <= 3 * least_copies);
    // With 5 and with 8 partitions it is 1.56 and 1.62 times the least; all counts below 200 were
    // tried once.
    CHECK(10 * all <= (partitions == 5 || partitions == 8 ? 17 : 15) * least);
}

TEST_CASE("the partitions of a home that dies go to all others evenly") {
    const std::size_t standby_count = GENERATE(1, 2);
    const bool at_once = GENERATE(false, true);  // or one after the other
    CAPTURE(standby_count, at_once);
    std::size_t least = 0;
    std::size_t all = 0;
    Role role{320, standby_count};
    for (int nodes = 1; nodes <= 12; ++nodes) {
        role.join(name(nodes));
        if (at_once) role.placed.clear();
        role.jump();
        for (int dead = 1; dead <= nodes && nodes > 1; ++dead) {
            auto one = role;
            least += one.homes_of(name(dead)).size();
            one.leave(name(dead));
            one.jump();
            all += moved(role.homes(), one.homes());
        }
    }
    // A node that got more than its share gives others away: these are the moves beyond the least.
    CAPTURE(all, least);
    CHECK(100 * all <= 109 * least);
}

TEST_CASE("a home and its standbys are in different zones where there are two") {
    const auto partitions = GENERATE(4, 16, 64);
    Role role{partitions};
    for (int i = 0; i < 6; ++i) role.join(name(i), i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "c");
    role.stabilise();
    check_even(role);
    const auto zone_of = [&](const NodeId& id) {
        return std::find_if(role.nodes.begin(), role.nodes.end(),
                            [&](const auto& node) { return node.id == id; })
            ->zone;
    };
    for (const auto& [p, placement] : role.placed) {
        for (const auto& node : placement.standbys) CHECK(zone_of(node) != zone_of(placement.home));
    }
    // One zone is far smaller: its nodes are the standbys of all others, which no evenness forbids.
    role.leave(name(1));
    role.leave(name(2));
    role.leave(name(4));
    role.leave(name(5));
    role.join("b", "b");
    role.stabilise();
    for (const auto& [p, placement] : role.placed) {
        REQUIRE(placement.standbys.size() == 1);
        CHECK(zone_of(placement.standbys[0]) != zone_of(placement.home));
    }
}

TEST_CASE("a node has its share by its capacity") {
    Role role{64};
    role.join("small", {}, 1);
    role.join("large", {}, 3);
    role.join("middle", {}, 2);
    role.stabilise();
    CHECK(role.homes_of("small").size() <= 11);
    CHECK(role.homes_of("small").size() >= 10);
    CHECK(role.homes_of("large").size() == 32);
    CHECK(role.homes_of("middle").size() >= 21);
}

TEST_CASE("shares by capacity and zones hold while nodes of all kinds come and go") {
    const auto seed = GENERATE(range(1, 41));
    std::mt19937 random{static_cast<std::uint32_t>(seed)};
    const auto from_to = [&](int least, int most) {
        return std::uniform_int_distribution<int>{least, most}(random);
    };
    Role role{from_to(4, 200)};
    for (int i = 0; i < 30; ++i) {
        CAPTURE(seed, i, role.partitions, role.nodes.size());
        if (role.nodes.size() < 2 || (role.nodes.size() < 12 && from_to(0, 2) > 0)) {
            const std::string zone{"abc"[from_to(0, 2)]};
            role.join(name(i), zone, static_cast<std::uint32_t>(from_to(1, 5)));
        } else {
            role.leave(role.nodes.at(static_cast<std::size_t>(random() % role.nodes.size())).name);
        }
        role.stabilise();
        std::size_t capacity = 0;
        std::map<std::string, const PlacedNode*> by_name;
        std::set<std::string> zones;
        for (const auto& node : role.nodes) {
            capacity += node.capacity;
            by_name[node.name] = &node;
            zones.insert(node.zone);
        }
        const auto all = static_cast<std::size_t>(role.partitions);
        for (const auto& node : role.nodes) {
            const auto homes = role.homes_of(node.name).size();
            CHECK(homes >= all * node.capacity / capacity);
            CHECK(homes <= (all * node.capacity + capacity - 1) / capacity);
        }
        for (const auto& [p, placement] : role.placed) {
            CHECK(placement.standbys.size() == std::min<std::size_t>(1, role.nodes.size() - 1));
            const auto& zone = by_name.at(role.names.at(placement.home))->zone;
            for (const auto& standby : placement.standbys) {
                CHECK(standby != placement.home);
                const auto& its = by_name.at(role.names.at(standby))->zone;
                if (zones.size() > 1) CHECK(its != zone);
            }
        }
    }
}

TEST_CASE("a process whose predecessor lives gets nothing until that is gone") {
    Role role{16};
    for (const char* one : {"a", "b", "c"}) role.join(one);
    role.stabilise();
    const auto before = role.placed;
    const auto had = role.homes_of("b");
    role.join("b");
    role.stabilise();
    CHECK(role.placed == before);
    const auto b1 = std::find_if(role.nodes.begin(), role.nodes.end(),
                                 [](const auto& node) { return node.name == "b"; });
    role.nodes.erase(b1);
    role.stabilise();
    check_even(role);
    CHECK(role.homes_of("b") == had);
}

TEST_CASE("a dead home's partitions go at once to a node that is ready, and its standbys stay") {
    Role role{32};
    for (int i = 0; i < 4; ++i) role.join(name(i));
    role.stabilise();
    const auto before = role.placed;
    const auto dead = role.homes_of(name(2));
    role.leave(name(2));
    role.round();
    for (const auto p : dead) {
        CHECK(role.placed.at(p).home == before.at(p).standbys.at(0));
        CHECK(role.placed.at(p).former_home == name(2));
    }
    role.stabilise();
    check_even(role);
}

TEST_CASE("a partition that waits for its next home to warm up keeps its standby") {
    Role role{8};
    role.join("a");
    role.join("b");
    role.stabilise();
    const auto before = role.placed;
    role.join("c");
    role.round();
    std::size_t waiting = 0;
    for (const auto& [p, placement] : role.placed) {
        CHECK(placement.home == before.at(p).home);
        if (placement.standbys.size() < 2) continue;
        ++waiting;
        CHECK(placement.standbys.at(0) == before.at(p).standbys.at(0));
    }
    CHECK(waiting >= 2);
}

TEST_CASE("a death moves no partition twice") {
    const auto partitions = GENERATE(4, 5, 16, 17, 64, 100, 256);
    const std::size_t standby_count = GENERATE(1, 2);
    const int nodes = GENERATE(2, 3, 4, 5, 7, 10, 16, 33, 50);
    CAPTURE(partitions, standby_count, nodes);
    Role role{partitions, standby_count};
    for (int i = 0; i < nodes; ++i) role.join(name(i));
    role.stabilise();
    for (int dead = 0; dead < std::min(nodes, 5); ++dead) {
        CAPTURE(dead);
        auto one = role;
        one.leave(name(dead));
        auto homes = one.homes();
        std::map<std::size_t, int> moves;
        const auto had = role.homes_of(name(dead));
        for (bool goes_on = true; goes_on;) {
            const bool is_first = homes == role.homes();
            goes_on = one.round();
            // Nobody warms up for a partition that has found its home.
            for (const auto p : had) {
                if (is_first) CHECK(one.placed.at(p).standbys.size() <= standby_count);
            }
            const auto now = one.homes();
            for (std::size_t p = 0; p < now.size(); ++p) moves[p] += now[p] == homes[p] ? 0 : 1;
            homes = now;
        }
        check_even(one);
        for (const auto& [p, count] : moves) CHECK(count <= 1);
    }
}

TEST_CASE("without a node nothing is placed") {
    Role role{8};
    CHECK_FALSE(role.round());
    CHECK(role.placed.empty());
}
