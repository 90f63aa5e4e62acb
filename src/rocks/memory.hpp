#pragma once

#include <cstddef>
#include <memory>

namespace rocksdb {
class Cache;
class WriteBufferManager;
}  // namespace rocksdb

namespace beckon::rocks {

/// The block cache and the write buffers that all databases of a process share: one bound for the
/// memory of all of them. Thread-safe.
class Memory {
public:
    /// `bytes` bounds blocks, indexes, filters and write buffers together; of these, write buffers
    /// are flushed when they come to hold `write_buffer_bytes`.
    Memory(std::size_t bytes, std::size_t write_buffer_bytes);

    const std::shared_ptr<rocksdb::Cache> cache;
    const std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
    const std::size_t write_buffer_bytes;
};

}  // namespace beckon::rocks
