#pragma once

#include "rocks/memory.hpp"

#include <filesystem>
#include <memory>
#include <string_view>

#include <rocksdb/options.h>

namespace beckon::rocks {

/// The facts from which the settings of one database follow.
struct Setup {
    std::string_view folder;  ///< the folder of its log lines: "store", "log"
    std::filesystem::path directory;
    std::shared_ptr<Memory> memory;  ///< not null
    /// How it reaches its files; null: rocks/default_files.hpp. Tests put faults here.
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

/// The settings that all families of our databases share: whoever writes their tables yields
/// between blocks (rocks/background_yield.hpp).
rocksdb::ColumnFamilyOptions family_options();

}  // namespace beckon::rocks
