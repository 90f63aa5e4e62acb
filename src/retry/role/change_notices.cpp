#include "retry/role/change_notices.hpp"

#include <algorithm>
#include <utility>

namespace beckon::retry {

ChangeNotices::ChangeNotices(core::Partition partitions, core::NodeId node,
                             log::Publisher& publisher, core::Executor& executor)
    : partitions_(partitions),
      node_(std::move(node)),
      publisher_(publisher),
      executor_(executor),
      lifetime_(executor) {}

void ChangeNotices::announce(core::Partition partition, core::Offset offset, Answer answer) {
    auto& below = collecting_.changed.below[partition];
    below = std::max(below, offset + 1);
    collecting_.answers.push_back(std::move(answer));
    begin();
}

void ChangeNotices::begin() {
    if (under_way_ || pausing_ || collecting_.answers.empty()) return;
    executor_.post_after(kPerRecord * partitions_, lifetime_.guard([this] {
        pausing_ = false;
        begin();
    }));
    under_way_ = true;
    pausing_ = true;
    const auto round = std::make_shared<Round>(std::exchange(collecting_, {}));
    round->left = static_cast<std::size_t>(partitions_);
    for (core::Partition p = 0; p < partitions_; ++p) {
        publisher_.publish(
            {log::Topic::kEvents, p}, encode(round->changed, node_.text),
            lifetime_.guard([this, round](const auto& report) { reported(round, report); }));
    }
}

void ChangeNotices::reported(const std::shared_ptr<Round>& round,
                             const core::Result<log::Appended>& report) {
    if (!report && round->outcome) round->outcome = core::fail(report.error());
    if (--round->left > 0) return;
    under_way_ = false;
    begin();
    for (const auto& answer : round->answers) answer(round->outcome);
}

}  // namespace beckon::retry
