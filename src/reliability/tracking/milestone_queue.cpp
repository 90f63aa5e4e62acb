#include "reliability/tracking/milestone_queue.hpp"

#include <algorithm>
#include <exception>
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
    record(id, expires, {milestone, at}, nullptr);
}

void MilestoneQueue::reached_then(std::string_view id, Timestamp expires, Milestone milestone,
                                  Done done) noexcept {
    if (!record(id, expires, {milestone, clock_.wall()}, &done)) done();
}

bool MilestoneQueue::record(std::string_view id, Timestamp expires, const Reached& reached,
                            Done* done) noexcept {
    try {
        if (core::is_reliability_id(id) && add(id, expires, reached, done)) {
            ++recorded_;
            wake();
            return true;
        }
    } catch (const std::exception&) {  // no memory: the message goes on without
    }
    ++dropped_;
    return false;
}

bool MilestoneQueue::add(std::string_view id, Timestamp expires, const Reached& reached,
                         Done* done) {
    auto& part = part_of(id);
    const std::scoped_lock lock{part.mutex};
    auto found = part.messages.find(id);
    if (found == part.messages.end()) {
        if (part.messages.size() >= options_.messages_max / kParts) return false;
        found = part.messages.emplace(std::string{id}, Waiting{}).first;
        found->second.reached.reserve(4);
        if (++waiting_ == kFullBatch) batch_is_full_ = true;
    }
    auto& waiting = found->second;
    waiting.expires = std::max(waiting.expires, expires);
    const bool known =
        std::any_of(waiting.reached.begin(), waiting.reached.end(),
                    [&](const Reached& before) { return before.milestone == reached.milestone; });
    if (!known) waiting.reached.push_back(reached);
    if (done) waiting.done.push_back(std::move(*done));
    return true;
}

void MilestoneQueue::wake() {
    if (batch_is_full_.exchange(false) || !awake_.exchange(true)) woken_();
}

std::vector<MilestoneQueue::Taken> MilestoneQueue::take(std::size_t max) {
    std::vector<Taken> taken;
    awake_ = false;  // before the queue is read: later milestones wake again
    for (auto& part : parts_) {
        const std::scoped_lock lock{part.mutex};
        while (!part.messages.empty() && taken.size() < max) {
            auto node = part.messages.extract(part.messages.begin());
            --waiting_;
            auto& waiting = node.mapped();
            taken.push_back({.event = {.id = std::move(node.key()),
                                       .expires = waiting.expires,
                                       .source = options_.source,
                                       .reached = std::move(waiting.reached)},
                             .done = std::move(waiting.done)});
        }
    }
    return taken;
}

void MilestoneQueue::requeue(const MilestonesReached& event) noexcept {
    try {
        for (const auto& reached : event.reached) {
            if (!add(event.id, event.expires, reached, nullptr)) ++dropped_;
        }
    } catch (const std::exception&) {
        dropped_ += event.reached.size();
    }
}

std::size_t MilestoneQueue::size() const { return waiting_; }

}  // namespace beckon::reliability
