#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// What one owner may hold of a bounded resource, and in which order owners are served
/// (docs/decisions/0210-what-one-owner-does-costs-that-owner.md). Pure; one thread.
namespace beckon::retry {

/// A bounded resource that many owners share: places for attempts, a window's deliveries or bytes,
/// expected answers. An owner may hold a share: a fraction of the free amount, times the free part
/// of the whole. So the share shrinks quickly as the resource fills, and a new owner finds space
/// even where many owners take all that they can get. With an eighth, the first takes a tenth of
/// everything; after 72 owners that came one after the other a tenth is free, and of 300 that came
/// together each holds a third of a percent.
class FairShare {
public:
    explicit FairShare(std::size_t capacity, std::size_t used = 0)
        : capacity_(capacity), used_(used) {}

    void take(std::size_t amount) { used_ += amount; }
    void give_back(std::size_t amount) { used_ -= std::min(amount, used_); }

    std::size_t used() const { return used_; }
    std::size_t free() const { return capacity_ - std::min(used_, capacity_); }

    /// The most that one owner may hold, `fraction` = 8 for an eighth; at least 1 while anything is
    /// free.
    std::size_t share(std::size_t fraction) const {
        if (free() == 0) return 0;
        const auto part = static_cast<double>(free()) / static_cast<double>(capacity_);
        const auto most = static_cast<double>(free()) * part / static_cast<double>(fraction);
        return std::max<std::size_t>(1, static_cast<std::size_t>(most));
    }

private:
    std::size_t capacity_;
    std::size_t used_;
};

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
/// `T` is a RoundRobinPlace.
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

/// Of a budget that bounds what owners hold, and gives nobody turns.
struct NoWork {};

/// The work of owners that wait for one server, the order in which owners are served, and what each
/// of them holds of the server's bounded resources. Owners take turns by deficit round robin over
/// what their work has cost (RoundRobin); of each resource an owner may hold a share of what is
/// free (FairShare). Owners without work and holdings are forgotten, but for kIdleMax, whose
/// deficits count if they come back.
///
/// `Work` is queued in its owner's order; `Resources` is the number of resources.
template <class Work, std::size_t Resources>
class OwnerBudget {
public:
    static constexpr std::size_t kIdleMax = 1'024;

    /// `fraction`: of what is free, for one owner (FairShare::share()).
    struct Resource {
        std::size_t capacity = 0;
        std::size_t fraction = 1;
    };
    struct Owner : RoundRobinPlace {
        std::string name;
        std::deque<Work> works;
        std::array<std::size_t, Resources> holds{};
        bool is_idle() const { return !in_line && works.empty() && holds == decltype(holds){}; }
    };

    explicit OwnerBudget(const std::array<Resource, Resources>& resources)
        : OwnerBudget(core::Duration{1}, resources) {}
    OwnerBudget(core::Duration quantum, const std::array<Resource, Resources>& resources)
        : quantum_(quantum), line_(quantum) {
        for (const auto& one : resources) resources_.push_back({FairShare{one.capacity}, one});
    }

    /// The reference is good until the owner is idle and another one is asked for.
    Owner& owner(const std::string& name) {
        const auto [at, is_new] = owners_.try_emplace(name);
        auto& found = at->second;
        if (!is_new) return found;
        found.name = name;
        found.credit = quantum_;
        if (owners_.size() < sweep_at_) return found;
        std::erase_if(owners_, [&](const auto& one) {
            return &one.second != &found && one.second.is_idle();
        });
        sweep_at_ = std::max(kIdleMax, 2 * owners_.size());
        return found;
    }
    std::size_t owners() const { return owners_.size(); }

    // What is held.
    void hold(const std::string& name, std::size_t resource, std::size_t amount) {
        owner(name).holds[resource] += amount;
        resources_[resource].first.take(amount);
    }
    void give_back(const std::string& name, std::size_t resource, std::size_t amount) {
        const auto at = owners_.find(name);
        if (at == owners_.end()) return;
        at->second.holds[resource] -= amount;
        resources_[resource].first.give_back(amount);
        if (std::is_same_v<Work, NoWork> && at->second.is_idle()) owners_.erase(at);
    }
    std::size_t holds(std::string_view name, std::size_t resource) const {
        const auto found = owners_.find(name);
        return found == owners_.end() ? 0 : found->second.holds[resource];
    }
    std::size_t free(std::size_t resource) const { return resources_[resource].first.free(); }
    std::size_t used(std::size_t resource) const { return resources_[resource].first.used(); }
    std::size_t share(std::size_t resource) const {
        return resources_[resource].first.share(resources_[resource].second.fraction);
    }
    /// Whether the owner may hold more.
    bool has_share(std::string_view name, std::size_t resource) const {
        return holds(name, resource) < share(resource);
    }

    // Whose turn it is.
    void add(const std::string& name, Work work) {
        auto& one = owner(name);
        one.works.push_back(std::move(work));
        line_.enter(one);
    }
    bool has_work() const { return !line_.empty(); }
    /// The next owner with work that has its share of no resource `of`; null: none may act now.
    template <class... Of>
    Owner* next(Of... of) {
        return line_.next([&](const Owner& one) {
            using Turn = typename RoundRobin<Owner>::Turn;
            if (one.works.empty()) return Turn::leave;
            return (... && (one.holds[of] < share(of))) ? Turn::take : Turn::wait;
        });
    }
    /// Takes the first work of the owner whose turn it is, which costs so much.
    Work take(Owner& of, core::Duration cost) {
        auto work = std::move(of.works.front());
        of.works.pop_front();
        pay(of, cost);
        return work;
    }
    /// The owner of the last turn pays for it. One without work pays at once for its next turns.
    void pay(Owner& of, core::Duration cost) {
        of.credit -= cost;
        if (of.works.empty()) line_.rest(of);
    }

    /// Nobody has work any more.
    std::deque<Work> take_all() {
        std::deque<Work> all;
        for (auto& [name, one] : owners_) {
            std::move(one.works.begin(), one.works.end(), std::back_inserter(all));
            one.works.clear();
        }
        return all;
    }

private:
    const core::Duration quantum_;
    std::map<std::string, Owner, std::less<>> owners_;
    RoundRobin<Owner> line_;
    std::vector<std::pair<FairShare, Resource>> resources_;
    std::size_t sweep_at_ = kIdleMax;
};

}  // namespace beckon::retry
