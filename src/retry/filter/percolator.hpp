#pragma once

#include "retry/filter/query.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::retry {

/// Which of many filters match an event. A filter is looked at only if the event has its type and
/// one of the terms that it requires, so an event costs what it matches and not what there is. One
/// thread.
class Percolator {
public:
    struct Entry {
        std::string id;
        std::vector<std::string> types;  ///< `order.created`, `order.*`; empty: every type
        std::optional<Query> query{};    ///< absent: everything
    };

    Percolator();
    ~Percolator();
    Percolator(const Percolator&) = delete;
    Percolator& operator=(const Percolator&) = delete;

    /// Adds an entry, or puts it in place of the one of that id.
    void put(Entry entry);
    void remove(const std::string& id);
    std::size_t size() const;

    /// The ids of the entries that match, sorted. The event's type is its member `type`.
    std::vector<std::string> match(const nlohmann::json& event) const;
    /// How many filters the last match() has evaluated.
    std::size_t evaluated() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
