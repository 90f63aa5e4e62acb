#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "store/folds/subscription_fold.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include <rocksdb/db.h>

namespace beckon::store {

/// A message by its client and key.
struct KeyName {
    core::Uaid uaid;
    core::MessageKey key;
    auto operator<=>(const KeyName&) const = default;
};

struct KeyHash {
    std::size_t operator()(const KeyName& name) const noexcept {
        return std::hash<core::MessageKey>{}(name.key) ^ std::hash<core::Uaid>{}(name.uaid);
    }
};

/// A digest of a set of rows that does not depend on the order in which they are added: the sum of
/// the rows' SHA-256.
class Digest {
public:
    /// The parts are kept apart: ("ab", "c") and ("a", "bc") are different rows.
    void add(std::initializer_list<std::string_view> parts);
    /// 64 hex digits; "unreadable" if a row could not be read.
    std::string text() const;
    void spoil() { spoilt_ = true; }

private:
    std::array<std::uint64_t, 4> sum_{};
    bool spoilt_ = false;
};

/// Adds a partition's clients and channels as readers see them: a removed row, or a channel whose
/// client is unknown, counts as absent.
void add_subscriptions(Digest& digest, const SubscriptionTables& tables, core::Partition partition);

}  // namespace beckon::store
