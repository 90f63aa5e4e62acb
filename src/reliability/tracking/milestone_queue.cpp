#include "reliability/tracking/milestone_queue.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace beckon::reliability {

MilestoneQueue::MilestoneQueue(Options options, const core::Clock& clock,
                               std::function<void()> woken)
    : options_(std::move(options)), clock_(clock), woken_(std::move(woken)) {}

void MilestoneQueue::reached(std::string_view id, Timestamp expires, Milestone milestone) noexcept {
    reached(id, expires, milestone, clock_.wall());
}

void MilestoneQueue::reached(std::string_view id, Timestamp expires, Milestone milestone,
                             Timestamp at) noexcept {
    try {
        if (!core::is_reliability_id(id) || !add(id, expires, {milestone, at})) {
            ++dropped_;
            return;
        }
        ++recorded_;
        wake();
    } catch (const std::exception&) {  // no memory: the message goes on without
        ++dropped_;
    }
}

bool MilestoneQueue::add(std::string_view id, Timestamp expires, const Reached& reached) {
    auto& part = part_of(id);
    const std::scoped_lock lock{part.mutex};
    auto found = part.messages.find(id);
    if (found == part.messages.end()) {
        if (part.messages.size() >= options_.messages_max / kParts) return false;
        found = part.messages.emplace(std::string{id}, Waiting{}).first;
        found->second.reached.reserve(4);
    }
    auto& waiting = found->second;
    waiting.expires = std::max(waiting.expires, expires);
    const bool known =
        std::any_of(waiting.reached.begin(), waiting.reached.end(),
                    [&](const Reached& before) { return before.milestone == reached.milestone; });
    if (!known) waiting.reached.push_back(reached);
    return true;
}

void MilestoneQueue::wake() {
    if (!awake_.exchange(true)) woken_();
}

std::vector<MilestonesReached> MilestoneQueue::take(std::size_t max) {
    std::vector<MilestonesReached> taken;
    awake_ = false;  // before looking: what comes from now on wakes
    for (auto& part : parts_) {
        const std::scoped_lock lock{part.mutex};
        while (!part.messages.empty() && taken.size() < max) {
            auto node = part.messages.extract(part.messages.begin());
            taken.push_back({.id = std::move(node.key()),
                             .expires = node.mapped().expires,
                             .source = options_.source,
                             .reached = std::move(node.mapped().reached)});
        }
    }
    return taken;
}

void MilestoneQueue::put_back(const MilestonesReached& event) noexcept {
    try {
        for (const auto& reached : event.reached) {
            if (!add(event.id, event.expires, reached)) ++dropped_;
        }
    } catch (const std::exception&) {
        dropped_ += event.reached.size();
    }
}

std::size_t MilestoneQueue::size() const {
    std::size_t size = 0;
    for (const auto& part : parts_) {
        const std::scoped_lock lock{part.mutex};
        size += part.messages.size();
    }
    return size;
}

}  // namespace beckon::reliability
