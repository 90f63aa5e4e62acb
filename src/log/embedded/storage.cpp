#include "log/embedded/storage.hpp"

#include "core/assert.hpp"
#include "core/descriptors.hpp"
#include "core/logger.hpp"
#include "log/embedded/damage.hpp"
#include "log/embedded/record_format.hpp"
#include "rocks/directory.hpp"
#include "rocks/error.hpp"
#include "rocks/options.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/version.h>
#include <unistd.h>

namespace beckon::log::embedded {

using core::Fault;
using core::Result;
using rocks::slice;
using rocks::view;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

/// The WAL may not be pinned for ever by a family that is rarely written.
constexpr std::uint64_t kWalBytesMax = 256U << 20;
/// RocksDB compacts a file once half of so many neighbouring rows are deletions: a reader from the
/// start would have to step over each of them.
constexpr std::size_t kDeletionWindow = 32'768;
constexpr std::size_t kDeletionTrigger = 16'384;
/// So much must fit on the disk before a failed log is opened again.
constexpr std::size_t kProbeBytes = 1U << 20;
/// A copy takes the write-ahead files with it, however long they are: nothing is flushed for it.
constexpr std::uint64_t kNeverFlush = std::numeric_limits<std::uint64_t>::max();
constexpr const char* kNotOpen = "the log's database is not open";
constexpr std::array<const char*, kFamilies> kFamilyNames = {"default", "records", "latest"};

/// A full disk is named as such, since senders receive that (log/event_log.hpp).
core::Error error_of(const Status& status) {
    return rocks::to_error(status, status.IsNoSpace() ? kDiskFull : "the log's database");
}

rocksdb::DBOptions db_options(const EmbeddedConfig& config, rocksdb::Env* env) {
    auto options = rocks::db_options(
        {.folder = "log", .directory = config.directory, .memory = config.memory, .env = env});
    options.max_total_wal_size = kWalBytesMax;
    // One thread writes, the cleaner seldom; and the insert hint of the records needs it.
    options.allow_concurrent_memtable_write = false;
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
    // A WAL file that went missing or lost its synced end must not pass for a short one.
    options.track_and_verify_wals_in_manifest = true;
    return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> families(const EmbeddedConfig& config) {
    const auto write_buffer_bytes = config.memory->write_buffer_bytes;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = config.memory->cache;
    table.cache_index_and_filter_blocks = true;  // they count against the shared memory too
    table.cache_index_and_filter_blocks_with_high_priority = true;
    table.block_size = 16U << 10;
    table.format_version = 5;

    auto meta = rocks::family_options();
    meta.write_buffer_size = 1U << 20;
    meta.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

    auto records = rocks::family_options();
    records.write_buffer_size = write_buffer_bytes / 2;
    records.max_write_buffer_number = 3;
    // Offsets of a partition come in order: each insert begins where the last one ended. With this
    // hint no range may ever be deleted in the family: RocksDB 7.8 uses one hint for two lists.
    records.memtable_insert_with_hint_prefix_extractor.reset(
        rocksdb::NewFixedPrefixTransform(kPartitionKeyBytes));
    // New records always come behind the old ones of their partition. A merge of flushed memtables
    // rewrites all of level 1, since they reach from its first partition to its last, so that is
    // small. With small files only those at the partitions' ends are rewritten below it; all others
    // are moved down as they are. Most of the bytes are encrypted, so only later rewrites are
    // compressed.
    records.target_file_size_base = 8U << 20;
    records.max_bytes_for_level_base = 64U << 20;
    records.level0_file_num_compaction_trigger = 8;
    records.compression_per_level = {rocksdb::kNoCompression, rocksdb::kNoCompression,
                                     rocksdb::kLZ4Compression};
#if ROCKSDB_MAJOR < 9  // later ones have no such check to turn off
    records.check_flush_compaction_key_order = false;
#endif
    records.table_properties_collector_factories.push_back(
        rocksdb::NewCompactOnDeletionCollectorFactory(kDeletionWindow, kDeletionTrigger));
    records.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

    auto latest = rocks::family_options();
    latest.write_buffer_size = write_buffer_bytes / 4;
    latest.table_properties_collector_factories.push_back(
        rocksdb::NewCompactOnDeletionCollectorFactory(kDeletionWindow, kDeletionTrigger));
    // Most keys that the cleaner asks for are not there.
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    latest.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

    return {{kFamilyNames[0], meta}, {kFamilyNames[1], records}, {kFamilyNames[2], latest}};
}

[[noreturn]] void refuse(const std::filesystem::path& directory, const Status& status) {
    if (rocks::is_in_use(status)) {
        throw std::runtime_error("the log directory " + directory.string() +
                                 " is in use by another process" + rocks::lock_holder(directory));
    }
    const auto text = status.ToString();
    if (status.IsCorruption()) {
        throw std::runtime_error("the log in " + directory.string() + " is damaged: " + text);
    }
    throw std::runtime_error("cannot open the log in " + directory.string() + ": " + text);
}

void prepare(const std::filesystem::path& directory) {
    if (const auto made = rocks::make_directory(directory); !made) {
        throw std::runtime_error("the log: " + made.error().message);
    }
}

}  // namespace

void Batch::put(Family family, std::string_view key, std::string_view value) {
    batch_.Put((*handles_)[static_cast<std::size_t>(family)], slice(key), slice(value));
}

void Batch::put(Family family, std::string_view key, std::string_view head, std::string_view tail) {
    const Slice key_part = slice(key);
    const std::array<Slice, 2> value_parts{slice(head), slice(tail)};
    batch_.Put((*handles_)[static_cast<std::size_t>(family)], rocksdb::SliceParts(&key_part, 1),
               rocksdb::SliceParts(value_parts.data(), 2));
}

void Batch::erase(Family family, std::string_view key) {
    batch_.Delete((*handles_)[static_cast<std::size_t>(family)], slice(key));
}

Storage::Storage(const EmbeddedConfig& config) : config_(config) {
    BECKON_ASSERT(config_.memory != nullptr, "open_embedded_log() gives it one");
    prepare(config_.directory);
    is_copy_ = log::is_copy(config_.directory);
    mark_.emplace(
        rocks::HighWaterMark::Options{.directory = config_.directory,
                                      .env = config_.env ? config_.env : rocks::default_env(),
                                      .marks_writes = true,
                                      .boot_id = config_.boot_id});
    if (const auto missing = mark_->missing_files(); !missing.empty()) {
        throw std::runtime_error("the log in " + config_.directory.string() +
                                 " is damaged: " + missing);
    }
    KeptFiles kept{config_.directory};
    if (const auto status = open(); !status.ok()) refuse(config_.directory, status);
    const auto missing = mark_->missing_writes(db_->GetLatestSequenceNumber());
    if (missing > 0) kept.note_missing(missing);
}

void Storage::forget_copy() {
    std::error_code ignored;  // as long as it is there, offsets are left out
    std::filesystem::remove(config_.directory / kCopyFile, ignored);
    is_copy_ = false;
}

Storage::~Storage() { close(); }

Status Storage::open() {
    rocksdb::DB* db = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    const auto options = db_options(config_, mark_->env());
    auto status =
        rocksdb::DB::Open(options, config_.directory.string(), families(config_), &handles, &db);
    if (!status.ok()) return status;
    db_.reset(db);
    std::copy(handles.begin(), handles.end(), handles_.begin());
    return status;
}

void Storage::close() {
    if (!db_) return;
    for (auto*& handle : handles_) {
        db_->DestroyColumnFamilyHandle(handle);
        handle = nullptr;
    }
    const auto status = db_->Close();
    if (!status.ok()) core::log_warn("log", "close_failed", {{"error", status.ToString()}});
    db_.reset();
}

Result<void> Storage::write(Batch& batch, bool sync, const std::function<void(Batch&)>& fill) {
    const std::shared_lock writing{writing_};
    const std::shared_lock lock{mutex_};
    if (!db_) return core::fail(Fault::unavailable, kNotOpen);
    batch.batch_.Clear();
    batch.handles_ = &handles_;
    batch.require_sync_ = false;
    fill(batch);
    rocksdb::WriteOptions options;
    options.sync = sync || batch.require_sync_;
    // Its writes get numbers behind this one, and may get them behind those of others.
    const auto before = db_->GetLatestSequenceNumber();
    const auto status = db_->Write(options, &batch.batch_);
    if (!status.ok()) return core::fail(error_of(status));
    const bool all_synced = config_.sync == Sync::always;
    if (options.sync || !all_synced) mark_->wrote(before + batch.batch_.Count(), options.sync);
    return {};
}

Result<void> Storage::flush() {
    const std::shared_lock lock{mutex_};
    if (!db_) return core::fail(Fault::unavailable, kNotOpen);
    rocksdb::FlushOptions options;
    options.allow_write_stall = true;  // there are no writes at a start or a stop
    const auto status = db_->Flush(options, {handles_.begin(), handles_.end()});
    if (!status.ok()) return core::fail(error_of(status));
    mark_->flushed(db_->GetLatestSequenceNumber());
    return {};
}

Result<void> Storage::copy_to(const std::filesystem::path& directory) {
    const std::shared_lock lock{mutex_};
    if (!db_) return core::fail(Fault::unavailable, kNotOpen);
    rocksdb::Checkpoint* made = nullptr;
    auto status = rocksdb::Checkpoint::Create(db_.get(), &made);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint{made};
    if (status.ok()) status = checkpoint->CreateCheckpoint(directory.string(), kNeverFlush);
    if (!status.ok()) return core::fail(error_of(status));
    return mark_as_copy(directory);
}

bool Storage::recover() {
    // RocksDB's own way (Resume) may hang, or end the process: docs/facts/rocksdb.md#traps.
    // Closing a log that then cannot be opened would take the readers' history away as well.
    if (!disk_takes_writes()) return false;
    const std::unique_lock nobody_writes{writing_};
    const std::unique_lock lock{mutex_};
    close();
    const auto status = open();
    core::log_info("log", "reopen", {{"status", status.ToString()}});
    return status.ok();
}

/// Opening flushes the content of the write-ahead files.
bool Storage::disk_takes_writes() const {
    std::error_code error;
    const auto space = std::filesystem::space(config_.directory, error);
    if (error || space.available < write_ahead_bytes() + kProbeBytes) return false;
    const auto path = config_.directory / "probe";
    const core::Descriptor file{
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    if (!file) return false;
    const std::string filler(kProbeBytes, '\0');
    const bool taken =
        ::write(file.get(), filler.data(), filler.size()) == static_cast<ssize_t>(filler.size()) &&
        fdatasync(file.get()) == 0;
    ::unlink(path.c_str());
    return taken;
}

std::uintmax_t Storage::write_ahead_bytes() const {
    std::uintmax_t bytes = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(config_.directory, error)) {
        if (entry.path().extension() != ".log") continue;
        const auto size = entry.file_size(error);
        if (!error) bytes += size;
    }
    // Writes older than the memtables' content are in tables already.
    return std::min<std::uintmax_t>(bytes, config_.memory->write_buffer_bytes);
}

Result<std::string> Storage::get(Family family, std::string_view key) const {
    const std::shared_lock lock{mutex_};
    if (!db_) return core::fail(Fault::unavailable, kNotOpen);
    std::string value;
    const auto status = db_->Get({}, handle(family), slice(key), &value);
    if (!status.ok()) return core::fail(error_of(status));
    return value;
}

bool Storage::is_empty() const {
    const std::shared_lock lock{mutex_};
    return db_ && std::all_of(handles_.begin(), handles_.end(), [&](auto* family) {
               const std::unique_ptr<rocksdb::Iterator> at{db_->NewIterator({}, family)};
               at->SeekToFirst();
               return !at->Valid() && at->status().ok();
           });
}

Result<void> Storage::scan(Family family, std::string_view from, std::string_view to,
                           const Pair& each) const {
    const std::shared_lock lock{mutex_};
    if (!db_) return core::fail(Fault::unavailable, kNotOpen);
    const Slice bound = slice(to);
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &bound;
    options.fill_cache = false;  // read once, in order: it would only push others out
    const std::unique_ptr<rocksdb::Iterator> at{db_->NewIterator(options, handle(family))};
    for (at->Seek(slice(from)); at->Valid(); at->Next()) {
        if (!each(view(at->key()), view(at->value()))) break;
    }
    if (!at->status().ok()) return core::fail(error_of(at->status()));
    return {};
}

Result<void> Storage::last(Family family, std::string_view from, std::string_view to,
                           const Pair& each) const {
    const std::shared_lock lock{mutex_};
    if (!db_) return core::fail(Fault::unavailable, kNotOpen);
    const Slice bound = slice(to);
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &bound;
    const std::unique_ptr<rocksdb::Iterator> at{db_->NewIterator(options, handle(family))};
    at->SeekToLast();
    if (at->Valid() && view(at->key()) >= from) each(view(at->key()), view(at->value()));
    if (!at->status().ok()) return core::fail(error_of(at->status()));
    return {};
}

}  // namespace beckon::log::embedded

namespace beckon::log {

bool is_copy(const std::filesystem::path& directory) {
    return std::filesystem::exists(directory / kCopyFile);
}

core::Result<void> mark_as_copy(const std::filesystem::path& directory) {
    const auto file = directory / kCopyFile;
    if (const std::ofstream empty{file}; !empty) {
        return core::fail(core::Fault::unavailable, "cannot write " + file.string());
    }
    return {};
}

}  // namespace beckon::log
