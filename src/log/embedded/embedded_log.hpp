#pragma once

#include "log/event_log.hpp"
#include "rocks/memory.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace beckon::log {

/// When a record counts as durable.
enum class Sync {
    always,  ///< synced to disk before it is answered and before readers see it (promise 1)
    never,   ///< left to the operating system: survives kill -9, not a power loss
};

struct EmbeddedConfig {
    std::filesystem::path directory;
    Sync sync = Sync::always;
    /// Of every topic keyed by UAID, fixed at the first start; 0: those that the log has,
    /// kDefaultPartitions of a new one.
    core::Partition partitions = 0;
    std::chrono::seconds history_window{std::chrono::hours{24}};
    std::chrono::seconds delete_retention{std::chrono::hours{24 * 7}};
    std::chrono::seconds max_ttl{std::chrono::hours{24 * 30}};  ///< of a message
    std::chrono::milliseconds publish_timeout =
        kPublishTimeout;                    ///< an answer comes by then, if only an error
    std::size_t waiting_max = kWaitingMax;  ///< publishes of one publisher not yet answered
    std::size_t tail_bytes = 32U << 20;     ///< newest records kept in memory for readers
    /// Shared with the stores of the process; null: kMemoryBytes of its own.
    std::shared_ptr<rocks::Memory> memory{};
    const core::Clock* clock = nullptr;  ///< not null; outlives the log
    /// Whether the kernel vouches for that clock's wall time; any thread.
    std::function<bool()> clock_is_disciplined = [] { return true; };
    /// Of the kernel, since whose boot `clock` counts its monotonic time; empty: unknown. The times
    /// that the log keeps of the last process are exact within one boot.
    std::string boot_id{};
    rocksdb::Env* env = nullptr;  ///< how RocksDB reaches its files; for tests with faults

    static constexpr std::size_t kMemoryBytes = 80U << 20;
    static constexpr std::size_t kWriteBufferBytes = 64U << 20;
};

/// The log in RocksDB: one process, one directory.
class EmbeddedLog : public EventLog {
public:
    /// Cleans every partition as far as its settings allow, without the pauses in which the
    /// cleaner's thread lets others have the disk. Blocks; any thread but a loop.
    virtual core::Result<void> clean_now() = 0;

    /// Of every topic keyed by UAID.
    virtual core::Partition partitions() const = 0;

    /// Lines for a person: what was missing in its files at this start, or at an earlier one until
    /// somebody removes the file DAMAGED in its directory.
    virtual std::vector<std::string> damage() const = 0;

    /// Makes `directory`, which must not exist and be on the same disk, a copy of the log as it is
    /// at one moment, with all that was answered before the call. Others go on reading and writing.
    /// Blocks likewise. Errors: full, unavailable.
    virtual core::Result<void> copy_to(const std::filesystem::path& directory) = 0;
};

/// Whether a directory is a copy of a log (copy_to(), or `beckon backup`) that nobody has opened
/// yet. The log that it was made of may have gone on: its readers are ahead of the copy.
bool is_copy(const std::filesystem::path& directory);
inline constexpr const char* kCopyFile = "COPY";  ///< by which a copy is known
/// Makes a directory that holds the files of a log such a copy. Errors: unavailable.
core::Result<void> mark_as_copy(const std::filesystem::path& directory);

/// Opens or creates the log. Throws std::runtime_error with one line that names the directory: in
/// use by another process, cannot be written, made with another partition count, damaged.
std::unique_ptr<EmbeddedLog> open_embedded_log(const EmbeddedConfig& config);

}  // namespace beckon::log
