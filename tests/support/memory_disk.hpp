#pragma once

#include <memory>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace beckon::test {

/// A disk in memory below RocksDB: for simulations that open dozens of databases a second. What a
/// database has written is there when it is opened again; a new MemoryDisk is an empty one.
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
