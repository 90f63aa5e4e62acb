#include "cluster/overview.hpp"

#include <algorithm>

namespace beckon::cluster {

namespace {

/// Before the first node has reported its ready partitions, no home counts as not ready.
bool anybody_reports(const OwnershipFold& fold) {
    return std::any_of(fold.nodes().begin(), fold.nodes().end(),
                       [](const auto& item) { return !item.second.ready.empty(); });
}

PartitionState state_of(const OwnershipFold& fold, const PartitionOverview& one,
                        const Lives& lives) {
    if (one.home.text.empty() || !lives(one.home)) return PartitionState::unplaced;
    if (!one.claimed_by.text.empty() && one.claimed_by != one.home) return PartitionState::moving;
    const bool serves = fold.is_ready(one.home, one.partition) || !anybody_reports(fold);
    return serves ? PartitionState::serving : PartitionState::restoring;
}

PartitionOverview partition_of(const OwnershipFold& fold, core::Partition partition,
                               const Lives& lives) {
    const auto claim = fold.highest_claim(partition);
    PartitionOverview out{
        .partition = partition, .home = {}, .claimed_by = claim.node, .epoch = claim.epoch};
    if (const auto placement = fold.placement(partition)) {
        out.home = placement->home;
        for (const auto& node : placement->standbys) {
            const bool alive = lives(node);
            out.standbys.push_back(
                {.node = node, .alive = alive, .ready = alive && fold.is_ready(node, partition)});
        }
    }
    out.state = state_of(fold, out, lives);
    const auto home = fold.nodes().find(out.home);
    if (out.state != PartitionState::unplaced && home != fold.nodes().end()) {
        const auto load = home->second.load.find(partition);
        if (load != home->second.load.end()) out.load = load->second;
    }
    return out;
}

NodeOverview node_of(const OwnershipFold& fold, const core::NodeId& id, const NodeRecord& record,
                     const Lives& lives) {
    NodeOverview out{.id = id,
                     .name = record.name,
                     .link_address = record.link_url,
                     .alive = lives(id),
                     .controller = id == fold.controller()};
    if (out.alive) {
        out.clients = record.clients;
        out.links = {record.links.begin(), record.links.end()};
    }
    for (const auto& [partition, placement] : fold.placed()) {
        if (placement.home == id) ++out.homes;
        if (contains(placement.standbys, id)) ++out.standbys;
    }
    return out;
}

void mark_hot(std::vector<PartitionOverview>& partitions) {
    std::uint64_t total = 0;
    std::uint64_t known = 0;
    for (const auto& one : partitions) {
        if (!one.load) continue;
        total += *one.load;
        ++known;
    }
    for (auto& one : partitions) {
        if (!one.load || known < 2 || *one.load < kHotLeast) continue;
        one.hot = *one.load * (known - 1) >= kHotTimes * (total - *one.load);
    }
}

}  // namespace

RoleOverview overview_of(const OwnershipFold& fold, const Lives& lives) {
    RoleOverview out{.role = fold.role(),
                     .controller_epoch = fold.controller_epoch(),
                     .nodes = {},
                     .partitions = {}};
    for (const auto& [id, record] : fold.nodes())
        out.nodes.push_back(node_of(fold, id, record, lives));
    if (out.nodes.empty() && fold.placed().empty()) return out;
    for (core::Partition p = 0; p < fold.partitions(); ++p) {
        out.partitions.push_back(partition_of(fold, p, lives));
    }
    mark_hot(out.partitions);
    return out;
}

}  // namespace beckon::cluster
