#include "rocks/default_files.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace beckon::rocks {

namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOStatus;

/// RocksDB has no code of its own for it: its text ends in that of the system.
bool is_shortage(const IOStatus& status) {
    if (!status.IsIOError()) return false;
    const auto text = status.ToString();
    return text.ends_with(std::strerror(EMFILE)) || text.ends_with(std::strerror(ENFILE));
}

IOStatus passing(IOStatus status) {
    if (is_shortage(status)) status.SetRetryable(true);
    return status;
}

class DefaultFiles final : public rocksdb::FileSystemWrapper {
public:
    using FileSystemWrapper::FileSystemWrapper;
    const char* Name() const override { return "BeckonFiles"; }

    IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSSequentialFile>* out,
                               IODebugContext* context) override {
        return passing(FileSystemWrapper::NewSequentialFile(path, options, out, context));
    }
    IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                 std::unique_ptr<rocksdb::FSRandomAccessFile>* out,
                                 IODebugContext* context) override {
        return passing(FileSystemWrapper::NewRandomAccessFile(path, options, out, context));
    }
    IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* out,
                             IODebugContext* context) override {
        return passing(FileSystemWrapper::NewWritableFile(path, options, out, context));
    }
    IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                                std::unique_ptr<rocksdb::FSWritableFile>* out,
                                IODebugContext* context) override {
        return passing(FileSystemWrapper::ReopenWritableFile(path, options, out, context));
    }
    IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                               const FileOptions& options,
                               std::unique_ptr<rocksdb::FSWritableFile>* out,
                               IODebugContext* context) override {
        return passing(FileSystemWrapper::ReuseWritableFile(path, old_path, options, out, context));
    }
    IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                          std::unique_ptr<rocksdb::FSDirectory>* out,
                          IODebugContext* context) override {
        return passing(FileSystemWrapper::NewDirectory(path, options, out, context));
    }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> default_files() {
    static const auto files = std::make_shared<DefaultFiles>(rocksdb::FileSystem::Default());
    return files;
}

rocksdb::Env* default_env() {
    static rocksdb::Env* const env = rocksdb::NewCompositeEnv(default_files()).release();
    return env;
}

}  // namespace beckon::rocks
