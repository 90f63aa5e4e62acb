#include "store/database.hpp"

#include "core/assert.hpp"
#include "core/contain.hpp"
#include "core/descriptors.hpp"
#include "rocks/directory.hpp"
#include "rocks/error.hpp"
#include "rocks/options.hpp"
#include "store/rows/drained_clients.hpp"
#include "store/rows/row_key.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/transaction_log.h>
#include <rocksdb/utilities/checkpoint.h>

namespace beckon::rocks {

using rocksdb::DB;
using std::chrono::steady_clock;

namespace {

/// One that takes longer hangs, and the loop with it.
constexpr std::chrono::seconds kFlushesWithin{10};
/// A flush that may begin does so in milliseconds; after an earlier error it may never begin.
constexpr std::chrono::seconds kBeginsWithin{1};
constexpr std::chrono::milliseconds kPollEvery{1};

std::uint64_t total(DB& db, const std::string& property) {
    std::uint64_t sum = 0;
    db.GetAggregatedIntProperty(property, &sum);
    return sum;
}

std::uint64_t number(DB& db, const std::string& property) {
    std::uint64_t value = 0;
    db.GetIntProperty(property, &value);
    return value;
}

/// Whether a flush or a compaction runs, or has failed within a second. resume() would wait for it,
/// and would take an error of before, which it reports late, for one of its own.
bool runs_jobs(DB& db) {
    return number(db, DB::Properties::kNumRunningFlushes) > 0 ||
           number(db, DB::Properties::kNumRunningCompactions) > 0;
}

/// The number of the write-ahead file that the next write goes to; 0: it is unknown.
std::uint64_t write_ahead_file(DB& db) {
    std::unique_ptr<rocksdb::LogFile> file;
    return db.GetCurrentWalFile(&file).ok() ? file->LogNumber() : 0;
}

/// After a failed write: lets RocksDB go on (DB::Resume). OK only if it has left the write-ahead
/// file `failed`, to which the write went that failed. `Aborted`: it means to go on with that file,
/// since it found nothing in memory to write out; the next write would end the process
/// (docs/facts/rocksdb.md#traps). Others: as DB::Resume(). No thread may write meanwhile, nor after
/// an `Aborted`.
rocksdb::Status resume(DB& db, std::uint64_t failed) {
    auto status = db.Resume();
    if (!status.ok()) return status;
    const auto now = write_ahead_file(db);
    if (now == failed || now == 0 || failed == 0) {
        return rocksdb::Status::Aborted("the write-ahead file is still the one that failed");
    }
    return status;
}

}  // namespace

/// RocksDB schedules one flush at a time. A failed write, and one that gets no new write-ahead file
/// (kMemTable), waits until none is due; a flush that fails meanwhile was begun. A compaction that
/// fails ends no wait. A running flush may be writing a manifest, and so may a caller that makes a
/// family.
void FlushesFirst::OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status*) {
    using Reason = rocksdb::BackgroundErrorReason;
    if (reason == Reason::kFlush || reason == Reason::kFlushNoWAL ||
        reason == Reason::kManifestWriteNoWAL) {
        ++failed_flushes_;
    }
    auto* db = db_.load();
    const bool of_a_write = reason == Reason::kWriteCallback || reason == Reason::kMemTable;
    if (!db || (!of_a_write && reason != Reason::kManifestWrite)) return;
    const auto failed = failed_flushes_.load();
    const auto began = steady_clock::now();
    const auto due = [&] {
        const bool pending = total(*db, DB::Properties::kMemTableFlushPending) > 0;
        const bool running = number(*db, DB::Properties::kNumRunningFlushes) > 0;
        const bool after_error = number(*db, DB::Properties::kBackgroundErrors) > 0;
        const auto most = after_error && !running ? kBeginsWithin : kFlushesWithin;
        if (steady_clock::now() - began >= most) return false;
        return of_a_write ? pending || running : pending && !running;
    };
    while (due() && failed_flushes_ == failed) {
        std::this_thread::sleep_for(kPollEvery);
    }
}

}  // namespace beckon::rocks

namespace beckon::store {

namespace {

using core::Fault;

constexpr std::string_view kLogIdRow = "log_id";

/// A rarely written family pins the WAL until it is flushed; this bounds the replay of a start.
constexpr std::uint64_t kWalBytesMax = 128U << 20;
/// Tables older than this are rewritten, so that rows whose drop time has passed do go.
constexpr std::uint64_t kRewriteAfterS = 21'600;

/// Free space that a failed store needs on the disk, beside its buffers in memory, before it goes
/// on.
constexpr std::size_t kProbeBytes = 1U << 20;
constexpr std::size_t kProbeDescriptors = 16;

rocksdb::BlockBasedTableOptions table_options(FamilyKind kind,
                                              const std::shared_ptr<rocksdb::Cache>& cache) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.cache_index_and_filter_blocks = true;
    table.cache_index_and_filter_blocks_with_high_priority = true;
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    table.format_version = 5;
    table.block_size = 8U << 10;
    if (kind != FamilyKind::plain) {
        table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
        table.whole_key_filtering = kind != FamilyKind::messages;
    }
    return table;
}

rocksdb::DBOptions db_options(const DatabaseOptions& settings, rocksdb::Env* env) {
    auto options = rocks::db_options({.folder = "store",
                                      .directory = settings.directory,
                                      .memory = settings.memory,
                                      .env = env});
    options.max_total_wal_size = kWalBytesMax;
    // A write-ahead file that went missing or lost its synced end must not pass for a short one.
    options.track_and_verify_wals_in_manifest = true;
    options.wal_bytes_per_sync = 1U << 20;
    // A shard that waits for another's write sleeps at once: there are few cores, all wanted.
    options.enable_write_thread_adaptive_yield = false;
    return options;
}

/// Bytes that are wrong, or a file that is gone. A file that could not be opened or read for a
/// moment proves nothing.
bool is_damage(const rocksdb::Status& status) {
    return status.IsCorruption() || status.IsPathNotFound();
}

core::Result<std::string> damaged(const core::Error& error) {
    if (error.fault != Fault::corrupt) return core::fail(error);
    return "damaged: " + error.message;
}

/// Holds a database's lock, so that no other process opens it meanwhile.
class DirectoryLock {
public:
    DirectoryLock(rocksdb::Env& env, const std::filesystem::path& directory)
        : env_(env), status_(env.LockFile((directory / "LOCK").string(), &lock_)) {}
    ~DirectoryLock() {
        if (lock_) static_cast<void>(env_.UnlockFile(lock_));
    }
    DirectoryLock(const DirectoryLock&) = delete;
    DirectoryLock& operator=(const DirectoryLock&) = delete;

    const rocksdb::Status& status() const { return status_; }

private:
    rocksdb::Env& env_;
    rocksdb::FileLock* lock_ = nullptr;
    const rocksdb::Status status_;
};

/// A database that another process has open may look damaged, and stays where it is.
core::Result<void> set_aside(const DatabaseOptions& options, const std::string& why) {
    const DirectoryLock lock{options.env ? *options.env : *rocksdb::Env::Default(),
                             options.directory};
    if (!lock.status().ok()) {
        return core::fail(rocks::to_error(lock.status(), "store " + options.directory.string()));
    }
    return rocks::set_aside(options.directory, why);
}

}  // namespace

core::Error unreadable(const rocksdb::Status& status, std::string_view path) {
    auto error = rocks::to_error(status, path);
    if (error.fault == Fault::corrupt)
        error.message += "; delete it and it is rebuilt from the log";
    return error;
}

core::Error undecodable(std::string_view family, std::string_view path) {
    return {Fault::corrupt, std::string{path} + ": a row of " + std::string{family} +
                                " does not decode; delete it and it is rebuilt from the log"};
}

rocksdb::ReadOptions scan_options(const rocksdb::Slice& end) {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;  // the prefix filters know clients only
    options.iterate_upper_bound = &end;
    options.fill_cache = false;
    return options;
}

Database::Database(const DatabaseOptions& options)
    : options_(options),
      fold_times_(std::make_shared<FoldTimes>(host_clock_)),
      filter_(make_expiry_filter(fold_times_)),
      flushes_first_(std::make_shared<rocks::FlushesFirst>()) {
    if (!options_.memory) options_.memory = std::make_shared<rocks::Memory>(64U << 20, 16U << 20);
}

Database::~Database() {
    unlist(*this);
    families_.clear();
    others_.clear();
    if (db_) db_->Close();
}

core::Result<std::unique_ptr<Database>> Database::open(const DatabaseOptions& options) {
    std::string unfit;
    // Twice: a store that is of no use is set aside after the first.
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (auto made = rocks::make_directory(options.directory); !made)
            return core::fail(made.error());
        std::unique_ptr<Database> database{new Database{options}};
        const auto looked = database->open_and_check();
        if (!looked) return core::fail(looked.error());
        if (looked->empty()) {
            list_open(*database);
            return database;
        }
        unfit = *looked;
        database.reset();
        if (auto moved = set_aside(options, unfit); !moved) return core::fail(moved.error());
    }
    return core::fail(Fault::conflict, "store " + options.directory.string() +
                                           ": made anew, and of no use again: " + unfit);
}

/// The reason why the directory's content is of no use to this build and log; "": it is of use.
core::Result<std::string> Database::open_and_check() {
    if (const auto status = open_files(); !status.ok()) {
        if (is_damage(status)) return "damaged: " + status.ToString();
        return core::fail(rocks::to_error(status, "store " + directory().string()));
    }
    const auto format = meta(kFormatRow);
    if (!format) return damaged(format.error());
    const auto log_id = meta(kLogIdRow);
    if (!log_id) return damaged(log_id.error());
    if (format->empty() && log_id->empty()) return write_identity();
    if (*format != options_.format) return "another format";
    if (*log_id != options_.log_id) return "another log";
    const auto readable = options_.check ? options_.check(*this) : core::Result<void>{};
    return readable ? std::string{} : damaged(readable.error());
}

core::Result<std::string> Database::write_identity() {
    rocksdb::WriteBatch batch;
    batch.Put(slice(kFormatRow), slice(options_.format));
    batch.Put(slice(kLogIdRow), slice(options_.log_id));
    if (auto written = write(batch); !written) return core::fail(written.error());
    return std::string{};
}

rocksdb::Status Database::open_files() {
    mark_.emplace(
        rocks::HighWaterMark::Options{.directory = options_.directory,
                                      .env = options_.env ? options_.env : rocks::default_env()});
    if (const auto missing = mark_->missing_files(); !missing.empty()) {
        return rocksdb::Status::Corruption(missing);
    }
    auto db_settings = db_options(options_, mark_->env());
    db_settings.listeners.push_back(flushes_first_);
    std::vector<std::string> names;
    const std::string path = options_.directory.string();
    auto* env = options_.env ? options_.env : rocksdb::Env::Default();
    if (env->FileExists(path + "/CURRENT").ok()) {
        auto listed = rocksdb::DB::ListColumnFamilies(db_settings, path, &names);
        if (!listed.ok()) return listed;
    }
    const auto add = [&](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    add(rocksdb::kDefaultColumnFamilyName);
    for (const auto& spec : options_.families) add(spec.name);

    const auto kind_of = [&](const std::string& name) {
        for (const auto& spec : options_.families) {
            if (spec.name == name) return spec.kind;
        }
        const auto kind = options_.kind_of ? options_.kind_of(name) : std::nullopt;
        return kind.value_or(FamilyKind::plain);
    };
    std::vector<rocksdb::ColumnFamilyDescriptor> wanted;
    wanted.reserve(names.size());
    for (const auto& name : names) wanted.emplace_back(name, family_options(kind_of(name)));

    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    auto status = rocksdb::DB::Open(db_settings, path, wanted, &handles, &opened);
    if (!status.ok()) return status;
    db_.reset(opened);
    flushes_first_->watch(*opened);
    for (std::size_t i = 0; i < handles.size(); ++i) {
        const bool fixed = names[i] == rocksdb::kDefaultColumnFamilyName ||
                           std::any_of(options_.families.begin(), options_.families.end(),
                                       [&](const auto& spec) { return spec.name == names[i]; });
        (fixed ? families_ : others_).emplace_back(names[i], own(handles[i]));
    }
    return status;
}

rocksdb::ColumnFamilyOptions Database::family_options(FamilyKind kind) const {
    auto family = rocks::family_options();
    family.table_factory.reset(
        rocksdb::NewBlockBasedTableFactory(table_options(kind, options_.memory->cache)));
    family.compression =
        kind == FamilyKind::messages ? rocksdb::kNoCompression : rocksdb::kLZ4Compression;
    // Small skip lists stay in the processor's caches: a quarter less time for each row.
    family.write_buffer_size =
        std::max<std::size_t>(options_.memory->write_buffer_bytes / 16, 1U << 20);
    family.max_write_buffer_number = 4;
    // Far above the level of a compaction in time: write() refuses writes beyond it, and does not
    // slow them.
    family.level0_slowdown_writes_trigger = 60;
    family.level0_stop_writes_trigger = 100;
    family.arena_block_size = 256U << 10;  // the default, an eighth of the buffer, is mostly air
    family.level_compaction_dynamic_level_bytes = true;
    if (kind == FamilyKind::plain) return family;

    // A row that was acknowledged before its flush leaves a few bytes in it, and the merge of such
    // files rewrites what waits of all clients: with 32, an eighth as often as with four. A look-up
    // of a key asks the filter of each file, so there it is with sixteen.
    family.level0_file_num_compaction_trigger = kind == FamilyKind::messages ? 32 : 16;
    family.compaction_filter_factory = filter_;
    family.periodic_compaction_seconds = kRewriteAfterS;
    family.memtable_prefix_bloom_size_ratio = 0.05;
    if (kind == FamilyKind::keys) {
        family.memtable_whole_key_filtering = true;
    } else {
        family.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(kPrefixBytes));
    }
    if (kind == FamilyKind::messages) {
        family.table_properties_collector_factories.push_back(marks_drained_clients());
    }
    return family;
}

Family Database::own(rocksdb::ColumnFamilyHandle* handle) const {
    return {handle, [db = db_.get()](rocksdb::ColumnFamilyHandle* h) {
                static_cast<void>(db->DestroyColumnFamilyHandle(h));
            }};
}

Family Database::family(std::string_view name) const {
    for (const auto& [known, family] : families_) {
        if (known == name) return family;
    }
    BECKON_ASSERT(false, "a family that the options name");
    return {};
}

std::vector<std::pair<std::string, Family>> Database::take_other_families() {
    return std::exchange(others_, {});
}

core::Result<Family> Database::create_family(const std::string& name, FamilyKind kind) {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    const auto status = db_->CreateColumnFamily(family_options(kind), name, &handle);
    if (!status.ok()) {
        return core::fail(
            rocks::to_error(status, "store " + directory().string() + ", family " + name));
    }
    return own(handle);
}

core::Result<void> Database::drop_family(const Family& family) {
    const auto status = db_->DropColumnFamily(family.get());
    if (status.ok()) return {};
    return core::fail(
        rocks::to_error(status, "store " + directory().string() + ", drop of a family"));
}

/// Whether there is space for the writes in memory, and descriptors for the files that take them:
/// resume() is called once.
rocksdb::Status Database::probe() const {
    if (!core::has_descriptors(kProbeDescriptors)) {
        return rocksdb::Status::IOError(
            "the process needs " + std::to_string(kProbeDescriptors) +
            " file descriptors to go on, and has as many as it may open (ulimit -n)");
    }
    std::uint64_t in_memory = 0;
    db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &in_memory);
    std::error_code unknown;
    const auto space = std::filesystem::space(directory(), unknown);
    if (!unknown && space.available < in_memory + kProbeBytes) {
        return rocksdb::Status::NoSpace(std::to_string(in_memory + kProbeBytes) +
                                        " bytes are needed to go on");
    }
    auto& env = options_.env ? *options_.env : *rocksdb::Env::Default();
    const auto file = (directory() / "probe.sst").string();
    auto status = rocksdb::WriteStringToFile(&env, std::string(kProbeBytes, '\0'), file);
    static_cast<void>(env.DeleteFile(file));
    return status;
}

/// RocksDB abandons the write-ahead file that failed only if there are rows in memory to flush. If
/// there are none, a row that exists anyway is written there again, past the write-ahead log. Its
/// flush abandons the file on which a write has failed.
rocksdb::Status Database::resume() {
    auto first = rocks::resume(*db_, failed_file_);
    if (!first.IsAborted()) return first;
    rocksdb::WriteOptions unlogged;
    unlogged.disableWAL = true;
    unlogged.no_slowdown = true;
    auto status = db_->Put(unlogged, slice(kFormatRow), slice(options_.format));
    if (status.ok()) status = db_->Resume();
    std::uint64_t rows = 1;
    db_->GetIntProperty(rocksdb::DB::Properties::kNumEntriesActiveMemTable, &rows);
    return status.ok() && rows > 0 ? first : status;
}

core::Result<void> Database::recover() {
    const std::unique_lock nobody_writes{writing_};
    if (!failed_.load(std::memory_order_relaxed)) return {};
    if (for_good_) return core::fail(*for_good_);
    const auto what = "store " + directory().string();
    if (const auto taken = probe(); !taken.ok()) return core::fail(rocks::to_error(taken, what));
    if (rocks::runs_jobs(*db_)) {
        return core::fail(Fault::full, what + ": a flush or a compaction has not ended");
    }
    const auto resumed = resume();
    if (resumed.ok()) {
        failed_.store(false, std::memory_order_relaxed);
        return {};
    }
    auto error = unreadable(resumed, what);
    if (!resumed.IsIncomplete()) {  // it may have lost a flush, and would wait for it for ever
        error.message += "; nothing is written until this process is restarted";
        for_good_ = error;
    }
    return core::fail(std::move(error));
}

std::string Database::needs_restart() const {
    const std::shared_lock no_recovery{writing_, std::try_to_lock};
    return no_recovery && for_good_ ? for_good_->message : std::string{};
}

/// An exception that leaves RocksDB in the middle of a write leaves the writer in its queue, and
/// all later writes wait for it: it ends the process.
core::Result<void> Database::write(rocksdb::WriteBatch& batch) {
    core::Result<void> written;
    core::fold_step([this] { return "store " + directory().string(); },
                    [&] { written = try_write(batch); });
    return written;
}

core::Result<void> Database::try_write(rocksdb::WriteBatch& batch) {
    const auto what = [this] { return "store " + directory().string(); };
    if (failed_.load(std::memory_order_relaxed)) {
        if (auto recovered = recover(); !recovered) return recovered;
    }
    const std::shared_lock writing{writing_};
    if (failed_.load(std::memory_order_relaxed)) {
        return core::fail(Fault::full, what() + ": a write failed at this moment");
    }
    rocksdb::WriteOptions options;
    options.ignore_missing_column_families = true;
    options.no_slowdown = true;  // the caller is an event loop: refused is better than asleep
    const auto status = db_->Write(options, &batch);
    if (status.ok()) return {};
    if (status.IsIncomplete()) {  // nothing to recover from
        return core::fail(Fault::full, what() + ": the disk is behind with flushes or compaction");
    }
    if (!failed_.exchange(true)) failed_file_ = rocks::write_ahead_file(*db_);
    return core::fail(rocks::to_error(status, what()));
}

core::Result<void> Database::visit_rows(const rocksdb::ReadOptions& options, const Family& family,
                                        std::string_view begin, const Visit& visit) const {
    const std::unique_ptr<rocksdb::Iterator> row{db_->NewIterator(options, family.get())};
    row->Seek(slice(begin));
    while (row->Valid() && visit(view(row->key()), view(row->value()))) row->Next();
    if (row->status().ok()) return {};
    return core::fail(unreadable(row->status(), directory().string()));
}

core::Result<void> Database::scan(const Family& family, const KeyRange& range,
                                  const Visit& visit) const {
    const auto end = slice(range.end);
    return visit_rows(scan_options(end), family, range.begin, visit);
}

core::Result<void> Database::scan(const Family& family, const RowKey& client,
                                  const Visit& visit) const {
    rocksdb::ReadOptions options;
    options.prefix_same_as_start = true;
    return visit_rows(options, family, client.view(), visit);
}

void Database::erase_rows_of(core::Partition partition, const Family& family,
                             rocksdb::WriteBatch& batch) const {
    const auto range = partition_range(partition);
    bool empty = true;
    const auto seen = scan(family, range, [&](auto, auto) { return empty = false; });
    if (seen && empty) return;
    batch.DeleteRange(family.get(), slice(range.begin), slice(range.end));
}

core::Result<std::string> Database::meta(std::string_view name) const {
    std::string value;
    const auto status = db_->Get({}, slice(name), &value);
    if (status.ok()) return value;
    if (status.IsNotFound()) return std::string{};
    return core::fail(rocks::to_error(status, "store " + directory().string()));
}

core::Result<void> Database::put_meta(std::string_view name, std::string_view value) {
    rocksdb::WriteBatch batch;
    batch.Put(slice(name), slice(value));
    return write(batch);
}

namespace {

/// A copy takes the write-ahead files along, however large they are.
constexpr std::uint64_t kNeverFlush = std::numeric_limits<std::uint64_t>::max();

core::Result<void> copy(const Database& database, const std::filesystem::path& to) {
    rocksdb::Checkpoint* made = nullptr;
    auto status = rocksdb::Checkpoint::Create(&database.db(), &made);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint{made};
    if (status.ok()) status = checkpoint->CreateCheckpoint(to.string(), kNeverFlush);
    if (status.ok()) return {};
    return core::fail(
        rocks::to_error(status, "copy of the store " + database.directory().string()));
}

struct OpenStores {
    std::mutex mutex;
    std::map<std::filesystem::path, const Database*> stores;  ///< under mutex; absolute paths
};

OpenStores& all() {
    static OpenStores stores;
    return stores;
}

}  // namespace

void list_open(const Database& database) {
    const std::scoped_lock lock{all().mutex};
    all().stores[std::filesystem::absolute(database.directory())] = &database;
}

void unlist(const Database& database) {
    const std::scoped_lock lock{all().mutex};
    std::erase_if(all().stores, [&](const auto& item) { return item.second == &database; });
}

core::Result<void> copy_open_store(const std::filesystem::path& directory,
                                   const std::filesystem::path& to) {
    const std::scoped_lock lock{all().mutex};  // it is not closed meanwhile
    const auto found = all().stores.find(std::filesystem::absolute(directory));
    if (found != all().stores.end()) return copy(*found->second, to);
    return core::fail(core::Fault::not_found,
                      "this process has no store open in " + directory.string());
}

}  // namespace beckon::store
