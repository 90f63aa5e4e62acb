#include "store/debt_table.hpp"

#include "store/digest.hpp"
#include "store/schema.hpp"

#include <algorithm>
#include <tuple>

namespace beckon::store {

namespace {

/// Nobody takes new debts while a partition is restored or stands by; beyond this many they are no
/// longer remembered as new.
constexpr std::size_t kNewMax = 10'000;

void sort_by_offset(std::vector<Debt>& debts) {
    std::sort(debts.begin(), debts.end(), [](const Debt& a, const Debt& b) {
        return std::tie(a.put_offset, a.key) < std::tie(b.put_offset, b.key);
    });
}

}  // namespace

DebtTable::DebtTable(Database& database, core::Partition partition)
    : database_(database), partition_(partition), family_(database.family("owed")) {}

core::Result<void> DebtTable::load() {
    bool decoded = true;
    const bool read =
        scan_partition(database_.db(), *family_, partition_, [&](auto key, auto value) {
            const auto debt = parse_debt(key, value);
            decoded &= debt.has_value();
            if (!debt) return;
            debts_.insert_or_assign(debt->key, Entry{*debt, true});
            in_order_.emplace(debt->put_offset, debt->key);
        });
    if (read && decoded) return {};
    return core::fail(undecodable("owed", database_.directory().string()));
}

const Debt* DebtTable::find(const core::MessageKey& key) const {
    const auto it = debts_.find(key);
    return it == debts_.end() ? nullptr : &it->second.debt;
}

void DebtTable::add(const Debt& debt) {
    auto& entry = debts_[debt.key];
    in_order_.erase({entry.debt.put_offset, debt.key});
    entry.debt = debt;
    in_order_.emplace(debt.put_offset, debt.key);
    unwritten_.insert(debt.key);
    if (too_many_new_) return;
    new_.push_back(debt.key);
    if (new_.size() <= kNewMax) return;
    new_ = {};
    too_many_new_ = true;
}

bool DebtTable::pay(const core::MessageKey& key) {
    const auto it = debts_.find(key);
    if (it == debts_.end()) return false;
    if (it->second.in_table) erased_.emplace_back(it->second.debt.uaid, key);
    in_order_.erase({it->second.debt.put_offset, key});
    debts_.erase(it);
    unwritten_.erase(key);
    return true;
}

std::vector<Debt> DebtTable::after(const std::optional<Debt>& after, std::size_t max) const {
    std::vector<Debt> found;
    auto it = after ? in_order_.upper_bound({after->put_offset, after->key}) : in_order_.begin();
    for (; it != in_order_.end() && found.size() < max; ++it) {
        found.push_back(debts_.at(it->second).debt);
    }
    return found;
}

NewDebts DebtTable::take_new() {
    NewDebts found{.debts = {}, .left_out = std::exchange(too_many_new_, false)};
    for (const auto& key : std::exchange(new_, {})) {
        if (const Debt* debt = find(key)) found.debts.push_back(*debt);
    }
    sort_by_offset(found.debts);
    return found;
}

void DebtTable::write_to(rocksdb::WriteBatch& batch) const {
    for (const auto& [uaid, key] : erased_) {
        batch.Delete(family_.get(), slice(key_row_key(partition_, uaid, key).view()));
    }
    std::string value;
    for (const auto& key : unwritten_) {
        const Debt& debt = debts_.at(key).debt;
        value.clear();
        append_debt(value, debt);
        batch.Put(family_.get(), slice(key_row_key(partition_, debt.uaid, key).view()),
                  slice(value));
    }
}

void DebtTable::committed() {
    suspect();
    unwritten_.clear();
    erased_.clear();
}

void DebtTable::suspect() {
    for (const auto& key : unwritten_) debts_.at(key).in_table = true;
}

void DebtTable::reset() {
    debts_.clear();
    in_order_.clear();
    new_.clear();
    too_many_new_ = false;
    unwritten_.clear();
    erased_.clear();
}

}  // namespace beckon::store
