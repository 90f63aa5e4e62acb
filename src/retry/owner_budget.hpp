#pragma once

#include "core/clock.hpp"
#include "retry/fair_share.hpp"
#include "retry/round_robin.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace beckon::retry {

/// Of a budget that bounds what owners hold, and gives nobody turns.
struct NoWork {};

/// The work of owners that wait for one server, the order in which owners are served, and what each
/// of them holds of the server's bounded resources. Owners take turns by deficit round robin over
/// what their work has cost (RoundRobin); of each resource an owner may hold a share of what is
/// free (FairShare). Owners without work and holdings are forgotten, but for kIdleMax, whose
/// deficits count if they come back.
///
/// `Work` is queued in its owner's order; `Resources` is the number of resources. Pure; one thread.
template <class Work, std::size_t Resources>
class OwnerBudget {
public:
    static constexpr std::size_t kIdleMax = 1'024;

    /// `fraction`: of what is free, for one owner (FairShare::share()).
    struct Resource {
        std::size_t capacity = 0;
        std::size_t fraction = 1;
    };
    class Owner : public RoundRobinPlace {
    public:
        const std::string& name() const { return name_; }
        std::size_t holds(std::size_t resource) const { return held_[resource]; }
        std::deque<Work> works;

    private:
        friend class OwnerBudget;
        bool idle() const {
            return !in_line && works.empty() &&
                   std::all_of(held_.begin(), held_.end(), [](auto held) { return held == 0; });
        }
        std::string name_;
        std::array<std::size_t, Resources> held_{};
    };

    explicit OwnerBudget(const std::array<Resource, Resources>& resources)
        : OwnerBudget(core::Duration{1}, resources) {}
    OwnerBudget(core::Duration quantum, const std::array<Resource, Resources>& resources)
        : quantum_(quantum), line_(quantum) {
        for (const auto& one : resources) {
            wholes_.emplace_back(one.capacity);
            fractions_.push_back(one.fraction);
        }
    }

    /// The reference is good until the owner is idle and another one is asked for.
    Owner& owner(const std::string& name) {
        const auto [at, is_new] = owners_.try_emplace(name);
        auto& found = at->second;
        if (!is_new) return found;
        found.name_ = name;
        found.credit = quantum_;
        if (owners_.size() < sweep_at_) return found;
        std::erase_if(owners_,
                      [&](const auto& one) { return &one.second != &found && one.second.idle(); });
        sweep_at_ = std::max(kIdleMax, 2 * owners_.size());
        return found;
    }
    std::size_t owners() const { return owners_.size(); }

    // What is held.
    void hold(Owner& of, std::size_t resource, std::size_t amount) {
        of.held_[resource] += amount;
        wholes_[resource].take(amount);
    }
    void give_back(Owner& of, std::size_t resource, std::size_t amount) {
        of.held_[resource] -= amount;
        wholes_[resource].give_back(amount);
    }
    void hold(const std::string& name, std::size_t resource, std::size_t amount) {
        hold(owner(name), resource, amount);
    }
    void give_back(const std::string& name, std::size_t resource, std::size_t amount) {
        const auto at = owners_.find(name);
        if (at == owners_.end()) return;
        give_back(at->second, resource, amount);
        if (std::is_same_v<Work, NoWork> && at->second.idle()) owners_.erase(at);
    }
    std::size_t holds(std::string_view name, std::size_t resource) const {
        const auto found = owners_.find(name);
        return found == owners_.end() ? 0 : found->second.holds(resource);
    }
    std::size_t free(std::size_t resource) const { return wholes_[resource].free(); }
    std::size_t used(std::size_t resource) const { return wholes_[resource].used(); }
    std::size_t share(std::size_t resource) const {
        return wholes_[resource].share(fractions_[resource]);
    }
    /// Whether an owner that is asked about may hold more; one that is not known holds nothing.
    bool has_share(std::string_view name, std::size_t resource) const {
        const auto found = owners_.find(name);
        return found == owners_.end() ? free(resource) > 0 : has_share(found->second, resource);
    }
    bool has_share(const Owner& of, std::size_t resource) const {
        return of.held_[resource] < share(resource);
    }

    // Whose turn it is.
    void add(const std::string& name, Work work) {
        auto& one = owner(name);
        one.works.push_back(std::move(work));
        line_.enter(one);
    }
    bool has_work() const { return !line_.empty(); }
    /// The next owner with work for which `may_act` holds; null: none may act now.
    template <class MayAct>
    Owner* next(MayAct may_act) {
        return line_.next([&](const Owner& one) {
            using Turn = typename RoundRobin<Owner>::Turn;
            if (one.works.empty()) return Turn::leave;
            return may_act(one) ? Turn::take : Turn::wait;
        });
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
            for (auto& work : one.works) all.push_back(std::move(work));
            one.works.clear();
        }
        return all;
    }

private:
    const core::Duration quantum_;
    std::map<std::string, Owner, std::less<>> owners_;
    RoundRobin<Owner> line_;
    std::deque<FairShare> wholes_;
    std::deque<std::size_t> fractions_;
    std::size_t sweep_at_ = kIdleMax;
};

}  // namespace beckon::retry
