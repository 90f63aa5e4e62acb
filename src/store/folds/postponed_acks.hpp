#pragma once

#include "core/clock.hpp"
#include "store/folds/key_name.hpp"
#include "store/types.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace beckon::store {

/// Acknowledged messages whose changes commits leave out
/// (docs/decisions/0201-an-ack-is-committed-with-its-tombstone.md): an overlay of the tables, which
/// know nothing of it and have each of these messages as still pending. Reads look here first. One
/// thread.
class PostponedAcks {
public:
    struct Ack {
        PendingTombstone pending;
        core::Timestamp expiry{};
        bool seen = false;  ///< it was here at the last due()
    };

    void add(const PendingTombstone& pending, core::Timestamp expiry);
    /// Removes it, so that its changes are made in the tables; nullopt: it is not here.
    std::optional<Ack> take(const KeyName& name);

    /// nullptr: it is not here.
    const Ack* find(const KeyName& name) const;
    /// The message that was put at `offset` is here.
    bool contains(core::Offset offset) const { return acks_.contains(offset); }
    /// Adds those behind `after` to pending tombstones of a table, `max` in all, in their order.
    void merge_into(std::vector<PendingTombstone>& found,
                    const std::optional<PendingTombstone>& after, std::size_t max) const;

    /// All, or those that the last call has seen.
    std::vector<KeyName> due(bool all);
    std::size_t size() const { return acks_.size(); }
    void clear();

private:
    using Acks = std::map<core::Offset, Ack>;
    Acks acks_;  ///< by the offset of the put
    std::unordered_map<KeyName, Acks::iterator, KeyHash> by_name_;
};

}  // namespace beckon::store
