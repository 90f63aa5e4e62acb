#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beckon::store {

/// Changed rows that let a commit be due: enough for a batch to be cheap, little to fold again.
inline constexpr std::size_t kCommitRows = 10'000;

/// The entries of a map in the order of their names.
template <class Map>
std::vector<const typename Map::value_type*> sorted_by_name(const Map& map) {
    std::vector<const typename Map::value_type*> entries;
    entries.reserve(map.size());
    for (const auto& entry : map) entries.push_back(&entry);
    std::sort(entries.begin(), entries.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
    return entries;
}

/// The rows of one table that changed since the last commit: what reads must see before RocksDB
/// does, and what the next commit writes.
///
/// A row that comes and goes between two commits leaves nothing to write. That is the life of most
/// messages, and it is what makes them cheap: a row in RocksDB costs several microseconds to put
/// and as many to delete. For the same reason a change may be postponed: reads see it, and commits
/// leave it out until resume().
template <class Name, class Row, class Hash = std::hash<Name>>
class RowChanges {
public:
    struct Change {
        std::optional<Row> row;  ///< nullopt: deleted
        bool in_table = false;   ///< the table may hold a row of that name
    };

    /// nullptr: unchanged, the table decides.
    const Change* find(const Name& name) const {
        if (const auto it = changes_.find(name); it != changes_.end()) return &it->second;
        const auto it = postponed_.find(name);
        return it == postponed_.end() ? nullptr : &it->second;
    }

    /// `in_table`: whether the table may hold a row of that name, as a look there has shown.
    void put(const Name& name, Row row, bool in_table) {
        const auto [it, added] = changes_.try_emplace(name);
        if (added) it->second.in_table = in_table;
        it->second.row = std::move(row);
    }

    void erase(const Name& name) {
        const auto [it, added] = changes_.try_emplace(name);
        if (added) it->second.in_table = true;  // nobody looked
        if (it->second.in_table) {
            it->second.row.reset();
        } else {
            changes_.erase(it);
        }
    }

    /// For a row that stands unchanged in the table. Before any other change of it: resume().
    void postpone(const Name& name, Row row) {
        postponed_.insert_or_assign(name, Change{.row = std::move(row), .in_table = true});
    }
    void resume(const Name& name) { changes_.insert(postponed_.extract(name)); }

    /// A write failed: nobody knows what of it is in the table.
    void write_failed() {
        for (auto& [name, change] : changes_) change.in_table = true;
    }

    /// As a batch wants them: RocksDB finds the place of a row in a few steps where it follows the
    /// place of the one before.
    std::vector<const std::pair<const Name, Change>*> in_order() const {
        return sorted_by_name(changes_);
    }
    /// Without those that are postponed.
    std::size_t size() const { return changes_.size(); }
    void committed() { changes_.clear(); }
    void reset() {
        changes_.clear();
        postponed_.clear();
    }

private:
    std::unordered_map<Name, Change, Hash> changes_;
    std::unordered_map<Name, Change, Hash> postponed_;
};

}  // namespace beckon::store
