#pragma once

#include "core/clock.hpp"
#include "retry/event/filter/json_tree.hpp"
#include "retry/event/filter/query.hpp"
#include "retry/event/filter/steps.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// Finds the filters of one owner that match an event. It skips filters of other owners, and tries
/// only the filters for the event's type whose required term the event has: the cost of an event
/// follows from its matches, and not from the number of filters. One thread.
class Percolator {
public:
    struct Entry {
        std::string id;
        std::string owner;
        std::vector<std::string> types;  ///< `order.created`, `order.*`; empty: every type
        std::optional<Query> query{};    ///< absent: every event
        bool enabled = true;             ///< a disabled one matches nothing
    };
    struct Match {
        std::vector<std::string> ids;  ///< the matching entries, sorted
        /// The filters without a result, since the steps were exhausted before, sorted.
        std::vector<std::string> too_costly;
        std::size_t evaluated = 0;  ///< filters
        /// The entries left for go_on(), in this order.
        std::vector<std::string> rest{};
    };

    Percolator();
    ~Percolator();

    /// Adds an entry, or replaces the one with its id.
    void put(Entry entry);
    void remove(const std::string& id);
    void enable(const std::string& id, bool enabled);
    std::size_t size() const;
    /// The owners that have an entry, sorted.
    std::vector<std::string> owners() const;

    /// The event's type is its member `type`; `now` is that of date math. The cheapest filters are
    /// evaluated first (Query::cost()), so that a costly one takes no steps from them, and each
    /// takes Steps::kMaxOfFilter at most. Once a `part` of steps is taken, the other filters are
    /// left in `rest`.
    Match match(const JsonTree& event, std::string_view owner, core::Timestamp now, Steps& steps,
                std::size_t part = kAll) const;
    /// Goes on with the rest of a match. It skips entries that were removed meanwhile, and
    /// evaluates changed ones in their present form.
    Match go_on(const std::vector<std::string>& rest, const JsonTree& event, core::Timestamp now,
                Steps& steps, std::size_t part = kAll) const;
    static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

    /// The bytes of an entry in memory, its share of the index included.
    static std::size_t bytes_of(const Entry& entry);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
