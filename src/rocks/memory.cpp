#include "rocks/memory.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/write_buffer_manager.h>

namespace beckon::rocks {

namespace {

/// A block that is larger than its shard is dropped as soon as it has been used. RocksDB by itself
/// makes 64 shards of 1 or 2 MB, and the filter of a table of a million short rows has 1.25 MB: it
/// would be read from the disk for every row that is looked up. Few threads ask, so few shards do.
constexpr int kShardBits = 2;

}  // namespace

Memory::Memory(std::size_t bytes, std::size_t buffer_bytes)
    : cache(rocksdb::NewLRUCache(bytes, kShardBits)),
      write_buffers(std::make_shared<rocksdb::WriteBufferManager>(buffer_bytes, cache)),
      write_buffer_bytes(buffer_bytes) {}

}  // namespace beckon::rocks
