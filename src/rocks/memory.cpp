#include "rocks/memory.hpp"

#include <algorithm>
#include <bit>

#include <rocksdb/cache.h>
#include <rocksdb/write_buffer_manager.h>

namespace beckon::rocks {

namespace {

/// A block that is larger than its shard is dropped as soon as it has been used. RocksDB by itself
/// makes 64 shards of 1 or 2 MB, and the filter of a table of a million short rows has 1.25 MB: it
/// would be read from the disk for every row that is looked up.
constexpr std::size_t kShardBytes = 16U << 20;
constexpr int kShardBitsMin = 2;
constexpr int kShardBitsMax = 6;

int shard_bits(std::size_t bytes) {
    return std::clamp(static_cast<int>(std::bit_width(bytes / kShardBytes)) - 1, kShardBitsMin,
                      kShardBitsMax);
}

}  // namespace

Memory::Memory(std::size_t bytes, std::size_t buffer_bytes)
    : cache(rocksdb::NewLRUCache(bytes, shard_bits(bytes))),
      write_buffers(std::make_shared<rocksdb::WriteBufferManager>(buffer_bytes, cache)),
      write_buffer_bytes(buffer_bytes) {}

}  // namespace beckon::rocks
