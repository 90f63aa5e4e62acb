#pragma once

#include <memory>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace beckon::test {

/// A disk in memory below RocksDB: for simulations that open dozens of databases a second. A
/// database that is opened again has its former data; a new MemoryDisk is empty.
///
/// It refuses RocksDB's OPTIONS files, which nobody here reads: to write and verify one takes
/// longer than everything else that an open does. Outlives the databases on it.
class MemoryDisk {
public:
    MemoryDisk();
    ~MemoryDisk();
    MemoryDisk(const MemoryDisk&) = delete;
    MemoryDisk& operator=(const MemoryDisk&) = delete;

    rocksdb::Env* env() const { return env_.get(); }

private:
    std::unique_ptr<rocksdb::Env> memory_;
    std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace beckon::test
