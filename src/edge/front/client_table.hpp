#pragma once

#include "core/assert.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beckon::edge {

struct Client;

/// A front's clients by session number: an index into a table plus a generation, so that finding
/// one reads two words, and no number is used twice. One thread.
class ClientTable {
public:
    std::uint64_t add(Client& client) {
        if (free_.empty()) {
            BECKON_ASSERT(slots_.size() <= kIndexMask, "more clients than the table names");
            free_.push_back(static_cast<std::uint32_t>(slots_.size()));
            slots_.emplace_back();
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        slots_[index].client = &client;
        return slots_[index].generation << kIndexBits | index;
    }
    /// Null: that session is over.
    Client* find(std::uint64_t number) const {
        const auto index = static_cast<std::size_t>(number & kIndexMask);
        if (index >= slots_.size()) return nullptr;
        const Slot& slot = slots_[index];
        return slot.generation == number >> kIndexBits ? slot.client : nullptr;
    }
    void remove(std::uint64_t number) {
        if (!find(number)) return;
        const auto index = static_cast<std::uint32_t>(number & kIndexMask);
        slots_[index].client = nullptr;
        ++slots_[index].generation;
        free_.push_back(index);
    }
    /// Gives a client another number: messages to the old one find no client.
    std::uint64_t renumber(std::uint64_t number) {
        BECKON_ASSERT(find(number), "only a client in the table gets another number");
        const auto index = number & kIndexMask;
        return ++slots_[static_cast<std::size_t>(index)].generation << kIndexBits | index;
    }

    std::size_t size() const { return slots_.size() - free_.size(); }
    /// The first client at or after `index` in the table, which moves behind it; null at the end.
    Client* next(std::size_t& index) const {
        while (index < slots_.size()) {
            if (Client* client = slots_[index++].client) return client;
        }
        return nullptr;
    }

private:
    /// 16 million clients a front, 1.1e12 sessions a place.
    static constexpr unsigned kIndexBits = 24;
    static constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;

    struct Slot {
        std::uint64_t generation = 1;
        Client* client = nullptr;
    };
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
};

}  // namespace beckon::edge
