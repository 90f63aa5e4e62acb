#include "cluster/ownership_fold.hpp"

#include "core/logger.hpp"
#include "records/events.hpp"

namespace beckon::cluster {

OwnershipFold::Effect OwnershipFold::apply(const core::RecordView& record) {
    const auto unknown = [&](const UnknownOwnership& what) {
        core::log_sparsely(core::LogLevel::warn, "cluster", "unknown_ownership_record",
                           {{"why", what.why}, {"offset", record.offset}});
        return Effect{};
    };
    return std::visit(core::Overloaded{[](const OwnershipBarrier&) { return Effect{}; }, unknown,
                                       [this](const auto& event) {
                                           return event.role == role_ ? apply(event) : Effect{};
                                       }},
                      decode_ownership(record));
}

OwnershipFold::Effect OwnershipFold::apply(const ControllerClaim& claim) {
    if (claim.removed) {
        claims_.erase({claim.epoch, claim.node});
        return {};
    }
    claims_.emplace(claim.epoch, claim.node);
    if (claim.epoch <= controller_epoch_) return {};  // the first of an epoch wins
    controller_epoch_ = claim.epoch;
    controller_ = claim.node;
    return {.new_controller = true};
}

OwnershipFold::Effect OwnershipFold::apply(const PlacementRecord& record) {
    if (record.partition < 0 || record.partition >= partitions_) return {};
    const auto known = placed_.find(record.partition);
    if (record.epoch < controller_epoch_) {
        // A late write of a former controller, or a record before the first claim that we have
        // read.
        if (known == placed_.end()) return {};
        return {.repair = encode(PlacementRecord{role_, record.partition, known->second.home,
                                                 known->second.standbys, controller_epoch_,
                                                 known->second.former_home})};
    }
    Placement now{record.home, record.standbys, record.epoch, record.former_home};
    if (known != placed_.end() && known->second == now) return {};
    placed_.insert_or_assign(record.partition, std::move(now));
    return {.placed = record.partition};
}

OwnershipFold::Effect OwnershipFold::apply(const EpochRecord& record) {
    if (record.partition < 0 || record.partition >= partitions_) return {};
    const auto [found, is_new] = epochs_.try_emplace(record.partition, record);
    auto& known = found->second;
    // The first of an epoch wins, as with leases.
    if (record.epoch < known.epoch || (record.epoch == known.epoch && record.node != known.node)) {
        return {.repair = encode(known)};
    }
    known = record;
    return {};
}

OwnershipFold::Effect OwnershipFold::apply(const NodeRecord& record) {
    if (record.removed) return {.node_changed = nodes_.erase(record.node) > 0};
    auto& known = nodes_[record.node];
    const bool changed = known != record;
    known = record;
    return {.node_changed = changed};
}

std::optional<Placement> OwnershipFold::placement(core::Partition partition) const {
    const auto known = placed_.find(partition);
    if (known == placed_.end()) return std::nullopt;
    return known->second;
}

EpochRecord OwnershipFold::highest_claim(core::Partition partition) const {
    const auto known = epochs_.find(partition);
    return known == epochs_.end() ? EpochRecord{} : known->second;
}

bool OwnershipFold::is_ready(const core::NodeId& node, core::Partition partition) const {
    const auto known = nodes_.find(node);
    return known != nodes_.end() && known->second.ready.contains(partition);
}

std::string OwnershipFold::name_of(const core::NodeId& node) const {
    const auto known = nodes_.find(node);
    if (known == nodes_.end()) return {};
    return known->second.name.empty() ? node.text : known->second.name;
}

std::vector<ControllerClaim> OwnershipFold::outdated_claims() const {
    std::vector<ControllerClaim> out;
    for (const auto& [epoch, node] : claims_) {
        if (epoch < controller_epoch_) out.push_back({role_, epoch, node, true});
    }
    return out;
}

}  // namespace beckon::cluster
