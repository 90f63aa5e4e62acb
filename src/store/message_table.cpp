#include "store/message_table.hpp"

#include <algorithm>

#include <rocksdb/iterator.h>

namespace beckon::store {

MessageTable::MessageTable(Database& database, Months& months, core::Partition partition,
                           rocksdb::WriteBatch& batch)
    : database_(database), months_(months), partition_(partition), batch_(batch) {}

const MonthList& MessageTable::months_now() {
    const auto generation = months_.generation();
    if (generation != generation_) {
        list_ = months_.list();
        generation_ = generation;
    }
    return *list_;
}

rocksdb::ColumnFamilyHandle* MessageTable::family_of(Month month) {
    for (const auto& entry : months_now()) {
        if (entry.month == month) return entry.family.get();
    }
    return nullptr;
}

bool MessageTable::put(const core::Uaid& uaid, MessageOrder order, const MessageView& message) {
    const Month month = months_.bucket(message.expiry);
    if (month < months_.oldest_live()) return false;
    auto* family = family_of(month);
    if (!family && months_.require(month)) family = family_of(month);

    const auto key = message_row_key(partition_, uaid, order);
    scratch_.clear();
    append_message(scratch_, message);
    if (family) {
        batch_.Put(family, slice(key.view()), slice(scratch_));
        changes_.push_back({.uaid = uaid,
                            .order = order,
                            .what = Change::What::put,
                            .at = batch_.GetDataSize() - scratch_.size(),
                            .length = scratch_.size()});
        return true;
    }
    // The disk is full, most likely: commit() says so, and tries again.
    changes_.push_back({.uaid = uaid,
                        .order = order,
                        .what = Change::What::waiting,
                        .at = waiting_.size(),
                        .length = 0});
    waiting_.push_back({month, std::string{key.view()}, scratch_, false});
    return true;
}

void MessageTable::remove(const core::Uaid& uaid, MessageOrder order, core::Timestamp expiry) {
    const auto key = message_row_key(partition_, uaid, order);
    for (auto& waiting : waiting_) {
        if (waiting.row_key == key.view()) waiting.done = true;
    }
    if (auto* family = family_of(months_.bucket(expiry))) batch_.Delete(family, slice(key.view()));
    changes_.push_back({.uaid = uaid, .order = order, .what = Change::What::removed});
}

core::Result<void> MessageTable::complete_batch() {
    for (auto& waiting : waiting_) {
        if (waiting.done) continue;
        if (auto made = months_.require(waiting.month); !made) return made;
        if (auto* family = family_of(waiting.month)) {
            batch_.Put(family, slice(waiting.row_key), slice(waiting.value));
        }
        waiting.done = true;
    }
    return {};
}

void MessageTable::forget_batch() {
    changes_.clear();
    waiting_.clear();
}

std::vector<MessageTable::Change> MessageTable::changes_of(const core::Uaid& uaid) const {
    std::vector<Change> found;
    for (const auto& change : changes_) {
        if (change.uaid == uaid) found.push_back(change);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.order < b.order; });
    // Of several changes to one row the last one counts.
    const auto same = [](const auto& a, const auto& b) { return a.order == b.order; };
    const auto last = std::unique(found.rbegin(), found.rend(), same);
    found.erase(found.begin(), last.base());
    return found;
}

std::string_view MessageTable::bytes_of(const Change& change) const {
    if (change.what == Change::What::waiting) return waiting_[change.at].value;
    return std::string_view{batch_.Data()}.substr(change.at, change.length);
}

/// One family's rows of one client, in order.
class MessageTable::Cursor {
public:
    Cursor(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, std::string_view from) {
        rocksdb::ReadOptions options;
        options.prefix_same_as_start = true;
        it_.reset(db.NewIterator(options, family));
        seek(from);
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

core::Result<void> MessageTable::scan(
    const core::Uaid& uaid, MessageOrder from,
    const std::function<Next(MessageOrder, std::string_view)>& visit) {
    const auto changes = changes_of(uaid);
    const auto list = (months_now(), list_);  // held: a month may be dropped meanwhile
    std::vector<Cursor> cursors;
    cursors.reserve(list->size());
    auto change = changes.begin();
    const auto seek = [&](MessageOrder order) {
        const auto row_key = message_row_key(partition_, uaid, order);
        if (cursors.empty()) {
            for (const auto& entry : *list) {
                cursors.emplace_back(database_.db(), entry.family.get(), row_key.view());
            }
        } else {
            for (auto& cursor : cursors) cursor.seek(row_key.view());
        }
        change = std::lower_bound(changes.begin(), changes.end(), order,
                                  [](const Change& c, MessageOrder o) { return c.order < o; });
    };
    seek(from);
    for (;;) {
        Cursor* first = nullptr;
        for (auto& cursor : cursors) {
            if (cursor.valid() && (!first || cursor.order() < first->order())) first = &cursor;
        }
        const bool changed =
            change != changes.end() && (!first || !(first->order() < change->order));
        if (!changed && !first) break;
        auto next = Next::go_on;
        if (changed) {
            const auto here = change++;
            if (first && first->order() == here->order) first->next();
            if (here->what == Change::What::removed) continue;
            next = visit(here->order, bytes_of(*here));
        } else {
            const auto order = first->order();
            next = visit(order, first->value());
            if (next == Next::go_on) first->next();
        }
        if (next == Next::stop) return {};
        if (next == Next::skip_topics) seek({.has_topic = false, .offset = 0});
    }
    for (const auto& cursor : cursors) {
        if (!cursor.status().ok()) {
            auto error = to_error(cursor.status(), "store " + database_.directory().string());
            error.fault = core::Fault::corrupt;
            return core::fail(std::move(error));
        }
    }
    return {};
}

}  // namespace beckon::store
