#include "console/cluster/ownership_view.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace beckon::console {

namespace {

constexpr std::size_t kTakeMax = 1'000;
constexpr std::chrono::seconds kAskAgain{1};
constexpr log::TopicPartition kOwnership{log::Topic::kOwnership, 0};
constexpr std::array<const char*, 3> kRoles{"edge", "reliability", "retry"};

std::vector<std::string> texts(const std::vector<core::NodeId>& nodes) {
    std::vector<std::string> out;
    for (const auto& node : nodes) out.push_back(node.text);
    return out;
}

/// Before the first node has said what it is ready for, nothing is known to move.
bool anybody_tells(const cluster::OwnershipFold& fold) {
    return std::any_of(fold.nodes().begin(), fold.nodes().end(),
                       [](const auto& item) { return !item.second.ready.empty(); });
}

PlacedPartition placed(const cluster::OwnershipFold& fold, core::Partition partition) {
    PlacedPartition out{.partition = partition, .lease_epoch = fold.highest_epoch(partition)};
    for (const auto& [node, record] : fold.nodes()) {
        if (fold.is_ready(node, partition)) out.ready.push_back(node.text);
    }
    if (const auto placement = fold.placement(partition)) {
        out.home = placement->home.text;
        out.standbys = texts(placement->standbys);
        out.moving = anybody_tells(fold) && !fold.is_ready(placement->home, partition);
    }
    return out;
}

std::vector<ClusterNode> nodes_of(const cluster::OwnershipFold& fold) {
    std::vector<ClusterNode> out;
    for (const auto& [node, record] : fold.nodes()) {
        ClusterNode one{.id = node.text, .link = record.link_url};
        for (const auto& [partition, placement] : fold.placed()) {
            if (placement.home == node) ++one.homes;
            if (cluster::contains(placement.standbys, node)) ++one.standbys;
        }
        one.controller = fold.controller() == node;
        out.push_back(std::move(one));
    }
    return out;
}

}  // namespace

OwnershipView::OwnershipView(core::Partition partitions, log::EventLog& log,
                             core::Executor& executor)
    : partitions_(partitions), executor_(executor), lifetime_(executor) {
    for (const auto* role : kRoles) folds_.emplace(role, cluster::OwnershipFold{role, partitions});
    reader_ = log.open_reader(kOwnership, 0, executor, [this] { read(); });
}

void OwnershipView::read() {
    const std::scoped_lock lock{mutex_};
    const auto taken = reader_->take(kTakeMax, [this](const core::RecordView& record) {
        for (auto& [role, fold] : folds_) fold.apply(record);
    });
    if (taken && taken->drained) {
        complete_ = true;
        return;
    }
    // More is there at once; after a failure the log announces it, and this asks in any case.
    executor_.post_after(taken ? core::Duration{} : core::Duration{kAskAgain},
                         lifetime_.guard([this] { read(); }));
}

std::vector<ClusterRole> OwnershipView::roles() const {
    const std::scoped_lock lock{mutex_};
    std::vector<ClusterRole> out;
    for (const auto& [name, fold] : folds_) {
        if (fold.nodes().empty() && fold.placed().empty()) continue;
        ClusterRole role{.name = name, .controller_epoch = fold.controller_epoch()};
        role.nodes = nodes_of(fold);
        for (core::Partition p = 0; p < partitions_; ++p) {
            role.partitions.push_back(placed(fold, p));
        }
        out.push_back(std::move(role));
    }
    return out;
}

std::string OwnershipView::home_of(const std::string& role, core::Partition partition) const {
    const std::scoped_lock lock{mutex_};
    const auto fold = folds_.find(role);
    if (fold == folds_.end()) return {};
    const auto placement = fold->second.placement(partition);
    return placement ? placement->home.text : std::string{};
}

bool OwnershipView::complete() const {
    const std::scoped_lock lock{mutex_};
    return complete_;
}

}  // namespace beckon::console
