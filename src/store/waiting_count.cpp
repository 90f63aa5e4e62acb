#include "store/waiting_count.hpp"

#include "store/database.hpp"
#include "store/rows/schema.hpp"
#include "store/tables/months.hpp"

#include <algorithm>
#include <memory>

#include <rocksdb/iterator.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

namespace beckon::store {

namespace {

/// Counts the rows that RocksDB steps over on this thread while this object lives: deleted and not
/// compacted yet.
class DeletedRows {
public:
    DeletedRows() : level_(rocksdb::GetPerfLevel()) {
        rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
        before_ = now();
    }
    ~DeletedRows() { rocksdb::SetPerfLevel(level_); }
    DeletedRows(const DeletedRows&) = delete;
    DeletedRows& operator=(const DeletedRows&) = delete;

    std::uint64_t count() const { return now() - before_; }

private:
    static std::uint64_t now() {
        return rocksdb::get_perf_context()->internal_delete_skipped_count;
    }

    const rocksdb::PerfLevel level_;
    std::uint64_t before_ = 0;
};

}  // namespace

WaitingCount::WaitingCount(Database& database, const Months& months, core::Partition partition,
                           core::Timestamp now)
    : database_(database),
      months_(months),
      partition_(partition),
      now_(now),
      next_(partition_begin(partition)) {}

core::Result<bool> WaitingCount::step(std::size_t rows_max) {
    const auto family = database_.family("keys");
    const auto all = partition_range(partition_);
    const auto end = slice(all.end);
    auto options = scan_options(end);
    options.max_skippable_internal_keys = rows_max;
    const std::unique_ptr<rocksdb::Iterator> row{database_.db().NewIterator(options, family.get())};
    const DeletedRows deleted;
    row->Seek(slice(next_));
    for (std::size_t seen = 0; row->Valid() && seen + deleted.count() < rows_max;
         ++seen, row->Next()) {
        const auto parsed = parse_key_row(view(row->value()));
        if (!parsed) return core::fail(undecodable("keys", database_.directory().string()));
        count_row(view(row->key()), *parsed);
    }
    if (row->Valid()) next_ = view(row->key());
    if (row->status().IsIncomplete()) return go_on_behind_deleted(*row);
    if (!row->status().ok()) {
        return core::fail(unreadable(row->status(), database_.directory().string()));
    }
    return !row->Valid();
}

/// RocksDB has stepped over as many deleted rows as it may, and reports where it stopped: the next
/// piece begins right behind that.
core::Result<bool> WaitingCount::go_on_behind_deleted(rocksdb::Iterator& row) {
    const auto found = row.GetProperty("rocksdb.iterator.internal-key", &next_);
    if (!found.ok()) return core::fail(unreadable(found, database_.directory().string()));
    next_.push_back('\0');
    return false;
}

void WaitingCount::count_row(std::string_view row_key, const KeyRow& row) {
    if (row.state != KeyRow::State::pending || row.until <= now_) return;
    ++messages_;
    if (oldest_ && oldest_->order.offset <= row.offset) return;
    oldest_ = {uaid_of_row(row_key), row.order(), row.until};
}

core::Result<std::optional<core::Timestamp>> WaitingCount::oldest() const {
    if (!oldest_) return std::nullopt;
    const auto list = months_.list();
    const auto month = std::find_if(list->begin(), list->end(), [&](const MonthFamily& candidate) {
        return candidate.month == months_.bucket(oldest_->expiry);
    });
    if (month == list->end()) return std::nullopt;
    rocksdb::PinnableSlice value;
    const auto row_key = message_row_key(partition_, oldest_->uaid, oldest_->order);
    const auto status = database_.db().Get({}, month->family.get(), slice(row_key.view()), &value);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return core::fail(unreadable(status, database_.directory().string()));
    const auto message = parse_message(oldest_->order, view(value));
    if (!message) return core::fail(undecodable("messages", database_.directory().string()));
    return message->appended;
}

}  // namespace beckon::store
