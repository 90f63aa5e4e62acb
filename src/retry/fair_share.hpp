#pragma once

#include <algorithm>
#include <cstddef>

namespace beckon::retry {

/// A bounded resource that many owners share: places for attempts, a window's deliveries or bytes,
/// expected answers. It computes the share that one owner may hold at present: a fraction of the
/// free amount, times the free part of the whole. So the share shrinks quickly as the resource
/// fills, and a new owner finds space even where many owners take all that they can get. With an
/// eighth, the first takes a tenth of everything; after 72 owners that came one after the other a
/// tenth is free, and of 300 that came together each holds a third of a percent
/// (docs/decisions/0210-what-one-owner-does-costs-that-owner.md). Pure; one thread.
class FairShare {
public:
    explicit FairShare(std::size_t capacity) : capacity_(capacity) {}

    void take(std::size_t amount) { used_ += amount; }
    void give_back(std::size_t amount) { used_ -= std::min(amount, used_); }

    std::size_t used() const { return used_; }
    std::size_t free() const { return capacity_ - std::min(used_, capacity_); }

    /// The most that one holder may hold, `fraction` = 8 for an eighth; at least 1 while anything
    /// is free.
    std::size_t share(std::size_t fraction) const {
        if (free() == 0) return 0;
        const auto part = static_cast<double>(free()) / static_cast<double>(capacity_);
        const auto most = static_cast<double>(free()) * part / static_cast<double>(fraction);
        return std::max<std::size_t>(1, static_cast<std::size_t>(most));
    }

private:
    const std::size_t capacity_;
    std::size_t used_ = 0;
};

}  // namespace beckon::retry
