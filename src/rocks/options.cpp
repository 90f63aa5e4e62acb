#include "rocks/options.hpp"

#include "core/assert.hpp"
#include "core/logger.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/listener.h>
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

class Logger final : public rocksdb::Logger {
public:
    // Its warnings report every wait of a writer and of failures that a write returns as well.
    Logger(std::string_view folder, std::string path)
        : rocksdb::Logger(rocksdb::InfoLogLevel::ERROR_LEVEL),
          folder_(folder),
          path_(std::move(path)) {}
    ~Logger() override { closed_ = true; }

    using rocksdb::Logger::Logv;

    void Logv(const char* format, va_list arguments) override {
        Logv(rocksdb::InfoLogLevel::ERROR_LEVEL, format, arguments);
    }
    void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
        if (level < GetInfoLogLevel() || level == rocksdb::InfoLogLevel::HEADER_LEVEL) return;
        std::array<char, 1024> text{};
        std::vsnprintf(text.data(), text.size(), format, arguments);
        core::log_error(folder_, "rocksdb", {{"path", path_}, {"message", text.data()}});
    }

private:
    const std::string folder_;
    const std::string path_;
};

class NoRecoveryByItself final : public rocksdb::EventListener {
public:
    void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                              bool* auto_recovery) override {
        *auto_recovery = false;
    }
};

}  // namespace

Memory::Memory(std::size_t bytes, std::size_t buffer_bytes)
    : cache(rocksdb::NewLRUCache(bytes, shard_bits(bytes))),
      write_buffers(std::make_shared<rocksdb::WriteBufferManager>(buffer_bytes, cache)),
      write_buffer_bytes(buffer_bytes) {}

rocksdb::DBOptions db_options(const Setup& setup) {
    BECKON_ASSERT(setup.memory != nullptr, "every database counts against the shared memory");
    rocksdb::DBOptions options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.write_buffer_manager = setup.memory->write_buffers;
    options.max_background_jobs = 2;
    options.bytes_per_sync = 1U << 20;
    options.listeners = {std::make_shared<NoRecoveryByItself>()};
    options.max_bgerror_resume_count = 0;
    options.info_log = std::make_shared<Logger>(setup.folder, setup.directory.string());
    // These files have no reader, so a disk without space for them must refuse no write; in RocksDB
    // 9 it would.
    options.fail_if_options_file_error = false;
    options.stats_dump_period_sec = 0;
    options.stats_persist_period_sec = 0;
    options.env = setup.env ? setup.env : default_env();
    return options;
}

rocksdb::ColumnFamilyOptions family_options() {
    rocksdb::ColumnFamilyOptions options;
    options.table_properties_collector_factories.push_back(yields_between_blocks());
    return options;
}

namespace {

using Clock = std::chrono::steady_clock;

class YieldingTable final : public rocksdb::TablePropertiesCollector {
public:
    explicit YieldingTable(std::function<void()> yield) : yield_(std::move(yield)) {}

    const char* Name() const override { return "beckon.yields"; }
    rocksdb::Status AddUserKey(const rocksdb::Slice&, const rocksdb::Slice&, rocksdb::EntryType,
                               rocksdb::SequenceNumber, std::uint64_t) override {
        return rocksdb::Status::OK();
    }
    void BlockAdd(std::uint64_t, std::uint64_t, std::uint64_t) override {
        const auto now = Clock::now();
        if (!budget().allows(last_, now)) return;
        yield_();
        last_ = Clock::now();
        budget().spend(last_ - now);
    }
    rocksdb::Status Finish(rocksdb::UserCollectedProperties*) override {
        return rocksdb::Status::OK();
    }
    rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }

private:
    static YieldBudget& budget() {
        static YieldBudget shared{{}};
        return shared;
    }
    const std::function<void()> yield_;
    Clock::time_point last_ = Clock::now();
};

class YieldingTables final : public rocksdb::TablePropertiesCollectorFactory {
public:
    explicit YieldingTables(std::function<void()> yield) : yield_(std::move(yield)) {}

    const char* Name() const override { return "beckon.yields"; }
    rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
        rocksdb::TablePropertiesCollectorFactory::Context) override {
        return new YieldingTable{yield_};
    }

private:
    const std::function<void()> yield_;
};

}  // namespace

bool YieldBudget::allows(Time last, Time now) {
    if (now - last < limits_.every) return false;
    const std::lock_guard lock{mutex_};
    const auto earned = std::chrono::duration<double>{now - earned_until_} * limits_.share;
    left_ = std::min(limits_.saved_max, left_ + std::chrono::duration_cast<Duration>(earned));
    earned_until_ = now;
    return left_ > Duration::zero();
}

void YieldBudget::spend(Duration waited) {
    const std::lock_guard lock{mutex_};
    left_ -= waited;
}

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> yields_between_blocks(
    std::function<void()> yield) {
    if (!yield) yield = [] { std::this_thread::yield(); };
    return std::make_shared<YieldingTables>(std::move(yield));
}

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
