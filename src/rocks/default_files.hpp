#pragma once

#include <memory>

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

}  // namespace beckon::rocks
