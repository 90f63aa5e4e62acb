#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace beckon::core {

/// Counts how much each of many holds of a bounded memory, and finds the one that holds most: when
/// the memory is full, something of that one is dropped, so nobody evicts what one with less holds.
/// A share (OwnerBudget) would refuse the newest, which of such entries is the one to keep. Pure;
/// one thread.
template <class Name>
class LargestHolder {
public:
    void add(const Name& name, std::size_t amount = 1) { set(name, of(name) + amount); }
    void remove(const Name& name, std::size_t amount = 1) { set(name, of(name) - amount); }
    std::size_t total() const { return total_; }
    /// One of those with the most. Requires that total() is not 0.
    const Name& largest() const { return by_amount_.rbegin()->second; }

private:
    std::size_t of(const Name& name) const {
        const auto at = amounts_.find(name);
        return at == amounts_.end() ? 0 : at->second;
    }
    void set(const Name& name, std::size_t amount) {
        auto& held = amounts_[name];
        by_amount_.erase({held, name});
        total_ = total_ - held + amount;
        held = amount;
        if (amount > 0) {
            by_amount_.emplace(amount, name);
        } else {
            amounts_.erase(name);
        }
    }

    std::map<Name, std::size_t> amounts_;
    std::set<std::pair<std::size_t, Name>> by_amount_;
    std::size_t total_ = 0;
};

}  // namespace beckon::core
