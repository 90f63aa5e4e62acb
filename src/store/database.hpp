#pragma once

#include "core/result.hpp"
#include "rocks/error.hpp"
#include "rocks/high_water_mark.hpp"
#include "rocks/memory.hpp"
#include "store/rows/expiry_filter.hpp"
#include "store/rows/row_key.hpp"
#include "store/rows/schema.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/listener.h>
#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>
#include <rocksdb/write_buffer_manager.h>

namespace beckon::store {

/// Copies a store that this process has open, without knowing its user: a page of the ops port does
/// it while an edge uses the store. The copy, in a directory that must not exist, has the committed
/// state of one moment: hard links to files that never change, and the write-ahead file, so it
/// takes a moment and little space. Any thread; closing the store waits for the copy. Errors:
/// not_found (no store is open in `directory`), unavailable, full.
core::Result<void> copy_open_store(const std::filesystem::path& directory,
                                   const std::filesystem::path& to);

class Database;

/// For copy_open_store(). A Database lists itself when it is open and before it closes.
void list_open(const Database& database);
void unlist(const Database& database);

}  // namespace beckon::store

namespace beckon::rocks {

/// A flush that was scheduled and has not begun when a write fails is never begun by RocksDB, and
/// resume() would wait for it for ever (docs/facts/rocksdb.md#traps). So the write that fails waits
/// here for flushes that are due, before RocksDB takes note of its error. A resume() that fails may
/// lose one all the same: it is not to be called again.
class FlushesFirst final : public rocksdb::EventListener {
public:
    /// Once it is open. It is not called after its Close().
    void watch(rocksdb::DB& db) { db_ = &db; }
    void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;

private:
    std::atomic<rocksdb::DB*> db_ = nullptr;
    std::atomic<std::uint64_t> failed_flushes_ = 0;
};

}  // namespace beckon::rocks

namespace beckon::store {

using rocks::slice;
using rocks::view;

/// A read failed: `corrupt`, with a remedy, only if the bytes on disk are wrong; else
/// `unavailable`, which proves nothing about them.
core::Error unreadable(const rocksdb::Status& status, std::string_view path);
/// Bytes that RocksDB vouches for are none of ours: `corrupt`.
core::Error undecodable(std::string_view family, std::string_view path);

/// For rows below `end`, in the order of their keys, read once. RocksDB keeps a pointer to `end`.
rocksdb::ReadOptions scan_options(const rocksdb::Slice& end);

/// How a family is read, which decides its filters.
enum class FamilyKind {
    rows,      ///< by whole key, and by client: clients, channels, replacements, pending tombstones
    keys,      ///< by whole key only
    messages,  ///< by client only; ciphertext, so not compressed
    plain,     ///< few rows: partitions
};

/// A column family; the last holder closes the handle, before the Database goes.
using Family = std::shared_ptr<rocksdb::ColumnFamilyHandle>;

struct FamilySpec {
    std::string name;
    FamilyKind kind = FamilyKind::rows;
};

class Database;

/// The row of every database that names its format.
inline constexpr std::string_view kFormatRow = "format";

struct DatabaseOptions {
    std::filesystem::path directory;
    std::string log_id;
    std::string format;  ///< kind, version and layout of the store
    std::vector<FamilySpec> families;
    /// The kind of families that are made while the store runs; nullopt: the name is none of ours.
    std::function<std::optional<FamilyKind>(std::string_view name)> kind_of;
    /// Further rows that must be readable once the files are open; `corrupt` is damage. May be
    /// empty.
    std::function<core::Result<void>(const Database&)> check;
    std::shared_ptr<rocks::Memory> memory;
    rocksdb::Env* env = nullptr;
};

/// A RocksDB that belongs to one log and one process. Thread-safe.
class Database {
public:
    /// A store of another log, format or version, and one whose files are damaged, is set aside,
    /// with the reason in a log line, and a new one is made. Errors: conflict (in use),
    /// unavailable, full.
    static core::Result<std::unique_ptr<Database>> open(const DatabaseOptions& options);
    ~Database();

    rocksdb::DB& db() const { return *db_; }
    FoldTimes& fold_times() const { return *fold_times_; }
    const std::filesystem::path& directory() const { return options_.directory; }

    /// One of options.families.
    Family family(std::string_view name) const;
    /// The families that are not in options.families, with their names; once, after open.
    std::vector<std::pair<std::string, Family>> take_other_families();
    core::Result<Family> create_family(const std::string& name, FamilyKind kind);
    core::Result<void> drop_family(const Family& family);

    /// Reads the row of a key, which `parse` makes of its value; nullopt: there is none. Errors:
    /// corrupt (`parse` gives nullopt, too), unavailable.
    template <class Parse>
    auto get(const Family& family, std::string_view key, const Parse& parse) const
        -> core::Result<decltype(parse(std::string_view{}))> {
        rocksdb::PinnableSlice value;
        const auto status = db_->Get({}, family.get(), slice(key), &value);
        if (status.IsNotFound()) return decltype(parse(std::string_view{})){};
        if (!status.ok()) return core::fail(unreadable(status, directory().string()));
        auto row = parse(view(value));
        if (!row) return core::fail(undecodable(family->GetName(), directory().string()));
        return row;
    }
    /// Visits rows in the order of their keys, each read once, until `visit` returns false. Errors:
    /// corrupt, unavailable.
    using Visit = std::function<bool(std::string_view key, std::string_view value)>;
    core::Result<void> scan(const Family& family, const KeyRange& range, const Visit& visit) const;
    /// The same for all rows of a client, which the family's filters find.
    core::Result<void> scan(const Family& family, const RowKey& client, const Visit& visit) const;
    /// As scan(), with the rows that `parse` makes of key and value.
    template <class Rows, class Parse, class VisitRow>
    core::Result<void> each_row(const Family& family, const Rows& rows, const Parse& parse,
                                const VisitRow& visit) const {
        bool decodes = true;
        const auto scanned = scan(family, rows, [&](std::string_view key, std::string_view value) {
            auto row = parse(key, value);
            decodes = row.has_value();
            return decodes && visit(std::move(*row));
        });
        if (decodes) return scanned;
        return core::fail(undecodable(family->GetName(), directory().string()));
    }

    /// Writes with the WAL, without a sync. Rows of dropped families are ignored. After a failure
    /// the next call first lets RocksDB recover, and others are refused meanwhile or wait for that.
    /// Errors: full (no space, or behind with flushes), unavailable, corrupt.
    core::Result<void> write(rocksdb::WriteBatch& batch);
    /// Adds the deletion of all rows of a partition, if there are any (or they cannot be read):
    /// until its flush, a deletion of a range costs each read of the family an eighth of its time.
    void erase_rows_of(core::Partition partition, const Family& family,
                       rocksdb::WriteBatch& batch) const;
    /// Why nothing is written before this process is restarted; empty: nothing stands against it,
    /// as far as is known. Does not wait.
    std::string needs_restart() const;

    /// Rows about the store as a whole; "" if there is none.
    core::Result<std::string> meta(std::string_view name) const;
    core::Result<void> put_meta(std::string_view name, std::string_view value);

private:
    explicit Database(const DatabaseOptions& options);
    core::Result<std::string> open_and_check();
    core::Result<std::string> write_identity();
    core::Result<void> try_write(rocksdb::WriteBatch& batch);
    rocksdb::Status open_files();
    core::Result<void> recover();
    rocksdb::Status probe() const;
    rocksdb::Status resume();
    rocksdb::ColumnFamilyOptions family_options(FamilyKind kind) const;
    core::Result<void> visit_rows(const rocksdb::ReadOptions& options, const Family& family,
                                  std::string_view begin, const Visit& visit) const;
    Family own(rocksdb::ColumnFamilyHandle* handle) const;

    DatabaseOptions options_;
    core::SystemClock host_clock_;
    std::shared_ptr<FoldTimes> fold_times_;
    std::shared_ptr<rocksdb::CompactionFilterFactory> filter_;
    std::optional<rocks::HighWaterMark> mark_;
    std::unique_ptr<rocksdb::DB> db_;
    std::vector<std::pair<std::string, Family>> families_;  ///< by name
    std::vector<std::pair<std::string, Family>> others_;
    mutable std::shared_mutex writing_;  ///< exclusive while a failed database recovers
    std::atomic<bool> failed_ = false;   ///< a write did, and RocksDB has not recovered since
    std::atomic<std::uint64_t> failed_file_ = 0;  ///< the write-ahead file that it went to
    const std::shared_ptr<rocks::FlushesFirst> flushes_first_;
    std::optional<core::Error> for_good_;  ///< why it will not recover; under writing_
};

}  // namespace beckon::store
