#include "console/pages/topic_follower.hpp"

#include <algorithm>
#include <chrono>

namespace beckon::console {

namespace {

constexpr std::size_t kTakeMax = 1'000;
constexpr std::chrono::seconds kAskAgain{1};

}  // namespace

TopicFollower::TopicFollower(const std::vector<log::TopicPartition>& partitions, log::EventLog& log,
                             core::Executor& executor, Apply apply)
    : executor_(executor), apply_(std::move(apply)), lifetime_(executor) {
    inputs_.reserve(partitions.size());  // the readers' callbacks refer to them
    for (const auto where : partitions) {
        auto& input = inputs_.emplace_back(Input{where, nullptr});
        input.reader = log.open_reader(where, 0, executor, [this, &input] { read(input); });
    }
}

void TopicFollower::read(Input& input) {
    const auto taken = input.reader->take(
        kTakeMax, [&](const core::RecordView& record) { apply_(input.where, record); });
    if (taken && taken->drained) {
        input.complete = true;
        return;
    }
    executor_.post_after(taken ? core::Duration{} : core::Duration{kAskAgain},
                         lifetime_.guard([this, &input] { read(input); }));
}

bool TopicFollower::complete() const {
    return std::all_of(inputs_.begin(), inputs_.end(),
                       [](const auto& input) { return input.complete; });
}

}  // namespace beckon::console
