#include "store/tables/receipt_table.hpp"

#include "store/rows/row_key.hpp"

#include <memory>
#include <string>

namespace beckon::store {

ReceiptTable::ReceiptTable(Database& database, core::Partition partition)
    : database_(database), partition_(partition), family_(database.family(family_spec().name)) {}

core::Result<void> ReceiptTable::load() {
    empty_ = true;
    return database_.scan(family_, partition_range(partition_),
                          [this](auto, auto) { return empty_ = false; });
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
    return database_.get(family_, receipt_row_key(partition_, key), parse_receipt);
}

core::Result<std::vector<core::MessageKey>> ReceiptTable::due(core::Timestamp now,
                                                              std::size_t max) const {
    std::vector<core::MessageKey> found;
    if (empty_) return found;
    for (const auto& [key, change] : changes_) {
        if (found.size() >= max) return found;
        if (!change.erased && change.receipt.expiry <= now) found.push_back(key);
    }
    const KeyRange deadlines{deadlines_begin(partition_), partition_range(partition_).end};
    const auto parse = [](std::string_view key, auto) { return parse_deadline(key); };
    const auto read = database_.each_row(family_, deadlines, parse, [&](const Deadline& deadline) {
        if (deadline.expiry > now) return false;
        if (!changes_.contains(deadline.key)) found.push_back(deadline.key);
        return found.size() < max;
    });
    if (!read) return core::fail(read.error());
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
