#include "cluster/placement.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

namespace beckon::cluster {

namespace {

/// FNV-1a with a finaliser (of splitmix64), since FNV alone spreads short keys badly.
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

core::NodeId choose_home(const PlacementFacts& facts, const std::vector<core::NodeId>& ranked) {
    if (facts.now && contains(ranked, facts.now->home)) {
        return facts.ready(ranked.front()) ? ranked.front() : facts.now->home;
    }
    const auto warm = std::find_if(ranked.begin(), ranked.end(), facts.ready);
    return warm == ranked.end() ? ranked.front() : *warm;
}

}  // namespace

std::vector<core::NodeId> rank(core::Partition partition, const std::vector<core::NodeId>& alive,
                               const NameOf& name) {
    // By name first; the id parts nodes of one name (a copied data directory).
    std::vector<std::tuple<std::uint64_t, std::uint64_t, core::NodeId>> weighed;
    weighed.reserve(alive.size());
    for (const auto& node : alive) {
        weighed.emplace_back(weight(name(node), partition), weight(node.text, partition), node);
    }
    std::sort(weighed.begin(), weighed.end(), std::greater<>{});
    std::vector<core::NodeId> out;
    out.reserve(alive.size());
    for (auto& [of_name, of_id, node] : weighed) out.push_back(std::move(node));
    return out;
}

bool contains(const std::vector<core::NodeId>& nodes, const core::NodeId& node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

std::optional<Placement> place(const PlacementFacts& facts) {
    const auto ranked = rank(facts.partition, facts.alive, facts.name);
    if (ranked.empty()) return std::nullopt;
    Placement next{choose_home(facts, ranked), {}, facts.controller_epoch};
    for (const auto& node : ranked) {
        const bool wanted =
            static_cast<int>(next.standbys.size()) < facts.standby_count || node == ranked.front();
        if (node != next.home && wanted) next.standbys.push_back(node);
    }
    if (facts.now && facts.now->home == next.home && facts.now->standbys == next.standbys) {
        return std::nullopt;
    }
    return next;
}

}  // namespace beckon::cluster
