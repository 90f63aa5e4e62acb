#pragma once

#include "records/delivery.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
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
    bool insert(const Delivery& delivery);

private:
    using Key = std::array<std::uint64_t, 2>;  ///< of a hash: id and hop
    static Key key_of(const Delivery& delivery);

    static constexpr std::size_t kSlots = 2 * kRemembered;
    static std::size_t after(std::size_t slot) { return (slot + 1) % kSlots; }
    static std::size_t home_of(const Key& key) { return key[0] % kSlots; }
    const Key& key_in(std::size_t slot) const { return keys_[slots_[slot] - std::size_t{1}]; }
    /// Where the key is, or the free slot where it would be.
    std::size_t find(const Key& key) const;
    void erase(std::size_t slot);

    std::vector<Key> keys_;             ///< a ring once it is full
    std::size_t next_ = 0;              ///< of keys_, overwritten next
    std::vector<std::uint16_t> slots_;  ///< index in keys_ + 1 by hash, linear probing; 0: free
};

}  // namespace beckon::retry
