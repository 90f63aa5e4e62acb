#include "retry/tiers/recent_deliveries.hpp"

#include "core/tokens.hpp"

#include <algorithm>
#include <string>

namespace beckon::retry {

RecentDeliveries::Key RecentDeliveries::key_of(const Delivery& delivery) {
    const auto hash = core::sha256(delivery.id + '#' + std::to_string(delivery.hop));
    Key key;
    std::copy_n(hash.begin(), key.bytes.size(), key.bytes.begin());
    return key;
}

bool RecentDeliveries::insert(const Delivery& delivery) {
    const auto key = key_of(delivery);
    if (!known_.insert(key).second) return false;
    order_.push_back(key);
    if (order_.size() > kRemembered) {
        known_.erase(order_.front());
        order_.pop_front();
    }
    return true;
}

}  // namespace beckon::retry
