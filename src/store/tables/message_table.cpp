#include "store/tables/message_table.hpp"

#include "store/tables/row_changes.hpp"

#include <algorithm>
#include <utility>

#include <rocksdb/iterator.h>

namespace beckon::store {

namespace {

constexpr auto kByOrder = [](const auto& change, MessageOrder order) {
    return change.order < order;
};

}  // namespace

MessageTable::MessageTable(Database& database, Months& months, core::Partition partition)
    : database_(database), months_(months), partition_(partition) {}

const std::shared_ptr<const MonthList>& MessageTable::months_now() {
    const auto generation = months_.generation();
    if (generation != generation_) {
        list_ = months_.list();
        generation_ = generation;
    }
    return list_;
}

rocksdb::ColumnFamilyHandle* MessageTable::family_of(Month month) {
    for (const auto& entry : *months_now()) {
        if (entry.month == month) return entry.family.get();
    }
    return nullptr;
}

// --- changes

/// A message whose month is dropped already may be alive: the log's clock may have stepped back
/// since. It goes with the oldest month that is left.
Month MessageTable::month_of(core::Timestamp expiry) const {
    return std::max(months_.bucket(expiry), months_.oldest_live());
}

void MessageTable::put(const core::Uaid& uaid, MessageOrder order, const MessageView& message) {
    Change change{.order = order,
                  .month = month_of(message.expiry),
                  .in_table = false,
                  .removed = false,
                  .value = {}};
    append_message(change.value, message);
    ++changed_rows_;
    changed_bytes_ += change.value.size();
    auto& changes = changes_[uaid];
    const auto place = std::lower_bound(changes.begin(), changes.end(), order, kByOrder);
    changes.insert(place, std::move(change));
}

void MessageTable::remove(const core::Uaid& uaid, MessageOrder order, core::Timestamp expiry) {
    auto& changes = changes_[uaid];
    const auto place = std::lower_bound(changes.begin(), changes.end(), order, kByOrder);
    if (place == changes.end() || place->order != order) {
        ++changed_rows_;
        changes.insert(place, {.order = order,
                               .month = month_of(expiry),
                               .in_table = true,
                               .removed = true,
                               .value = {}});
        return;
    }
    changed_bytes_ -= place->value.size();
    if (place->in_table) {
        place->removed = true;
        place->value.clear();
        return;
    }
    --changed_rows_;
    changes.erase(place);
    if (changes.empty()) changes_.erase(uaid);
}

core::Result<void> MessageTable::write_to(rocksdb::WriteBatch& batch) {
    for (const auto* entry : sorted_by_name(changes_)) {
        const auto& [uaid, changes] = *entry;
        for (const auto& change : changes) {
            auto* family = family_of(change.month);
            if (!family && !change.removed) {
                if (auto made = months_.require(change.month); !made) return made;
                family = family_of(change.month);
            }
            if (!family) continue;  // its month is over
            const auto key = message_row_key(partition_, uaid, change.order);
            if (change.removed) {
                batch.Delete(family, slice(key.view()));
            } else {
                batch.Put(family, slice(key.view()), slice(change.value));
            }
        }
    }
    return {};
}

void MessageTable::committed() {
    changes_.clear();
    changed_rows_ = 0;
    changed_bytes_ = 0;
}

void MessageTable::reset() { committed(); }

void MessageTable::write_failed() {
    for (auto& [uaid, changes] : changes_) {
        for (auto& change : changes) change.in_table = true;
    }
}

// --- reads

/// One family's rows of one client, in order.
class MessageTable::Cursor {
public:
    Cursor(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
        rocksdb::ReadOptions options;
        options.prefix_same_as_start = true;
        it_.reset(db.NewIterator(options, family));
    }
    void seek(std::string_view row_key) {
        it_->Seek(slice(row_key));
        read();
    }
    void next() {
        it_->Next();
        read();
    }
    bool valid() const { return valid_; }
    MessageOrder order() const { return order_; }
    std::string_view value() const { return view(it_->value()); }
    rocksdb::Status status() const { return it_->status(); }

private:
    void read() {
        valid_ = it_->Valid();
        if (valid_) order_ = order_of_row(view(it_->key()));
    }
    std::unique_ptr<rocksdb::Iterator> it_;
    MessageOrder order_;
    bool valid_ = false;
};

/// A client's messages from all months and from the changes, as one sequence.
class MessageTable::Merge {
public:
    Merge(MessageTable& table, const core::Uaid& uaid)
        : partition_(table.partition_),
          uaid_(uaid),
          oldest_live_(table.months_.oldest_live()),
          months_(table.months_now()) {
        const auto known = table.changes_.find(uaid);
        changes_ = known == table.changes_.end() ? &table.no_changes_ : &known->second;
        cursors_.reserve(months_->size());
        for (const auto& month : *months_) {
            cursors_.emplace_back(table.database_.db(), month.family.get());
        }
    }

    void seek(MessageOrder order) {
        const auto row_key = message_row_key(partition_, uaid_, order);
        for (auto& cursor : cursors_) cursor.seek(row_key.view());
        change_ = std::lower_bound(changes_->begin(), changes_->end(), order, kByOrder);
        find_row();
    }
    void next() {
        step();
        find_row();
    }
    bool valid() const { return valid_; }
    MessageOrder order() const { return first_ ? first_->order() : change_->order; }
    std::string_view value() const { return changed_ ? change_->value : first_->value(); }
    rocksdb::Status status() const {
        for (const auto& cursor : cursors_) {
            if (!cursor.status().ok()) return cursor.status();
        }
        return {};
    }

private:
    /// Finds the next row that is there; a change covers the row of the same order.
    void find_row() {
        for (;; step()) {
            first_ = nullptr;
            for (auto& cursor : cursors_) {
                if (!cursor.valid()) continue;
                if (!first_ || cursor.order() < first_->order()) first_ = &cursor;
            }
            const bool any_change = change_ != changes_->end();
            valid_ = first_ || any_change;
            if (!valid_) return;
            changed_ = any_change && (!first_ || !(first_->order() < change_->order));
            if (changed_ && first_ && change_->order < first_->order()) first_ = nullptr;
            if (!changed_ || (!change_->removed && change_->month >= oldest_live_)) return;
        }
    }
    void step() {
        if (first_) first_->next();
        if (changed_) ++change_;
    }

    const core::Partition partition_;
    const core::Uaid uaid_;
    const Month oldest_live_;
    const std::shared_ptr<const MonthList> months_;  ///< held: one may be dropped meanwhile
    const ClientChanges* changes_ = nullptr;
    std::vector<Cursor> cursors_;
    ClientChanges::const_iterator change_;
    Cursor* first_ = nullptr;  ///< the cursor that stands at the current row, if one does
    bool changed_ = false;     ///< change_ stands at the current row
    bool valid_ = false;
};

core::Result<void> MessageTable::scan(const core::Uaid& uaid, MessageOrder from, const Visit& visit,
                                      core::Offset plain_from) {
    Merge rows{*this, uaid};
    rows.seek(from);
    while (rows.valid()) {
        switch (visit(rows.order(), rows.value())) {
            case Next::go_on: rows.next(); break;
            case Next::skip_topics: rows.seek({.has_topic = false, .offset = plain_from}); break;
            case Next::stop: return {};
        }
    }
    if (const auto status = rows.status(); !status.ok()) {
        return core::fail(unreadable(status, database_.directory().string()));
    }
    return {};
}

}  // namespace beckon::store
