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
/// record for the end; who copies the file is given how much of it was written. What is not synced
/// is not written, and is lost with the process.
///
/// A file costs up to 4 MiB more than what it holds until it is closed, and the disk writes its
/// bytes twice. Where the file system does not take such writes, files are RocksDB's own. Other
/// files always are, those of a copy of the database among them. Outlives the database.
std::unique_ptr<rocksdb::Env> env_for_synced_writes(const std::filesystem::path& directory);

}  // namespace beckon::rocks
