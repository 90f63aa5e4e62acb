#pragma once

#include "retry/schedule/fair_share.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace beckon::retry {

/// A FairShare with what each owner holds of it. Owners that hold nothing are not remembered. Pure;
/// one thread.
class OwnerShares {
public:
    explicit OwnerShares(std::size_t capacity) : whole_(capacity) {}

    void take(const std::string& owner, std::size_t amount) {
        if (amount == 0) return;
        held_[owner] += amount;
        whole_.take(amount);
    }
    /// The owner holds so much.
    void give_back(std::string_view owner, std::size_t amount) {
        if (amount == 0) return;
        whole_.give_back(amount);
        const auto held = held_.find(owner);
        held->second -= amount;
        if (held->second == 0) held_.erase(held);
    }

    std::size_t held_by(std::string_view owner) const {
        const auto held = held_.find(owner);
        return held == held_.end() ? 0 : held->second;
    }
    std::size_t used() const { return whole_.used(); }
    std::size_t free() const { return whole_.free(); }
    /// As FairShare has it.
    std::size_t share(std::size_t fraction) const { return whole_.share(fraction); }

private:
    FairShare whole_;
    std::map<std::string, std::size_t, std::less<>> held_;
};

}  // namespace beckon::retry
