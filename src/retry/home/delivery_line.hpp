#pragma once

#include "core/clock.hpp"
#include "retry/owner_budget.hpp"

#include <cstddef>
#include <cstdint>
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
    const Place& front() const { return line_.begin()->second; }
    void pop_front() {
        const auto first = line_.begin();
        numbers_.erase(first->second.delivery);
        line_.erase(first);
        places_.give_back(owner_, 0, 1);
    }
    /// nullptr: it is not in the line.
    Place* find(std::string_view delivery) {
        const auto number = numbers_.find(delivery);
        return number == numbers_.end() ? nullptr : &line_.at(number->second);
    }
    /// One that is not in the line.
    Place& push_back(const std::string& delivery) {
        places_.hold(owner_, 0, 1);
        numbers_.emplace(delivery, next_);
        return line_.emplace(next_++, Place{.delivery = delivery}).first->second;
    }
    void erase(std::string_view delivery) {
        const auto number = numbers_.find(delivery);
        if (number == numbers_.end()) return;
        line_.erase(number->second);
        numbers_.erase(number);
        places_.give_back(owner_, 0, 1);
    }
    void clear() {
        places_.give_back(owner_, 0, line_.size());
        line_.clear();
        numbers_.clear();
    }

private:
    LinePlaces& places_;
    const std::string owner_;
    std::uint64_t next_ = 0;
    std::map<std::uint64_t, Place> line_;
    std::map<std::string, std::uint64_t, std::less<>> numbers_;
};

}  // namespace beckon::retry
