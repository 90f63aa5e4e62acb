#pragma once

#include "core/ids.hpp"
#include "retry/tiers/delivery.hpp"

#include <cstddef>
#include <deque>
#include <unordered_set>

namespace beckon::retry {

/// Recognises the copies of a delivery that a crash or an unknown outcome has left in one tier.
/// They were written within the time that a take-over needs, so remembering the last few thousand
/// is enough. Bounded; one thread.
class RecentDeliveries {
public:
    static constexpr std::size_t kRemembered = 8'192;

    /// False if this hop of this delivery was read before.
    bool insert(const Delivery& delivery);

private:
    using Key = core::Id16<struct DeliveryHopTag>;  ///< of a hash: id and hop
    static Key key_of(const Delivery& delivery);

    std::unordered_set<Key> known_;
    std::deque<Key> order_;
};

}  // namespace beckon::retry
