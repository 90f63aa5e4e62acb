#include "store/tables/receipt_table.hpp"

#include "store/rows/row_key.hpp"

#include <memory>
#include <string>

#include <rocksdb/iterator.h>

namespace beckon::store {

ReceiptTable::ReceiptTable(Database& database, core::Partition partition)
    : database_(database), partition_(partition), family_(database.family(family_spec().name)) {}

core::Result<void> ReceiptTable::load() {
    const auto all = partition_range(partition_);
    const auto end = slice(all.end);
    const std::unique_ptr<rocksdb::Iterator> row{
        database_.db().NewIterator(scan_options(end), family_.get())};
    row->Seek(slice(all.begin));
    empty_ = !row->Valid();
    if (row->status().ok()) return {};
    return core::fail(unreadable(row->status(), database_.directory().string()));
}

/// The deadline of the receipt that it replaces is removed too: that row would stay for ever.
core::Result<void> ReceiptTable::add(const core::MessageKey& key, Receipt receipt) {
    auto found = changes_.find(key);
    if (found == changes_.end()) {
        auto row = read(key);
        if (!row) return core::fail(row.error());
        found = changes_.try_emplace(key).first;
        found->second.in_table = row->has_value();
        found->second.receipt = *row ? std::move(**row) : receipt;
    }
    empty_ = false;
    auto& change = found->second;
    if (change.receipt.expiry != receipt.expiry) change.former.push_back(change.receipt.expiry);
    change.receipt = std::move(receipt);
    change.erased = false;
    return {};
}

core::Result<void> ReceiptTable::erase(const core::MessageKey& key) {
    if (empty_) return {};
    auto found = find(key);
    if (!found) return core::fail(found.error());
    if (!*found) return {};
    const auto [change, added] = changes_.try_emplace(key);
    if (added) change->second.in_table = true;
    if (!change->second.in_table) {
        changes_.erase(change);
        return {};
    }
    change->second.receipt = std::move(**found);
    change->second.erased = true;
    return {};
}

core::Result<std::optional<Receipt>> ReceiptTable::find(const core::MessageKey& key) const {
    if (const auto change = changes_.find(key); change != changes_.end()) {
        if (change->second.erased) return std::optional<Receipt>{};
        return std::optional{change->second.receipt};
    }
    return read(key);
}

core::Result<std::optional<Receipt>> ReceiptTable::read(const core::MessageKey& key) const {
    if (empty_) return std::optional<Receipt>{};
    rocksdb::PinnableSlice value;
    const auto row_key = receipt_row_key(partition_, key);
    const auto status = database_.db().Get({}, family_.get(), slice(row_key), &value);
    if (status.IsNotFound()) return std::optional<Receipt>{};
    const auto path = database_.directory().string();
    if (!status.ok()) return core::fail(unreadable(status, path));
    auto receipt = parse_receipt(view(value));
    if (!receipt) return core::fail(undecodable(family_spec().name, path));
    return receipt;
}

core::Result<std::vector<core::MessageKey>> ReceiptTable::due(core::Timestamp now,
                                                              std::size_t max) const {
    std::vector<core::MessageKey> found;
    if (empty_) return found;
    for (const auto& [key, change] : changes_) {
        if (found.size() >= max) return found;
        if (!change.erased && change.receipt.expiry <= now) found.push_back(key);
    }
    const auto path = database_.directory().string();
    const auto end_text = partition_range(partition_).end;
    const auto end = slice(end_text);
    const auto begin = deadlines_begin(partition_);
    const std::unique_ptr<rocksdb::Iterator> row{
        database_.db().NewIterator(scan_options(end), family_.get())};
    for (row->Seek(slice(begin)); row->Valid() && found.size() < max; row->Next()) {
        const auto deadline = parse_deadline(view(row->key()));
        if (!deadline) return core::fail(undecodable(family_spec().name, path));
        if (deadline->expiry > now) break;
        if (!changes_.contains(deadline->key)) found.push_back(deadline->key);
    }
    if (!row->status().ok()) return core::fail(unreadable(row->status(), path));
    return found;
}

void ReceiptTable::write_to(rocksdb::WriteBatch& batch) const {
    std::string value;
    for (const auto& [key, change] : changes_) {
        const auto receipt = receipt_row_key(partition_, key);
        const auto deadline =
            deadline_row_key(partition_, {.expiry = change.receipt.expiry, .key = key});
        for (const auto expiry : change.former) {
            batch.Delete(family_.get(),
                         slice(deadline_row_key(partition_, {.expiry = expiry, .key = key})));
        }
        if (change.erased) {
            batch.Delete(family_.get(), slice(receipt));
            batch.Delete(family_.get(), slice(deadline));
            continue;
        }
        value.clear();
        append_receipt(value, change.receipt);
        batch.Put(family_.get(), slice(receipt), slice(value));
        batch.Put(family_.get(), slice(deadline), {});
    }
}

void ReceiptTable::write_failed() {
    for (auto& [key, change] : changes_) change.in_table = true;
}

}  // namespace beckon::store
