#pragma once

#include "core/result.hpp"

#include <string_view>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

namespace beckon::rocks {

inline rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

/// RocksDB's status as our Error; `what` names the operation and the path. Callers treat these
/// faults differently:
///   corrupt      the bytes on disk are not the bytes that were written, which are lost
///   full         the disk has no space
///   conflict     another process has the directory open
///   not_found    there is no such key
///   unavailable  everything else (EIO, EMFILE, …): it may pass, and proves nothing about the data
core::Error to_error(const rocksdb::Status& status, std::string_view what);

/// The directory is open in another process, or a second time in this one.
bool is_in_use(const rocksdb::Status& status);

}  // namespace beckon::rocks
