#pragma once

#include "reliability/history/history.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace beckon::test {

using core::Milestone;
using core::Timestamp;
using reliability::Reached;

inline Timestamp at_ms(std::int64_t ms) { return Timestamp{std::chrono::milliseconds{ms}}; }

/// Random walks through the diagram. One seed, one sequence.
class RandomLives {
public:
    explicit RandomLives(unsigned seed) : random_(seed) {}

    /// A life from `received` on, up to an end or broken off, milestones in order.
    std::vector<Reached> life(Timestamp start) {
        std::vector<Reached> life{{Milestone::received, start}};
        while (below(12) != 0) {
            const auto next = successors(life.back().milestone);
            if (next.empty()) break;
            start += std::chrono::milliseconds{below(5'000)};
            life.push_back({next[below(next.size())], start});
        }
        return life;
    }
    /// Any milestones at all.
    std::vector<Reached> nonsense(Timestamp start) {
        std::vector<Reached> out(1 + below(8));
        for (auto& reached : out) {
            reached = {core::kAllMilestones[below(core::kMilestones)],
                       start + std::chrono::milliseconds{below(100'000)}};
        }
        return out;
    }
    template <class T>
    void shuffle(std::vector<T>& items) {
        std::shuffle(items.begin(), items.end(), random_);
    }
    std::size_t below(std::size_t end) { return random_() % end; }

private:
    static std::vector<Milestone> successors(Milestone from) {
        std::vector<Milestone> next;
        for (const auto& edge : reliability::kEdges) {
            if (edge.from == from) next.push_back(edge.to);
        }
        if (!is_terminal(from)) next.push_back(Milestone::expired);
        return next;
    }
    std::mt19937_64 random_;
};

}  // namespace beckon::test
