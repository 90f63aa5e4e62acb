#pragma once

#include "core/result.hpp"

#include <string_view>

#include <rocksdb/status.h>

namespace beckon::rocks {

/// RocksDB's answer as ours; `what` says what was being done, with the path. It distinguishes what
/// a caller must treat differently:
///   corrupt      the bytes on disk are not what was written: they will not come back
///   full         the disk has no space
///   conflict     another process has the directory open
///   not_found    there is no such key
///   unavailable  everything else (EIO, EMFILE, …): it may pass, and proves nothing about the data
core::Error to_error(const rocksdb::Status& status, std::string_view what);

/// The directory is open in another process, or a second time in this one.
bool is_in_use(const rocksdb::Status& status);

}  // namespace beckon::rocks
