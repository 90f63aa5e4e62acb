#pragma once

#include <memory>

namespace rocksdb {
class Env;
}

namespace beckon::rocks {

/// How a database reaches its files whose every write is synced, if its write-ahead files grow by
/// small synced writes. RocksDB appends to such a file and calls fdatasync, for which the file
/// system must also write that the file has grown: three waits for the disk. Here each write is one
/// call that returns when the bytes are on the disk, past the page cache, into a part of the file
/// that a thread of its own ("log-ahead") has filled with zeros before: one wait. RocksDB takes the
/// zeros behind the last record for the end. What is not synced is not written, and is lost with
/// the process.
///
/// A file costs up to 4 MiB more than what it holds until it is closed, and the disk writes its
/// bytes twice. Where the file system cannot write past the page cache, files are RocksDB's own.
/// Other files always are. Outlives the database.
std::unique_ptr<rocksdb::Env> env_for_synced_writes();

}  // namespace beckon::rocks
