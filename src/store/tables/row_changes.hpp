#pragma once

#include "store/database.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

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

/// Adds the rows of one family to a batch.
class BatchRows {
public:
    BatchRows(rocksdb::WriteBatch& batch, const Family& family) : batch_(batch), family_(*family) {}

    /// nullopt: the row is deleted. `append` writes the value.
    template <class Row, class Append>
    void add(std::string_view key, const std::optional<Row>& row, const Append& append) {
        if (!row) {
            batch_.Delete(&family_, slice(key));
            return;
        }
        value_.clear();
        append(value_, *row);
        batch_.Put(&family_, slice(key), slice(value_));
    }

private:
    rocksdb::WriteBatch& batch_;
    rocksdb::ColumnFamilyHandle& family_;
    std::string value_;
};

/// The rows of a sorted table as the changes since the last commit leave them, in the order of
/// their names: `max` at most. `Changes`: a map from names to changes.
template <class Row, class Changes>
class ChangedRows {
public:
    using NameOf = std::function<typename Changes::key_type(const Row&)>;
    /// The row that a change leaves; nullopt: none.
    using RowOf = std::function<std::optional<Row>(const typename Changes::value_type&)>;

    /// `next`: the first change that counts.
    ChangedRows(const Changes& changes, typename Changes::const_iterator next, std::size_t max,
                NameOf name_of, RowOf row_of)
        : changes_(changes),
          next_(next),
          max_(max),
          name_of_(std::move(name_of)),
          row_of_(std::move(row_of)) {}

    /// The next row of the table. False: there are enough.
    bool add(const Row& stored) {
        const auto name = name_of_(stored);
        take_below([&](const auto& changed) { return changed < name; });
        const bool changed = next_ != changes_.end() && next_->first == name;
        if (more() && !changed) rows_.push_back(stored);
        if (more() && changed) take();
        return more();
    }
    /// The table has no more rows.
    std::vector<Row> finish() {
        take_below([](const auto&) { return true; });
        return std::move(rows_);
    }

private:
    bool more() const { return rows_.size() < max_; }
    template <class Is>
    void take_below(const Is& is) {
        while (more() && next_ != changes_.end() && is(next_->first)) take();
    }
    void take() {
        if (auto row = row_of_(*next_++)) rows_.push_back(std::move(*row));
    }

    const Changes& changes_;
    typename Changes::const_iterator next_;
    const std::size_t max_;
    const NameOf name_of_;
    const RowOf row_of_;
    std::vector<Row> rows_;
};

/// The rows of one table that changed since the last commit: reads see them before RocksDB does,
/// and the next commit writes them.
///
/// A row that comes and goes between two commits leaves nothing to write. Most messages live and
/// end like that, which makes them cheap: a row in RocksDB costs several microseconds to put and as
/// many to delete.
///
/// Rows that were written a moment ago stay known, a bounded number: most are read once more, soon.
template <class Name, class Row, class Hash = std::hash<Name>>
class RowChanges {
public:
    struct Change {
        std::optional<Row> row;  ///< nullopt: deleted
        bool in_table = false;   ///< the table may hold a row of that name
    };

    /// nullptr: nothing is known, the table decides.
    const Change* find(const Name& name) const {
        for (const auto* changes : {&changes_, &written_, &written_before_}) {
            if (const auto it = changes->find(name); it != changes->end()) return &it->second;
        }
        return nullptr;
    }
    /// A change of that row waits for a commit.
    bool changed(const Name& name) const { return changes_.contains(name); }

    /// `in_table`: whether the table may hold a row of that name, as a look there has shown.
    void put(const Name& name, Row row, bool in_table) {
        const auto [it, added] = changes_.try_emplace(name);
        if (added) it->second.in_table = in_table;
        it->second.row = std::move(row);
        forget_written(name);
    }

    void erase(const Name& name) {
        const auto [it, added] = changes_.try_emplace(name);
        if (added) it->second.in_table = true;  // the table was not read
        if (it->second.in_table) {
            it->second.row.reset();
        } else {
            changes_.erase(it);
        }
        forget_written(name);
    }

    /// A write failed: it is unknown which of the changes are in the table.
    void write_failed() {
        for (auto& [name, change] : changes_) change.in_table = true;
    }

    /// As a batch wants them: RocksDB finds the place of a row in a few steps where it follows the
    /// place of the one before.
    std::vector<const std::pair<const Name, Change>*> in_order() const {
        return sorted_by_name(changes_);
    }
    std::size_t size() const { return changes_.size(); }

    void committed() {
        if (written_.size() + changes_.size() > kWrittenMax) {
            written_before_ = std::exchange(written_, {});
        }
        for (auto it = changes_.begin(); it != changes_.end();) {
            const auto at = it++;
            if (!at->second.row || written_.size() >= kWrittenMax) continue;
            at->second.in_table = true;
            written_.insert(changes_.extract(at));
        }
        changes_.clear();
    }
    void reset() {
        for (auto* changes : {&changes_, &written_, &written_before_}) changes->clear();
    }

private:
    /// Twice as many stay known at the most.
    static constexpr std::size_t kWrittenMax = 1'024;

    void forget_written(const Name& name) {
        if (written_.erase(name) == 0) written_before_.erase(name);
    }

    using Changes = std::unordered_map<Name, Change, Hash>;
    Changes changes_;
    Changes written_;
    Changes written_before_;  ///< those that made way for newer ones
};

}  // namespace beckon::store
