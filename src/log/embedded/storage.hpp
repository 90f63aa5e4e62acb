#pragma once

#include "core/result.hpp"
#include "log/embedded/embedded_log.hpp"
#include "rocks/high_water_mark.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

namespace beckon::log::embedded {

/// The families of the embedded log's RocksDB.
///   meta     layout, reserved blocks, log starts, cleaner positions, group offsets (meta_keys.hpp)
///   records  every record (record_format.hpp); one put each, never written twice
///   latest   of compacted topics, as far as the cleaner came: partition ‖ record key → offset
enum class Family : std::uint8_t { meta, records, latest };
inline constexpr std::size_t kFamilies = 3;

/// Writes that go to the disk as a whole or not at all. Its thread keeps and reuses it, so that its
/// buffer stays.
class Batch {
public:
    void put(Family family, std::string_view key, std::string_view value);
    /// The value in two parts.
    void put(Family family, std::string_view key, std::string_view head, std::string_view tail);
    void erase(Family family, std::string_view key);
    /// This batch is always synced, even if write() is called without `sync`.
    void require_sync() { require_sync_ = true; }

private:
    friend class Storage;
    rocksdb::WriteBatch batch_;
    const std::array<rocksdb::ColumnFamilyHandle*, kFamilies>* handles_ = nullptr;
    bool require_sync_ = false;
};

/// The RocksDB under the log, and its failures: another process has it, it is damaged, the disk is
/// full. Thread-safe.
class Storage {
public:
    /// Notes and logs writes that are missing (damage.hpp). Throws std::runtime_error with one line
    /// that names the directory; also where a file is missing that it had.
    explicit Storage(const EmbeddedConfig& config);
    ~Storage();

    /// True if copy_to() has made this directory, and forget_copy() was not called since.
    bool is_copy() const { return is_copy_; }
    void forget_copy();

    /// Empties `batch`, has it filled, and writes it. `sync`: returns only when it is on disk.
    /// Errors: full (no space), unavailable; after one nothing can be written until recover().
    core::Result<void> write(Batch& batch, bool sync, const std::function<void(Batch&)>& fill);
    /// Flushes: all earlier writes are in tables when it returns, and need no write-ahead file.
    core::Result<void> flush();
    /// As EmbeddedLog::copy_to.
    core::Result<void> copy_to(const std::filesystem::path& directory);

    /// After a failed write: true if it can be written again. Closes and opens the database as a
    /// restart would, once the disk takes writes. One thread (the writer's).
    bool recover();

    core::Result<std::string> get(Family family, std::string_view key) const;
    /// Nothing is in any family; false also where that cannot be read.
    bool is_empty() const;

    /// Calls `each` with the pairs in [from, to) until it returns false. Keep it short: recover()
    /// waits for it. Errors: unavailable, corrupt.
    using Pair = std::function<bool(std::string_view key, std::string_view value)>;
    core::Result<void> scan(Family family, std::string_view from, std::string_view to,
                            const Pair& each) const;
    /// The last pair in [from, to), if there is one.
    core::Result<void> last(Family family, std::string_view from, std::string_view to,
                            const Pair& each) const;

private:
    rocksdb::Status open();
    void close();
    bool disk_takes_writes() const;
    std::uintmax_t write_ahead_bytes() const;
    rocksdb::ColumnFamilyHandle* handle(Family family) const {
        return handles_[static_cast<std::size_t>(family)];
    }

    const EmbeddedConfig config_;
    std::optional<rocks::HighWaterMark> mark_;  ///< constant after construction
    bool is_copy_ = false;
    mutable std::shared_mutex mutex_;  ///< exclusive while closing and opening
    std::unique_ptr<rocksdb::DB> db_;
    std::array<rocksdb::ColumnFamilyHandle*, kFamilies> handles_{};
    std::shared_mutex writing_;         ///< exclusive in recover(); taken before mutex_
    std::atomic<bool> failed_ = false;  ///< a write did, and nothing has recovered since
};

}  // namespace beckon::log::embedded
