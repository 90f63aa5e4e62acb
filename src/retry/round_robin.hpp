#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

namespace beckon::retry {

/// A participant's place in a RoundRobin, which alone changes it; but for `credit`, from which the
/// participant's use is taken.
struct RoundRobinPlace {
    core::Duration credit{};
    bool in_line = false;
    std::uint64_t round = 0;  ///< up to which it has been given its quantum
};

/// Deficit round robin: each round gives every participant a quantum of credit, a participant pays
/// for its use in its turn, and one in deficit waits for the others. The cost of a turn is known
/// only at its end, so a turn begins with any credit at all and is paid for afterwards (surplus
/// round robin).
///
/// A participant that comes back is given the rounds that it has missed, up to one quantum. With
/// credit it has its turn before the participants that were there, as new flows have in FQ-CoDel
/// (RFC 8290 §4.2): one that needs less than a share waits for one turn of others, however many are
/// in line. It has that once at most for each quantum of the others, so none waits for ever.
///
/// `T` is a RoundRobinPlace. Pure; one thread.
template <class T>
class RoundRobin {
public:
    enum class Turn {
        take,   ///< it can act
        wait,   ///< not at present; it keeps its place
        leave,  ///< it has no work and leaves the line
    };

    explicit RoundRobin(core::Duration quantum) : quantum_(quantum) {}

    void enter(T& one) {
        if (std::exchange(one.in_line, true)) return;
        give(one, round_ - std::min(one.round, round_));
        (one.credit > core::Duration::zero() ? coming_ : line_).push_back(&one);
    }
    /// The participant of the last turn has no more work: if it comes back, it enters anew.
    void rest(T& one) {
        if (line_.empty() || line_.back() != &one) return;
        line_.pop_back();
        one.in_line = false;
    }
    /// Removes a participant, which is given nothing for rounds until it enters again.
    void leave(T& one) {
        if (std::exchange(one.in_line, false)) {
            std::erase(line_, &one);
            std::erase(coming_, &one);
        }
        one.round = std::numeric_limits<std::uint64_t>::max();
    }
    bool empty() const { return line_.empty() && coming_.empty(); }

    /// The participant whose turn it is, of those that answer `take`; null: none can act. It goes
    /// to the end of the line. Takes at most a few rounds, whatever the deficits are.
    template <class Ask>
    T* next(Ask ask) {
        while (true) {
            std::optional<core::Duration> least;  // the least deficit of participants that can act
            if (auto* one = first_with_credit(coming_, ask, least)) return one;
            if (auto* one = first_with_credit(line_, ask, least)) return one;
            if (!least) return nullptr;
            const auto rounds = static_cast<std::uint64_t>(*least / quantum_ + 1);
            round_ += rounds;
            for (auto* one : line_) give(*one, rounds);
        }
    }

private:
    void give(T& one, std::uint64_t rounds) {
        one.round = round_;
        if (rounds == 0) return;
        const auto missing = std::max(quantum_ - one.credit, core::Duration::zero());
        const auto enough = static_cast<std::uint64_t>(missing / quantum_ + 1);
        const auto given = static_cast<core::Duration::rep>(std::min(rounds, enough)) * quantum_;
        one.credit = std::min(one.credit + given, quantum_);
    }
    /// One round of `among`, which goes to the end of the line.
    template <class Ask>
    T* first_with_credit(std::deque<T*>& among, Ask& ask, std::optional<core::Duration>& least) {
        for (auto left = among.size(); left > 0; --left) {
            auto& one = *among.front();
            among.pop_front();
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
        return nullptr;
    }

    const core::Duration quantum_;
    std::uint64_t round_ = 0;
    std::deque<T*> coming_;  ///< have come with credit and had no turn since
    std::deque<T*> line_;
};

}  // namespace beckon::retry
