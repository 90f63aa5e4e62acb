#include "store/key_cache.hpp"

#include <utility>

namespace beckon::store {

const KeyRow* KeyCache::find(const core::Uaid& uaid, const core::MessageKey& key) const {
    if (!slots_) return nullptr;
    const Name name{uaid, key};
    const Slot& slot = slots_[slot_of(name)];
    if (slot.batch != 0 && slot.name == name) return &slot.row;
    if (pushed_.empty()) return nullptr;
    const auto it = pushed_.find(name);
    return it == pushed_.end() ? nullptr : &it->second;
}

void KeyCache::store(const core::Uaid& uaid, const core::MessageKey& key, KeyRow row) {
    if (!slots_) slots_ = std::make_unique<Slot[]>(kSlots);
    const Name name{uaid, key};
    Slot& slot = slots_[slot_of(name)];
    if (!pushed_.empty()) pushed_.erase(name);
    if (slot.batch == batch_ && slot.name != name) {
        pushed_.insert_or_assign(slot.name, std::move(slot.row));
    }
    slot.name = name;
    slot.row = std::move(row);
    slot.batch = batch_;
}

void KeyCache::committed() {
    ++batch_;
    pushed_.clear();
}

void KeyCache::clear() {
    slots_.reset();
    pushed_.clear();
    batch_ = 1;
}

}  // namespace beckon::store
