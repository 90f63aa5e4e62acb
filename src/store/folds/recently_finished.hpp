#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <array>
#include <memory>

namespace beckon::store {

/// The last few thousand finished messages of a partition, in memory: a producer's duplicate of
/// such a put must not be pending again (docs/design.md#a-key-is-published-once). Older ones are
/// forgotten one by one as newer ones take their places. One thread.
class RecentlyFinished {
public:
    struct Entry {
        core::MessageKey key;
        core::Offset put_offset = -1;
        core::Timestamp when{};  ///< log time
    };

    void remember(const core::MessageKey& key, core::Offset put_offset, core::Timestamp when) {
        if (!places_) places_ = std::make_unique<std::array<Entry, kPlaces>>();
        (*places_)[place_of(key)] = {key, put_offset, when};
    }
    /// nullptr: never finished, or forgotten.
    const Entry* find(const core::MessageKey& key) const {
        if (!places_) return nullptr;
        const Entry& entry = (*places_)[place_of(key)];
        return entry.put_offset >= 0 && entry.key == key ? &entry : nullptr;
    }
    void clear() { places_.reset(); }

private:
    static constexpr std::size_t kPlaces = 4096;  ///< 128 KB
    static std::size_t place_of(const core::MessageKey& key) {
        return (std::hash<core::MessageKey>{}(key)*0x9e3779b97f4a7c15ULL) >> 52;
    }

    std::unique_ptr<std::array<Entry, kPlaces>> places_;  ///< made when first needed
};

}  // namespace beckon::store
