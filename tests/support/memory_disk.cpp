#include "support/memory_disk.hpp"

#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace beckon::test {

namespace {

class Files final : public rocksdb::FileSystemWrapper {
public:
    using FileSystemWrapper::FileSystemWrapper;
    const char* Name() const override { return "beckon.memory"; }

    rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override {
        if (name.find("/OPTIONS-") != std::string::npos) {
            return rocksdb::IOStatus::NotSupported("no OPTIONS files here");
        }
        return target()->NewWritableFile(name, options, file, debug);
    }
};

}  // namespace

MemoryDisk::MemoryDisk()
    : memory_(rocksdb::NewMemEnv(rocksdb::Env::Default())),
      env_(rocksdb::NewCompositeEnv(std::make_shared<Files>(memory_->GetFileSystem()))) {}
MemoryDisk::~MemoryDisk() = default;

}  // namespace beckon::test
