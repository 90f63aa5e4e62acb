#include "rocks/high_water_mark.hpp"

#include "core/bytes.hpp"
#include "core/decimal.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace beckon::rocks {

namespace fs = std::filesystem;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

constexpr const char* kName = "HIGH_WATER";
constexpr const char* kFreshName = "HIGH_WATER.new";
constexpr std::string_view kManifest = "MANIFEST-";
constexpr std::size_t kReadBytes = 64U << 10;
/// An entry is written in place and stays within a sector, which a disk writes as a whole.
constexpr std::size_t kSectorBytes = 512;
constexpr std::size_t kNumbers = 3;

/// FNV-1a.
constexpr std::uint64_t kEmptySum = 0xcbf29ce484222325ULL;
std::uint64_t sum_of(std::string_view bytes, std::uint64_t sum = kEmptySum) {
    for (const char byte : bytes) {
        sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
    }
    return sum;
}

/// Three numbers, each 8 bytes, and the sum of them.
using Entry = std::array<std::uint64_t, kNumbers>;

std::string bytes_of(const Entry& entry) {
    std::string bytes;
    for (const auto number : entry) core::append_fixed(bytes, number);
    core::append_fixed(bytes, sum_of(bytes));
    return bytes;
}

/// Of a sector.
std::optional<Entry> entry_in(std::string_view bytes) {
    Entry entry{};
    const auto size = sizeof entry;
    for (std::size_t i = 0; i < kNumbers; ++i) {
        entry[i] = core::get_fixed<std::uint64_t>(bytes.data() + i * sizeof entry[i]);
    }
    const auto sum = core::get_fixed<std::uint64_t>(bytes.data() + size);
    if (sum != sum_of(bytes.substr(0, size))) return std::nullopt;
    return entry;
}

/// The end of a manifest that is on the disk: it is only ever appended to.
struct Manifest {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::uint64_t sum = kEmptySum;

    void append(std::string_view more) {
        bytes += more.size();
        sum = sum_of(more, sum);
    }
};

/// The end of the writes.
struct Writes {
    std::uint64_t sequence = 0;
    std::uint64_t file = 0;  ///< a write-ahead file of this or a higher number is there
    std::uint64_t boot = 0;  ///< the sum of the boot in which the sequence counts; 0: in all
};

/// The number in a name such as MANIFEST-000012 or 000012.log.
std::optional<std::uint64_t> manifest_number(std::string_view name) {
    if (!name.starts_with(kManifest)) return std::nullopt;
    return core::parse_decimal<std::uint64_t>(name.substr(kManifest.size()));
}
std::optional<std::uint64_t> write_ahead_number(const fs::path& name) {
    if (name.extension() != ".log") return std::nullopt;
    return core::parse_decimal<std::uint64_t>(name.stem().string());
}
/// RocksDB's numbers in names have six digits at least.
std::string six_digits(std::uint64_t number) {
    const auto digits = std::to_string(number);
    return std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
}
std::string manifest_name(std::uint64_t number) {
    return std::string{kManifest} + six_digits(number);
}

fs::path directory_of(const fs::path& file) { return file.lexically_normal().parent_path(); }

}  // namespace

/// RocksDB's files, of which it follows the manifests and the names.
class HighWaterMark::Files final : public rocksdb::FileSystemWrapper {
public:
    explicit Files(const Options& options)
        : FileSystemWrapper(options.env->GetFileSystem()),
          directory_(directory_of(options.directory / kName)),
          marks_writes_(options.marks_writes),
          boot_(options.boot_id.empty() ? 0 : sum_of(options.boot_id)) {
        std::string bytes;
        static_cast<void>(rocksdb::ReadFileToString(target(), path_of(kName), &bytes));
        bytes.resize(2 * kSectorBytes);
        if (const auto entry = entry_in(bytes)) manifest_ = {(*entry)[0], (*entry)[1], (*entry)[2]};
        if (const auto entry = entry_in(std::string_view{bytes}.substr(kSectorBytes))) {
            writes_ = {(*entry)[0], (*entry)[1], (*entry)[2]};
        }
        open_mark(bytes);
    }
    const char* Name() const override { return "BeckonHighWaterMark"; }

    std::string missing_files() {
        auto file = missing_manifest();
        return file.empty() && writes_.file > 0 ? missing_write_ahead_file() : file;
    }
    std::uint64_t missing_writes(std::uint64_t sequence) const {
        const bool counts = writes_.boot == 0 || writes_.boot == boot_;
        return counts && sequence < writes_.sequence ? writes_.sequence - sequence : 0;
    }
    void wrote(std::uint64_t sequence, bool synced) {
        if (!synced && boot_ == 0) sequence = 0;  // it would count in all boots
        put(kSectorBytes, {sequence, newest_write_ahead_, synced ? 0 : boot_});
    }
    void flushed(std::uint64_t sequence) { put(kSectorBytes, {sequence, 0, 0}); }

    // --- called by RocksDB

    IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                             IODebugContext* context) override;
    /// RocksDB renames a file to CURRENT once the manifest that it names is on the disk.
    IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                        IODebugContext* context) override {
        auto status = FileSystemWrapper::RenameFile(from, to, options, context);
        if (!status.ok() || !is_ours(to) || fs::path{to}.filename() != "CURRENT") return status;
        const std::scoped_lock lock{mutex_};
        if (sync_names()) {
            current_ = synced_manifest_.number;
            mark_manifest();
        }
        return status;
    }
    /// So much of a manifest is on the disk.
    void synced(const Manifest& manifest) {
        const std::scoped_lock lock{mutex_};
        synced_manifest_ = manifest;
        if (manifest.number == current_) mark_manifest();
    }

private:
    class ManifestFile;

    /// In a file of its own: a copy of the directory may share the former one by a hard link.
    void open_mark(const std::string& bytes) {
        const auto path = path_of(kName);
        const auto fresh = path_of(kFreshName);
        if (rocksdb::WriteStringToFile(target(), bytes, fresh, true).ok() &&
            target()->RenameFile(fresh, path, IOOptions{}, nullptr).ok()) {
            static_cast<void>(target()->NewRandomRWFile(path, FileOptions{}, &mark_, nullptr));
        }
    }
    std::string path_of(std::string_view name) const { return (directory_ / name).string(); }
    bool is_ours(const std::string& path) const { return directory_of(path) == directory_; }

    bool sync_names() {
        std::unique_ptr<rocksdb::FSDirectory> directory;
        return target()->NewDirectory(directory_.string(), IOOptions{}, &directory, nullptr).ok() &&
               directory->Fsync(IOOptions{}, nullptr).ok();
    }
    /// A failure leaves what is there, which stays true.
    void put(std::size_t at, const Entry& entry) {
        if (mark_) static_cast<void>(mark_->Write(at, bytes_of(entry), IOOptions{}, nullptr));
    }
    void mark_manifest() {
        put(0, {synced_manifest_.number, synced_manifest_.bytes, synced_manifest_.sum});
        if (mark_) static_cast<void>(mark_->Sync(IOOptions{}, nullptr));
    }
    std::string missing_manifest();
    bool begins_as_marked(const std::string& path);
    std::string missing_write_ahead_file();

    const fs::path directory_;
    const bool marks_writes_;
    const std::uint64_t boot_;
    Manifest manifest_{};  ///< as found, as is the next
    Writes writes_{};
    std::unique_ptr<rocksdb::FSRandomRWFile> mark_;  ///< null: it cannot be written
    std::mutex mutex_;
    Manifest synced_manifest_{};  ///< under mutex_, as is the next
    std::uint64_t current_ = 0;   ///< the manifest that CURRENT names; 0: not known
    std::atomic<std::uint64_t> newest_write_ahead_ = 0;
};

class HighWaterMark::Files::ManifestFile final : public rocksdb::FSWritableFileOwnerWrapper {
public:
    ManifestFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::uint64_t number,
                 Files& files)
        : FSWritableFileOwnerWrapper(std::move(file)), files_(files) {
        manifest_.number = number;
    }

    IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* context) override {
        return appended(data, target()->Append(data, options, context));
    }
    IOStatus Append(const Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo& info, IODebugContext* context) override {
        return appended(data, target()->Append(data, options, info, context));
    }
    IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
        return synced(target()->Sync(options, context));
    }
    IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
        return synced(target()->Fsync(options, context));
    }

private:
    IOStatus appended(const Slice& data, IOStatus status) {
        known_ = known_ && status.ok();
        manifest_.append({data.data(), data.size()});
        return status;
    }
    IOStatus synced(IOStatus status) {
        if (known_ && status.ok()) files_.synced(manifest_);
        return status;
    }

    Files& files_;
    Manifest manifest_;
    bool known_ = true;  ///< no append has failed
};

IOStatus HighWaterMark::Files::NewWritableFile(const std::string& path, const FileOptions& options,
                                               std::unique_ptr<rocksdb::FSWritableFile>* file,
                                               IODebugContext* context) {
    auto status = FileSystemWrapper::NewWritableFile(path, options, file, context);
    if (!status.ok() || !is_ours(path)) return status;
    const auto name = fs::path{path}.filename();
    if (const auto number = manifest_number(name.string())) {
        *file = std::make_unique<ManifestFile>(std::move(*file), *number, *this);
    } else if (const auto log = write_ahead_number(name); log && marks_writes_ && sync_names()) {
        newest_write_ahead_ = *log;
    }
    return status;
}

std::string HighWaterMark::Files::missing_manifest() {
    if (manifest_.number == 0) return "";
    const auto found = target()->FileExists(path_of("CURRENT"), IOOptions{}, nullptr);
    if (found.IsNotFound()) return "its file CURRENT is missing";
    std::string current;
    if (!rocksdb::ReadFileToString(target(), path_of("CURRENT"), &current).ok()) return "";
    if (current.ends_with('\n')) current.pop_back();
    const auto number = manifest_number(current);
    if (!number || *number > manifest_.number) return "";  // RocksDB, or another build, has it
    const auto marked = manifest_name(manifest_.number);
    if (*number < manifest_.number) return "its file CURRENT names " + current + ", not " + marked;
    return begins_as_marked(path_of(marked)) ? "" : "its file " + marked + " is not as it was";
}

/// True where it cannot be read: RocksDB says why.
bool HighWaterMark::Files::begins_as_marked(const std::string& path) {
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    if (!target()->NewSequentialFile(path, FileOptions{}, &file, nullptr).ok()) return true;
    Manifest found;
    std::vector<char> buffer(kReadBytes);
    while (found.bytes < manifest_.bytes) {
        Slice part;
        const auto size = std::min<std::uint64_t>(buffer.size(), manifest_.bytes - found.bytes);
        if (!file->Read(size, IOOptions{}, &part, buffer.data(), nullptr).ok()) return true;
        if (part.empty()) return false;
        found.append({part.data(), part.size()});
    }
    return found.sum == manifest_.sum;
}

std::string HighWaterMark::Files::missing_write_ahead_file() {
    std::vector<std::string> names;
    const auto listed = target()->GetChildren(directory_.string(), IOOptions{}, &names, nullptr);
    const bool found = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return write_ahead_number(name).value_or(0) >= writes_.file;
    });
    if (!listed.ok() || found) return "";
    return "its write-ahead file " + six_digits(writes_.file) + ".log is missing";
}

HighWaterMark::HighWaterMark(const Options& options)
    : files_(std::make_shared<Files>(options)), env_(rocksdb::NewCompositeEnv(files_)) {}
HighWaterMark::~HighWaterMark() = default;

rocksdb::Env* HighWaterMark::env() const { return env_.get(); }
std::string HighWaterMark::missing_files() const { return files_->missing_files(); }
std::uint64_t HighWaterMark::missing_writes(std::uint64_t sequence) const {
    return files_->missing_writes(sequence);
}
void HighWaterMark::wrote(std::uint64_t sequence, bool synced) { files_->wrote(sequence, synced); }
void HighWaterMark::flushed(std::uint64_t sequence) { files_->flushed(sequence); }

}  // namespace beckon::rocks
