#pragma once

#include <cstdint>

#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

namespace beckon::store::test {

/// Rows that RocksDB stepped over, places that it sought and blocks that it opened while `work`
/// ran, on this thread.
template <class Work>
std::uint64_t rows_touched(Work work) {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    work();
    const auto& context = *rocksdb::get_perf_context();
    const auto touched = context.internal_key_skipped_count +
                         context.internal_delete_skipped_count + context.next_on_memtable_count +
                         context.seek_child_seek_count + context.block_cache_hit_count +
                         context.block_read_count;
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    return touched;
}

}  // namespace beckon::store::test
