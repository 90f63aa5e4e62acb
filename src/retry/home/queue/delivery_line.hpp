#pragma once

#include "core/clock.hpp"
#include "retry/owner_budget.hpp"

#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace beckon::retry {

/// The places in the lines of all ordered webhooks, of which an owner may hold a share. One thread.
struct LinePlaces : OwnerBudget<NoWork, 1> {
    static constexpr std::size_t kPlacesMax = 200'000;  ///< some 200 bytes each
    explicit LinePlaces(std::size_t capacity = kPlacesMax)
        : OwnerBudget<NoWork, 1>{{{{capacity, 2}}}} {}
};

/// The deliveries of an ordered webhook, in their order, each found by its id. One thread.
class DeliveryLine {
public:
    static constexpr std::size_t kDeliveriesMax = 10'000;
    /// So many have a place whatever the owner holds besides.
    static constexpr std::size_t kAlways = 16;

    struct Place {
        std::string delivery;
        /// When its tier hands it back. nullopt: it is here.
        std::optional<core::MonoTime> due{};
    };

    /// `places` outlives it.
    DeliveryLine(LinePlaces& places, std::string owner)
        : places_(places), owner_(std::move(owner)) {}
    ~DeliveryLine() { clear(); }
    DeliveryLine(const DeliveryLine&) = delete;
    DeliveryLine& operator=(const DeliveryLine&) = delete;

    bool empty() const { return line_.empty(); }
    std::size_t size() const { return line_.size(); }
    bool has_capacity() const {
        return line_.size() < kAlways ||
               (line_.size() < kDeliveriesMax && places_.has_share(owner_, 0));
    }
    const Place& front() const { return line_.front(); }
    void pop_front() { erase(front().delivery); }
    /// nullptr: it is not in the line.
    Place* find(std::string_view delivery) {
        const auto found = by_delivery_.find(delivery);
        return found == by_delivery_.end() ? nullptr : &*found->second;
    }
    /// One that is not in the line.
    Place& push_back(const std::string& delivery) {
        places_.hold(owner_, 0, 1);
        auto& place = line_.emplace_back(Place{.delivery = delivery});
        by_delivery_.emplace(delivery, std::prev(line_.end()));
        return place;
    }
    void erase(std::string_view delivery) {
        const auto found = by_delivery_.find(delivery);
        if (found == by_delivery_.end()) return;
        line_.erase(found->second);
        by_delivery_.erase(found);
        places_.give_back(owner_, 0, 1);
    }
    void clear() {
        places_.give_back(owner_, 0, line_.size());
        line_.clear();
        by_delivery_.clear();
    }

private:
    LinePlaces& places_;
    const std::string owner_;
    std::list<Place> line_;
    std::map<std::string, std::list<Place>::iterator, std::less<>> by_delivery_;
};

}  // namespace beckon::retry
