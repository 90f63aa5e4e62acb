#include "retry/tiers/recent_deliveries.hpp"

#include "core/tokens.hpp"

#include <cstring>
#include <string>

namespace beckon::retry {

RecentDeliveries::Key RecentDeliveries::key_of(const Delivery& delivery) {
    const auto hash = core::sha256(delivery.id + '#' + std::to_string(delivery.hop));
    Key key;
    static_assert(sizeof key <= sizeof hash);
    std::memcpy(key.data(), hash.data(), sizeof key);
    return key;
}

bool RecentDeliveries::insert(const Delivery& delivery) {
    if (slots_.empty()) slots_.resize(kSlots);
    const auto key = key_of(delivery);
    if (slots_[find(key)] != 0) return false;
    if (keys_.size() < kRemembered) {
        keys_.push_back(key);
    } else {
        erase(find(keys_[next_]));
        keys_[next_] = key;
    }
    slots_[find(key)] = static_cast<std::uint16_t>(next_ + 1);
    next_ = (next_ + 1) % kRemembered;
    return true;
}

std::size_t RecentDeliveries::find(const Key& key) const {
    auto slot = home_of(key);
    while (slots_[slot] != 0 && key_in(slot) != key) slot = after(slot);
    return slot;
}

/// Keys behind a free slot must still be found, so they move up.
void RecentDeliveries::erase(std::size_t slot) {
    const auto distance = [](std::size_t from, std::size_t to) {
        return (to + kSlots - from) % kSlots;
    };
    for (auto at = after(slot); slots_[at] != 0; at = after(at)) {
        if (distance(home_of(key_in(at)), at) < distance(slot, at)) continue;
        slots_[slot] = slots_[at];
        slot = at;
    }
    slots_[slot] = 0;
}

}  // namespace beckon::retry
