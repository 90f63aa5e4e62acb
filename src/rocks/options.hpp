#pragma once

#include "rocks/memory.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include <rocksdb/options.h>
#include <rocksdb/table_properties.h>

namespace rocksdb {

class Env;
class FileSystem;

}  // namespace rocksdb

namespace beckon::rocks {

/// The files as RocksDB reaches them by default, but for one error: a file that cannot be opened
/// since the process or the system has no descriptor left (EMFILE, ENFILE) may be tried again.
/// RocksDB takes most errors while it makes a file for final: then nothing is written until the
/// database is opened again (docs/facts/rocksdb.md#traps). Any thread.
std::shared_ptr<rocksdb::FileSystem> default_files();
/// An Env with them, which lives as long as the process.
rocksdb::Env* default_env();

/// How often threads that work in the background may let others have their processor: each once in
/// `every`, and no more while what they have waited for that, together, is `share` of the time.
/// Where other programs use all processors a yield costs milliseconds, and flushes that come too
/// late hold up all writers. Thread-safe.
class YieldBudget {
public:
    using Duration = std::chrono::steady_clock::duration;
    using Time = std::chrono::steady_clock::time_point;
    struct Limits {
        Duration every = std::chrono::microseconds{100};
        double share = 0.3;
        Duration saved_max = std::chrono::milliseconds{10};  ///< of the share, for later
    };

    explicit YieldBudget(const Limits& limits) : limits_(limits) {}

    /// Whether the thread whose last yield ended at `last` may yield at `now`.
    bool allows(Time last, Time now);
    /// A yield took that long.
    void spend(Duration waited);

private:
    const Limits limits_;
    std::mutex mutex_;
    Time earned_until_{};
    Duration left_{};
};

/// For a family: the threads that write its tables (flushes and compactions)
/// yield between two blocks, so that a thread for which somebody waits has the processor after a
/// block, and not after the 3 ms or more for which the scheduler leaves it to one thread. All
/// databases of the process share one YieldBudget. `yield`: for tests.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> yields_between_blocks(
    std::function<void()> yield = nullptr);

/// The facts from which the settings of one database follow.
struct Setup {
    std::string_view folder;  ///< the folder of its log lines: "store", "log"
    std::filesystem::path directory;
    std::shared_ptr<Memory> memory;  ///< not null
    /// How it reaches its files; null: default_env(). Tests put faults here.
    rocksdb::Env* env = nullptr;
};

/// The settings that all our databases share.
///
/// * Blocks and write buffers count against `memory`.
/// * RocksDB's errors become lines of our own log. Its own logger writes a file in the directory,
///   and Debian's build keeps assertions on: once the disk is full and one of its lines was lost,
///   the next one aborts the process.
/// * After an error of the disk RocksDB does not recover on a thread of its own, which would refuse
///   Resume() meanwhile: the next writer calls Resume().
rocksdb::DBOptions db_options(const Setup& setup);

/// The settings that all families of our databases share; the threads that write their tables
/// yield between blocks.
rocksdb::ColumnFamilyOptions family_options();

}  // namespace beckon::rocks
