#pragma once

#include <memory>

#include <rocksdb/env.h>

namespace beckon::rocks {

/// RocksDB's errors as lines of our own log.
///
/// RocksDB's own logger writes a file in the data directory, and Debian's build keeps assertions
/// on: once the disk is full and one of its lines was lost, the next one aborts the process.
std::shared_ptr<rocksdb::Logger> make_logger();

}  // namespace beckon::rocks
