#include "store/tables/debt_table.hpp"

#include "store/rows/schema.hpp"

#include <memory>
#include <string>

#include <rocksdb/iterator.h>

namespace beckon::store {

namespace {

/// Nobody takes new debts while a partition is restored or stands by; beyond this many they are no
/// longer remembered as new.
constexpr std::size_t kNewMax = 10'000;

}  // namespace

DebtTable::DebtTable(Database& database, core::Partition partition)
    : database_(database), partition_(partition), family_(database.family(family_spec().name)) {}

core::Result<void> DebtTable::load() {
    size_ = 0;
    const auto all = partition_range(partition_);
    const auto end = slice(all.end);
    const std::unique_ptr<rocksdb::Iterator> it{
        database_.db().NewIterator(scan_options(end), family_.get())};
    for (it->Seek(slice(all.begin)); it->Valid(); it->Next()) ++size_;
    if (it->status().ok()) return {};
    return core::fail(unreadable(it->status(), database_.directory().string()));
}

void DebtTable::add(const Debt& debt) {
    const OffsetAndKey place{debt.put_offset, debt.key};
    changes_[place].debt = debt;
    remember_new(place, debt);
}

void DebtTable::postpone(const Debt& debt) {
    const OffsetAndKey place{debt.put_offset, debt.key};
    postponed_.insert_or_assign(place, debt);
    remember_new(place, debt);
}

void DebtTable::resume(core::Offset put_offset, const core::MessageKey& key) {
    const auto debt = postponed_.extract({put_offset, key});
    changes_[debt.key()].debt = debt.mapped();
}

void DebtTable::remember_new(const OffsetAndKey& place, const Debt& debt) {
    ++size_;
    if (new_left_out_) return;
    new_.insert_or_assign(place, debt);
    if (new_.size() <= kNewMax) return;
    new_.clear();
    new_left_out_ = true;
}

void DebtTable::erase(core::Offset put_offset, const core::MessageKey& key) {
    const OffsetAndKey place{put_offset, key};
    new_.erase(place);
    --size_;
    const auto [it, added] = changes_.try_emplace(place);
    if (added) it->second.in_table = true;  // nobody looked
    if (it->second.in_table) {
        it->second.debt.reset();
    } else {
        changes_.erase(it);
    }
}

DebtTable::Changes DebtTable::changes_with_postponed() const {
    auto all = changes_;
    for (const auto& [place, debt] : postponed_) all[place].debt = debt;
    return all;
}

core::Result<std::vector<Debt>> DebtTable::after(const std::optional<Debt>& after,
                                                 std::size_t max) const {
    std::vector<Debt> found;
    const auto merged = postponed_.empty() ? Changes{} : changes_with_postponed();
    const auto& changes = postponed_.empty() ? changes_ : merged;
    const auto path = [this] { return database_.directory().string(); };
    const auto all = partition_range(partition_);
    const auto end = slice(all.end);
    const std::unique_ptr<rocksdb::Iterator> row{
        database_.db().NewIterator(scan_options(end), family_.get())};
    auto change = changes.begin();
    if (after) {
        const auto key = debt_row_key(partition_, after->put_offset, after->key);
        row->Seek(slice(key.view()));
        if (row->Valid() && view(row->key()) == key.view()) row->Next();
        change = changes.upper_bound({after->put_offset, after->key});
    } else {
        row->Seek(slice(all.begin));
    }
    while (found.size() < max && (row->Valid() || change != changes.end())) {
        std::optional<Debt> stored;
        if (row->Valid()) {
            stored = parse_debt(view(row->key()), view(row->value()));
            if (!stored) return core::fail(undecodable(family_spec().name, path()));
        }
        const bool changed =
            change != changes.end() &&
            (!stored || change->first <= OffsetAndKey{stored->put_offset, stored->key});
        if (!changed) {
            found.push_back(*stored);
            row->Next();
            continue;
        }
        if (stored && change->first == OffsetAndKey{stored->put_offset, stored->key}) row->Next();
        if (change->second.debt) found.push_back(*change->second.debt);
        ++change;
    }
    if (!row->status().ok()) return core::fail(unreadable(row->status(), path()));
    return found;
}

NewDebts DebtTable::take_new() {
    NewDebts taken{.debts = {}, .left_out = std::exchange(new_left_out_, false)};
    taken.debts.reserve(new_.size());
    for (const auto& [place, debt] : new_) taken.debts.push_back(debt);
    new_.clear();
    return taken;
}

void DebtTable::write_to(rocksdb::WriteBatch& batch) const {
    std::string value;
    for (const auto& [place, change] : changes_) {
        const auto key = debt_row_key(partition_, place.first, place.second);
        if (!change.debt) {
            batch.Delete(family_.get(), slice(key.view()));
            continue;
        }
        value.clear();
        append_debt(value, *change.debt);
        batch.Put(family_.get(), slice(key.view()), slice(value));
    }
}

void DebtTable::write_failed() {
    for (auto& [place, change] : changes_) change.in_table = true;
}

void DebtTable::reset() {
    changes_.clear();
    postponed_.clear();
    new_.clear();
    new_left_out_ = false;
    size_ = 0;
}

}  // namespace beckon::store
