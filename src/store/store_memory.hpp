#pragma once

#include <cstddef>
#include <memory>

namespace beckon::store {

/// The block cache and the write buffers that all stores of a process share: one bound
/// for the memory of all of them. Thread-safe.
class StoreMemory;

/// `cache_bytes` bounds blocks, indexes, filters and write buffers together; of these, write
/// buffers are flushed when they come to hold `write_buffer_bytes`.
std::shared_ptr<StoreMemory> make_store_memory(std::size_t cache_bytes,
                                               std::size_t write_buffer_bytes);

}  // namespace beckon::store
