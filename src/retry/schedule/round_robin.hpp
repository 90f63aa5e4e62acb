#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace beckon::retry {

/// Deficit round robin: each round gives every participant a quantum of credit, a participant pays
/// for its use in its turn, and one in deficit waits for the others. What something costs is known
/// only when it is over, so a turn begins with any credit at all and is paid for afterwards
/// (surplus round robin).
///
/// `T` has `core::Duration credit` and `bool in_line`, which belong to this. Pure; one thread.
template <class T>
class RoundRobin {
public:
    enum class Turn {
        take,   ///< it can do something
        wait,   ///< not at present; it keeps its place
        leave,  ///< it has nothing to do here
    };

    void enter(T& one) {
        if (std::exchange(one.in_line, true)) return;
        line_.push_back(&one);
    }
    /// It is no more among them.
    void leave(T& one) {
        if (std::exchange(one.in_line, false)) std::erase(line_, &one);
    }
    bool empty() const { return line_.empty(); }

    /// Whose turn it is of those who say `take`; null: nobody can do anything. It goes to the end
    /// of the line. At most a few rounds, whatever the deficits are.
    template <class Ask>
    T* next(core::Duration quantum, Ask ask) {
        while (true) {
            std::optional<core::Duration> least;  // deficit of those who can do something
            for (auto left = line_.size(); left > 0; --left) {
                auto& one = *line_.front();
                line_.pop_front();
                const auto turn = ask(one);
                if (turn == Turn::leave) {
                    one.in_line = false;
                    continue;
                }
                line_.push_back(&one);
                if (turn == Turn::wait) continue;
                if (one.credit > core::Duration::zero()) return &one;
                least = std::min(least.value_or(-one.credit), -one.credit);
            }
            if (!least) return nullptr;
            const auto rounds = *least / quantum + 1;
            for (auto* one : line_) one->credit = std::min(one->credit + rounds * quantum, quantum);
        }
    }

private:
    std::deque<T*> line_;
};

}  // namespace beckon::retry
