#include "edge/front/client_table.hpp"

#include "core/assert.hpp"

namespace beckon::edge {

namespace {
constexpr std::uint64_t index_mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
}  // namespace

std::uint64_t ClientTable::add(Client& client) {
    if (free_.empty()) {
        BECKON_ASSERT(slots_.size() <= index_mask(kIndexBits), "more clients than the table names");
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    slots_[index].client = &client;
    return slots_[index].generation << kIndexBits | index;
}

Client* ClientTable::find(std::uint64_t number) const {
    const auto index = static_cast<std::size_t>(number & index_mask(kIndexBits));
    if (index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    return slot.generation == number >> kIndexBits ? slot.client : nullptr;
}

void ClientTable::remove(std::uint64_t number) {
    if (!find(number)) return;
    const auto index = static_cast<std::uint32_t>(number & index_mask(kIndexBits));
    slots_[index].client = nullptr;
    ++slots_[index].generation;
    free_.push_back(index);
}

std::uint64_t ClientTable::renumber(std::uint64_t number) {
    BECKON_ASSERT(find(number), "only a client in the table gets another number");
    const auto index = number & index_mask(kIndexBits);
    return ++slots_[static_cast<std::size_t>(index)].generation << kIndexBits | index;
}

Client* ClientTable::next(std::size_t& index) const {
    while (index < slots_.size()) {
        if (Client* client = slots_[index++].client) return client;
    }
    return nullptr;
}

}  // namespace beckon::edge
