#pragma once

#include <filesystem>
#include <memory>

namespace rocksdb {
class Env;
}

namespace beckon::rocks {

/// How the database in `directory` reaches its files if every write is synced, and small. RocksDB
/// appends to its write-ahead file and calls fdatasync, for which the file system must also write
/// that the file has grown: three waits for the disk. Here each write is one call that returns when
/// the bytes are on the disk, past the page cache, into a part of the file that a thread of its own
/// ("log-ahead") has filled with zeros before: one wait. RocksDB takes the zeros behind the last
/// record for the end; copies of the file get the length that was written. Bytes that are not
/// synced are not written either: they are lost with the process.
///
/// A file costs up to 4 MiB more than its content until it is closed, and the disk writes its bytes
/// twice. Where the file system does not take such writes, RocksDB's own files are used; they are
/// always used for all other files, also for a copy of the database. Outlives the database.
std::unique_ptr<rocksdb::Env> env_for_synced_writes(const std::filesystem::path& directory);

}  // namespace beckon::rocks
