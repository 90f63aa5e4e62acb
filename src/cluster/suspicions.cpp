#include "cluster/suspicions.hpp"

#include <algorithm>
#include <vector>

namespace beckon::cluster {

namespace {

using Nodes = std::map<core::NodeId, NodeRecord>;

/// The records whose suspicions are in force, by the node that they suspect.
using Accusers = std::map<core::NodeId, std::vector<const NodeRecord*>>;

Accusers accusers_in(const Nodes& nodes) {
    Accusers all;
    for (const auto& [id, record] : nodes) {
        for (const auto& [suspect, incarnation] : record.suspects) {
            if (Suspicions::stands(nodes, record, suspect)) all[suspect].push_back(&record);
        }
    }
    return all;
}

/// A process holds the lock on its data directory, so a later one of the same name proves that the
/// earlier one has ended (or that the directory was copied: then the earlier one objects).
bool is_successor(const NodeRecord& accuser, const NodeRecord& suspect) {
    return !accuser.name.empty() && accuser.name == suspect.name;
}

std::size_t count_witnesses(const Nodes& nodes, const std::set<core::NodeId>& members,
                            const Accusers& accusers) {
    const auto is_witness = [&](const auto& entry) {
        return members.contains(entry.first) && !entry.second.leaving &&
               !accusers.contains(entry.first);
    };
    return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), is_witness));
}

/// Whether enough nodes have found `suspect` dead: its successor, or several nodes, or the only one
/// that can say anything. A node's word of itself does not count.
bool is_found_dead(const NodeRecord& suspect, const std::vector<const NodeRecord*>& accusers,
                   std::size_t witnesses) {
    std::size_t others = 0;
    for (const auto* accuser : accusers) {
        if (accuser->node == suspect.node) continue;
        if (is_successor(*accuser, suspect)) return true;
        ++others;
    }
    return others >= std::clamp<std::size_t>(witnesses, 1, Suspicions::kWitnesses);
}

}  // namespace

bool Suspicions::stands(const Nodes& nodes, const NodeRecord& accuser,
                        const core::NodeId& suspect) {
    const auto accused = accuser.suspects.find(suspect);
    const auto record = nodes.find(suspect);
    return accused != accuser.suspects.end() && record != nodes.end() &&
           record->second.incarnation <= accused->second;
}

Suspicions::Changes Suspicions::judge(const Nodes& nodes, const std::set<core::NodeId>& members,
                                      core::MonoTime now) {
    // Every change of `ownership` ends here, so the cost may not grow faster than the records do.
    const auto accusers = accusers_in(nodes);
    const auto witnesses = accusers.empty() ? 0 : count_witnesses(nodes, members, accusers);
    std::map<core::NodeId, core::MonoTime> since;
    for (const auto& [id, of] : accusers) {
        if (!is_found_dead(nodes.at(id), of, witnesses)) continue;
        const auto before = since_.find(id);
        since.emplace(id, before == since_.end() ? now : before->second);
    }
    since_ = std::move(since);
    Changes changes;
    for (const auto& id : std::set{gone_}) {
        if (since_.contains(id)) continue;
        gone_.erase(id);
        if (nodes.contains(id)) changes.returned.insert(id);
    }
    for (const auto& [id, began] : since_) {
        if (now - began >= kObjection && gone_.insert(id).second) changes.gone.insert(id);
    }
    return changes;
}

void Suspicions::begin_again(core::MonoTime now) {
    for (auto& [id, began] : since_) {
        if (!gone_.contains(id)) began = now;
    }
}

std::optional<core::MonoTime> Suspicions::suspected_since(const core::NodeId& node) const {
    const auto at = since_.find(node);
    if (at == since_.end()) return std::nullopt;
    return at->second;
}

std::optional<core::MonoTime> Suspicions::next() const {
    std::optional<core::MonoTime> first;
    for (const auto& [id, began] : since_) {
        if (gone_.contains(id)) continue;
        if (!first || began + kObjection < *first) first = began + kObjection;
    }
    return first;
}

void CrashLoops::died(const std::string& name, core::MonoTime now) {
    std::erase_if(deaths_,
                  [now](const auto& entry) { return now - entry.second.last >= kForgotten; });
    auto& deaths = deaths_[name];
    ++deaths.count;
    deaths.last = now;
}

core::Duration CrashLoops::pause(const std::string& name, core::MonoTime now) const {
    const auto at = deaths_.find(name);
    if (at == deaths_.end() || now - at->second.last >= kForgotten || at->second.count < 2)
        return {};
    auto pause = kFirst;
    for (int i = 2; i < at->second.count && pause < kMost; ++i) pause *= 2;
    return std::min(pause, kMost);
}

}  // namespace beckon::cluster
