#include "rocks/memory.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/write_buffer_manager.h>

namespace beckon::rocks {

Memory::Memory(std::size_t bytes, std::size_t buffer_bytes)
    : cache(rocksdb::NewLRUCache(bytes)),
      write_buffers(std::make_shared<rocksdb::WriteBufferManager>(buffer_bytes, cache)),
      write_buffer_bytes(buffer_bytes) {}

}  // namespace beckon::rocks
