#pragma once

#include <atomic>
#include <cstdint>

#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <rocksdb/status.h>

namespace beckon::rocks {

/// A flush that was scheduled and has not begun when a write fails is never begun by RocksDB, and
/// resume() would wait for it for ever (docs/facts/rocksdb.md#traps). So the write that fails waits
/// here for flushes that are due, before RocksDB takes note of its error. A resume() that fails may
/// lose one all the same: it is not to be called again.
class FlushesFirst final : public rocksdb::EventListener {
public:
    /// Once it is open. It is not called after its Close().
    void watch(rocksdb::DB& db) { db_ = &db; }
    void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;

private:
    std::atomic<rocksdb::DB*> db_ = nullptr;
};

/// The number of the write-ahead file that the next write goes to; 0: it is unknown.
std::uint64_t write_ahead_file(rocksdb::DB& db);

/// After a failed write: lets RocksDB go on (DB::Resume). OK only if it has left the write-ahead
/// file `failed`, to which the write went that failed. `Aborted`: it means to go on with that file,
/// since it found nothing in memory to write out; the next write would end the process
/// (docs/facts/rocksdb.md#traps). Others: as DB::Resume(). No thread may write meanwhile, nor after
/// an `Aborted`.
rocksdb::Status resume(rocksdb::DB& db, std::uint64_t failed);

}  // namespace beckon::rocks
