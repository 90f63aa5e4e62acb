#pragma once

#include "core/bytes.hpp"
#include "core/result.hpp"
#include "log/embedded/embedded_log.hpp"
#include "log/embedded/record_format.hpp"
#include "rocks/high_water_mark.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

/// The keys of the family `meta`. Numbers are 8 bytes, big-endian. Keys are scanned by the letters
/// b, c and g: a new name begins with another one.
///
///   layout              "<format> <partitions>", as text
///   clean               there only after a clean stop
///   kernel              the boot of the kernel in which the log was last opened, as text
///   time                the clock reading of the newest records (log_time.hpp)
///   time_gaps           reboots whose length that time does not count (log_time.hpp)
///   b ‖ partition       the end of the block of offsets that is reserved
///   e ‖ partition       the exact end, while `clean` is there; else where it stood when
///                       the log was opened, or the cleaner last took tombstones away
///   s ‖ partition       the log's start
///   c ‖ partition       how far the cleaner came: indexed to ‖ tombstones dropped to
///   g ‖ group ‖ 0 ‖ partition    a group's offset
namespace beckon::log::embedded::meta {

inline constexpr std::string_view kLayout = "layout";
inline constexpr std::string_view kClean = "clean";
inline constexpr std::string_view kBoot = "kernel";
inline constexpr std::string_view kTime = "time";
inline constexpr std::string_view kTimeGaps = "time_gaps";
inline constexpr char kBlock = 'b';
inline constexpr char kEnd = 'e';
inline constexpr char kStart = 's';
inline constexpr char kCleaner = 'c';
inline constexpr char kGroup = 'g';

inline std::string key(char kind, TopicPartition where) { return kind + partition_key(where); }

inline std::string number(core::Offset offset) {
    std::string bytes(8, '\0');
    core::put_fixed(bytes.data(), static_cast<std::uint64_t>(offset));
    return bytes;
}
inline core::Offset to_offset(std::string_view bytes) {
    return static_cast<core::Offset>(core::get_fixed<std::uint64_t>(bytes.data()));
}

/// The first key after all those that begin with `prefix`.
inline std::string after(std::string prefix) {
    prefix.push_back('\xff');
    return prefix;
}

}  // namespace beckon::log::embedded::meta

namespace beckon::log::embedded {

/// The families of the embedded log's RocksDB.
///   meta     layout, reserved blocks, log starts, cleaner positions, group offsets (see meta)
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
    std::shared_mutex writing_;  ///< exclusive in recover(); taken before mutex_
};

}  // namespace beckon::log::embedded
