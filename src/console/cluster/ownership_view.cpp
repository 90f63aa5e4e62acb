#include "console/cluster/ownership_view.hpp"

#include <array>
#include <utility>

namespace beckon::console {

namespace {

constexpr std::size_t kTakeMax = 1'000;
constexpr std::chrono::seconds kAskAgain{1};
constexpr log::TopicPartition kOwnership{log::Topic::kOwnership, 0};
constexpr std::array<const char*, 3> kRoles{"edge", "reliability", "retry"};

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

std::vector<cluster::RoleOverview> OwnershipView::roles() const {
    const std::scoped_lock lock{mutex_};
    std::vector<cluster::RoleOverview> out;
    for (const auto& [name, fold] : folds_) {
        auto role = overview_of(fold);
        if (!role.partitions.empty()) out.push_back(std::move(role));
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
