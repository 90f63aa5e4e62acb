#pragma once

#include "core/tokens.hpp"
#include "records/delivery.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace beckon::retry {

/// Recognises the copies of a delivery that a crash or an unknown outcome has left in one tier.
/// They were written within the time that a take-over needs, so remembering the last few thousand
/// is enough. Every partition of every tier has one, so it is small: 16 bytes of a hash for each
/// delivery and a table of 32 KiB, and nothing before the first one. One thread.
class RecentDeliveries {
public:
    static constexpr std::size_t kRemembered = 8'192;

    /// False if this hop of this delivery was read before.
    bool insert(const Delivery& delivery) {
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

private:
    using Key = std::array<std::uint64_t, 2>;  ///< of a hash: id and hop
    static Key key_of(const Delivery& delivery) {
        const auto hash = core::sha256(delivery.id + '#' + std::to_string(delivery.hop));
        Key key;
        static_assert(sizeof key <= sizeof hash);
        std::memcpy(key.data(), hash.data(), sizeof key);
        return key;
    }

    static constexpr std::size_t kSlots = 2 * kRemembered;
    static std::size_t after(std::size_t slot) { return (slot + 1) % kSlots; }
    static std::size_t home_of(const Key& key) { return key[0] % kSlots; }
    const Key& key_in(std::size_t slot) const { return keys_[slots_[slot] - std::size_t{1}]; }
    /// Where the key is, or the free slot where it would be.
    std::size_t find(const Key& key) const {
        auto slot = home_of(key);
        while (slots_[slot] != 0 && key_in(slot) != key) slot = after(slot);
        return slot;
    }
    /// Keys behind a free slot must still be found, so they move up.
    void erase(std::size_t slot) {
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

    std::vector<Key> keys_;             ///< a ring once it is full
    std::size_t next_ = 0;              ///< of keys_, overwritten next
    std::vector<std::uint16_t> slots_;  ///< index in keys_ + 1 by hash, linear probing; 0: free
};

}  // namespace beckon::retry
