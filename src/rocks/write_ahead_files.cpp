#include "rocks/write_ahead_files.hpp"

#include "rocks/default_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <sys/uio.h>
#include <unistd.h>

namespace beckon::rocks {

namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

/// Writes past the page cache begin and end at multiples of this.
constexpr std::size_t kAlignment = 4096;
/// The filler stays so far ahead of the written bytes of a file: a quarter of a second at 25,000
/// messages a second.
constexpr std::uint64_t kAhead = 4U << 20;
/// The filler fills so much at a time: a write that finds the file not filled waits for one piece
/// at most.
constexpr std::uint64_t kPiece = 256U << 10;

constexpr std::uint64_t round_up(std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

IOStatus error(std::string_view what, const std::string& path, int number) {
    const auto text = std::string{what} + " " + path + ": " + std::strerror(number);
    if (number == ENOSPC || number == EDQUOT) return IOStatus::NoSpace(text);
    return IOStatus::IOError(text);
}

/// Zero: all of it is written.
int write_all(int fd, const char* bytes, std::size_t size, std::uint64_t at, int flags) {
    while (size > 0) {
        const iovec part{const_cast<char*>(bytes), size};
        const auto written = ::pwritev2(fd, &part, 1, static_cast<off_t>(at), flags);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        bytes += written;
        at += static_cast<std::uint64_t>(written);
        size -= static_cast<std::size_t>(written);
    }
    return 0;
}

/// A file that two threads write: the log's, and the one that fills. Below `filled_` there are
/// zeros or written bytes; from there on a piece is being filled while `busy_`, and no write
/// happens meanwhile.
class SharedFile {
public:
    SharedFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
    ~SharedFile() { ::close(fd_); }

    /// Zero: the bytes are on the disk. Otherwise the error's number.
    int write(std::string_view bytes, std::uint64_t at) {
        const auto end = at + bytes.size();
        {
            std::unique_lock lock{mutex_};
            changed_.wait(lock, [&] { return end <= filled_ || !busy_; });
            filled_ = std::max(filled_, round_up(end));
            written_ = std::max(written_, end);
        }
        return write_all(fd_, bytes.data(), bytes.size(), at, RWF_DSYNC);
    }

    /// Up to there it was written, or is being written now; whole pages.
    std::uint64_t written() const {
        const std::scoped_lock lock{mutex_};
        return written_;
    }

    bool wants_more() const {
        const std::scoped_lock lock{mutex_};
        return !done_ && filled_ < written_ + kAhead;
    }

    /// Fills one piece; of the filling thread. A disk that is full is no failure yet.
    void fill(const char* zeros) {
        std::uint64_t from = 0;
        {
            const std::scoped_lock lock{mutex_};
            if (done_) return;
            busy_ = true;
            from = filled_;
        }
        const bool worked = write_all(fd_, zeros, kPiece, from, 0) == 0 && ::fdatasync(fd_) == 0;
        {
            const std::scoped_lock lock{mutex_};
            busy_ = false;
            if (worked) filled_ = from + kPiece;
            done_ = done_ || !worked;
        }
        changed_.notify_all();
    }

    /// Nothing is filled from now on.
    void stop_filling() {
        std::unique_lock lock{mutex_};
        done_ = true;
        changed_.wait(lock, [&] { return !busy_; });
    }

    int fd() const { return fd_; }
    const std::string& path() const { return path_; }

private:
    const int fd_;
    const std::string path_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t filled_ = 0;
    std::uint64_t written_ = 0;
    bool busy_ = false;  ///< from `filled_` on a piece is being filled
    bool done_ = false;
};

/// The thread that fills.
class Filler {
public:
    Filler() : thread_([this](const std::stop_token& stop) { run(stop); }) {
        pthread_setname_np(thread_.native_handle(), "log-ahead");
    }

    void watch(const std::shared_ptr<SharedFile>& file) {
        if (!file->wants_more()) return;
        {
            const std::scoped_lock lock{mutex_};
            if (std::find(files_.begin(), files_.end(), file) != files_.end()) return;
            files_.push_back(file);
        }
        wake_.notify_one();
    }

private:
    struct Free {
        void operator()(char* bytes) const { std::free(bytes); }
    };

    void run(const std::stop_token& stop) {
        const std::unique_ptr<char, Free> zeros{
            static_cast<char*>(std::aligned_alloc(kAlignment, kPiece))};
        if (!zeros) return;  // files then grow as they are written
        std::memset(zeros.get(), 0, kPiece);
        for (std::unique_lock lock{mutex_}; wake_.wait(lock, stop, [&] { return !files_.empty(); });
             lock.lock()) {
            const auto file = files_.front();
            lock.unlock();
            while (file->wants_more() && !stop.stop_requested()) file->fill(zeros.get());
            lock.lock();
            std::erase(files_, file);
            lock.unlock();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::vector<std::shared_ptr<SharedFile>> files_;  ///< the first is being filled
    std::jthread thread_;                             ///< last: it stops before the rest goes
};

/// Whole pages in memory that `O_DIRECT` can write.
class Pages {
public:
    Pages() = default;
    ~Pages() { std::free(bytes_); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    void append(std::string_view bytes) {
        reserve(size_ + bytes.size());
        std::memcpy(bytes_ + size_, bytes.data(), bytes.size());
        size_ += bytes.size();
    }
    /// The buffered bytes, with zeros up to the end of the last page.
    std::string_view padded() const {
        std::memset(bytes_ + size_, 0, round_up(size_) - size_);
        return {bytes_, round_up(size_)};
    }
    std::size_t size() const { return size_; }
    /// Drops the full pages and keeps the last one if it is not full. Returns the number of dropped
    /// bytes.
    std::size_t keep_last() {
        const auto gone = size_ / kAlignment * kAlignment;
        size_ -= gone;
        if (size_ > 0) std::memmove(bytes_, bytes_ + gone, size_);
        return gone;
    }

private:
    void reserve(std::size_t size) {
        if (round_up(size) <= capacity_) return;
        const auto capacity = std::max(round_up(size), 2 * capacity_);
        auto* const bytes = static_cast<char*>(std::aligned_alloc(kAlignment, capacity));
        if (!bytes) throw std::bad_alloc{};
        if (size_ > 0) std::memcpy(bytes, bytes_, size_);
        std::free(std::exchange(bytes_, bytes));
        capacity_ = capacity;
    }

    char* bytes_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/// A file that writes its appended bytes when it is synced. (RocksDB's own direct I/O counts each
/// page that is written again as a longer file, and then misses the rest of it at the next start.)
class SyncedFile final : public rocksdb::FSWritableFile {
public:
    SyncedFile(std::shared_ptr<SharedFile> file, Filler& filler)
        : file_(std::move(file)), filler_(filler) {
        filler_.watch(file_);
    }
    ~SyncedFile() override {
        if (file_) file_->stop_filling();
    }

    using FSWritableFile::Append;

    IOStatus Append(const rocksdb::Slice& data, const IOOptions&, IODebugContext*) override {
        pages_.append({data.data(), data.size()});
        synced_ = synced_ && data.empty();
        return IOStatus::OK();
    }
    IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
    IOStatus Sync(const IOOptions&, IODebugContext*) override {
        if (synced_ || !state_.ok()) return state_;
        if (const int failed = file_->write(pages_.padded(), start_); failed != 0) {
            state_ = error("write", file_->path(), failed);
            return state_;
        }
        start_ += pages_.keep_last();
        synced_ = true;
        filler_.watch(file_);
        return state_;
    }
    IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
        return Sync(options, context);
    }
    /// Removes the zeros behind the appended bytes.
    IOStatus Close(const IOOptions& options, IODebugContext* context) override {
        file_->stop_filling();
        auto written = Sync(options, context);
        if (written.ok() && ::ftruncate(file_->fd(), static_cast<off_t>(size())) != 0) {
            written = error("truncate", file_->path(), errno);
        }
        file_.reset();
        return written;
    }
    std::uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return size(); }

private:
    std::uint64_t size() const { return start_ + pages_.size(); }

    std::shared_ptr<SharedFile> file_;  ///< null once it is closed
    Filler& filler_;
    Pages pages_;              ///< the bytes to write, from the beginning of their first page on
    std::uint64_t start_ = 0;  ///< where that page stands in the file
    bool synced_ = true;       ///< nothing was appended since
    IOStatus state_;  ///< a write that failed is the last: the file's content is unknown then
};

/// Whether the file system takes such writes. Other errors show at the first write.
bool takes_synced_writes(int fd) {
    alignas(kAlignment) static constexpr std::array<char, kAlignment> kZeros{};
    switch (write_all(fd, kZeros.data(), kZeros.size(), 0, RWF_DSYNC)) {
        case EINVAL:
        case EOPNOTSUPP:
        case ENOSYS: return false;
        default: return true;
    }
}

class Files final : public rocksdb::FileSystemWrapper {
public:
    Files(const std::shared_ptr<FileSystem>& rest, const std::filesystem::path& directory)
        : FileSystemWrapper(rest), directory_(directory_of(directory / "file")) {}
    const char* Name() const override { return "BeckonSyncedFiles"; }

    IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* out,
                             IODebugContext* context) override {
        if (is_write_ahead_file(path)) {
            if (const auto file = open(path)) {
                *out = std::make_unique<SyncedFile>(file, filler_);
                return IOStatus::OK();
            }
        }
        return FileSystemWrapper::NewWritableFile(path, options, out, context);
    }

    /// The size of a file that is being written leaves out the zeros that are filled ahead: a
    /// reader of these would meet bytes that are written meanwhile.
    IOStatus GetFileSize(const std::string& path, const IOOptions& options, std::uint64_t* size,
                         IODebugContext* context) override {
        {
            const std::scoped_lock lock{mutex_};
            const auto at = open_.find(path);
            if (const auto file = at == open_.end() ? nullptr : at->second.lock()) {
                *size = file->written();
                return IOStatus::OK();
            }
        }
        return FileSystemWrapper::GetFileSize(path, options, size, context);
    }

private:
    static std::filesystem::path directory_of(const std::filesystem::path& file) {
        return file.lexically_normal().parent_path();
    }
    bool is_write_ahead_file(const std::filesystem::path& path) const {
        return path.extension() == ".log" && directory_of(path) == directory_;
    }

    /// Null: the file system cannot, or RocksDB's own file reports the error.
    std::shared_ptr<SharedFile> open(const std::string& path) {
        const int fd =
            ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0644);
        if (fd < 0) return nullptr;
        auto file = std::make_shared<SharedFile>(fd, path);
        if (!takes_synced_writes(fd)) return nullptr;
        const std::scoped_lock lock{mutex_};
        std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
        open_.insert_or_assign(path, file);
        return file;
    }

    const std::filesystem::path directory_;
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<SharedFile>> open_;  ///< by path
    Filler filler_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> env_for_synced_writes(const std::filesystem::path& directory) {
    return rocksdb::NewCompositeEnv(std::make_shared<Files>(default_files(), directory));
}

}  // namespace beckon::rocks
