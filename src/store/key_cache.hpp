#pragma once

#include "core/ids.hpp"
#include "store/schema.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

namespace beckon::store {

/// The `keys` rows that were written last, so that a message's way (put, sent, owed, tombstone read
/// back) asks RocksDB only once, at its put. What is here is always the newest row; what the
/// current batch wrote is never evicted, since RocksDB does not have it yet. One thread.
class KeyCache {
public:
    /// nullptr: not here; RocksDB decides.
    const KeyRow* find(const core::Uaid& uaid, const core::MessageKey& key) const;
    void store(const core::Uaid& uaid, const core::MessageKey& key, KeyRow row);
    /// The batch is on disk: its rows may be evicted from here on.
    void committed();
    void clear();

private:
    struct Name {
        core::Uaid uaid;
        core::MessageKey key;
        bool operator==(const Name&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Name& name) const noexcept {
            return std::hash<core::MessageKey>{}(name.key) ^ std::hash<core::Uaid>{}(name.uaid);
        }
    };
    struct Slot {
        Name name;
        KeyRow row;
        std::uint64_t batch = 0;  ///< which wrote it; 0: empty
    };
    /// Enough for what is under way between put and tombstone in one partition; 100 KB.
    static constexpr std::size_t kSlots = 1024;

    static std::size_t slot_of(const Name& name) {
        return (Hash{}(name)*0x9e3779b97f4a7c15ULL) >> 54;
    }

    std::unique_ptr<Slot[]> slots_;                  ///< made at the first store()
    std::unordered_map<Name, KeyRow, Hash> pushed_;  ///< of this batch, pushed out of their slots
    std::uint64_t batch_ = 1;
};

}  // namespace beckon::store
