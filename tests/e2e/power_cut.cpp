// Preloaded by power-cut.mjs: the disk below a directory, as a power cut or a fault leaves it.
//
// Every change below POWER_CUT_DIR (a write, a sync, a file or name that is made, renamed or
// removed) is a step, and steps are counted from 1. At step POWER_CUT_AT the power goes: the
// process ends with exit status 117, and the directory is left as a disk may hold it.
//
// Of each file, every sector of 512 bytes that was written since the file's last sync (the write of
// that step included) has its old or its new content, and the file has its old or its new length or
// one between. Nothing is kept, a prefix, any sectors, or all of it: the seed POWER_CUT_SEED
// chooses. Names that were made, renamed or removed since the last sync of their directory come
// back or go again, from one of these changes on. A directory itself is kept once anything below it
// was synced.
//
// Steps POWER_CUT_FAIL_AT and later, POWER_CUT_FAILS of them, fail with POWER_CUT_ERROR (EIO or
// ENOSPC); some of the bytes of a write that fails may be written. A later sync does not write the
// bytes that a failed sync left, as on Linux.
//
// POWER_CUT_LIES=1: every sync reports success and syncs nothing. POWER_CUT_BOOT: a file that is
// read instead of the kernel's boot_id, since after a power cut the kernel is another boot.
//
// All calls on such files happen one after another. Writes through a mapping, and copies within the
// kernel, would pass unseen: they end the process with exit status 118.
#include <algorithm>
#include <array>
#include <cerrno>
#include <compare>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr int kCutStatus = 117;
constexpr int kUnseenStatus = 118;
constexpr off_t kSectorBytes = 512;
constexpr off_t kPageBytes = 4096;

[[noreturn]] void end_process(int status) {
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

std::uint64_t number_from(const char* name) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : 0;
}

std::string target_of(int fd) {
    std::array<char, 4096> path{};
    const auto link = "/proc/self/fd/" + std::to_string(fd);
    const auto size = readlink(link.c_str(), path.data(), path.size());
    return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string{};
}

std::string absolute(int directory, const char* path) {
    std::filesystem::path full{path};
    if (full.is_relative()) {
        std::array<char, 4096> here{};
        const auto base = directory == AT_FDCWD ? std::string{getcwd(here.data(), here.size())}
                                                : target_of(directory);
        full = std::filesystem::path{base} / full;
    }
    auto text = full.lexically_normal().string();
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    return text;
}

/// The file that is opened for this path.
const char* opened_as(const char* path) {
    const char* boot = std::getenv("POWER_CUT_BOOT");
    return boot && std::string_view{path} == "/proc/sys/kernel/random/boot_id" ? boot : path;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool is_below(std::string_view path, std::string_view directory) {
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/');
}

bool exists(const std::string& path) {
    struct stat found {};
    return lstat(path.c_str(), &found) == 0;
}

struct FileId {
    dev_t device;
    ino_t inode;
    auto operator<=>(const FileId&) const = default;
};

struct Sector {
    std::string old;    ///< what the disk has of it; shorter where the file on the disk ends
    bool lost = false;  ///< a sync of it has failed: only a later write makes it worth another
};

/// A file that differs from what the disk has of it.
struct Unsynced {
    int fd;                           ///< of our own, without O_DIRECT
    off_t size;                       ///< on the disk
    std::map<off_t, Sector> sectors;  ///< by number: those that differ
};

/// A change of a directory that is not synced.
struct NameChange {
    enum class Kind { made, made_directory, renamed, removed, removed_directory } kind;
    std::string path;
    std::string from;   ///< of a rename
    std::string saved;  ///< a link to the file that it removed or replaced; empty without one
};

class Disk {
public:
    Disk() {
        const char* root = std::getenv("POWER_CUT_DIR");
        if (root) root_ = absolute(AT_FDCWD, root);
        saved_ = root_ + ".unsynced";
        if (root) syscall(SYS_mkdir, saved_.c_str(), 0700);
        const char* error = std::getenv("POWER_CUT_ERROR");
        error_ = error && std::string_view{error} == "ENOSPC" ? ENOSPC : EIO;
    }

    std::mutex& mutex() { return mutex_; }

    bool has(const std::string& path) const { return !root_.empty() && is_below(path, root_); }

    /// The file's entry, new if it was as on the disk; null where it is no file below the
    /// directory.
    Unsynced* file_of(int fd) {
        struct stat found {};
        if (root_.empty() || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return nullptr;
        const auto at = files_.find({found.st_dev, found.st_ino});
        if (at != files_.end()) return &at->second;
        const auto path = target_of(fd);
        if (!has(path)) return nullptr;
        // Through the descriptor: its name may be gone.
        const auto link = "/proc/self/fd/" + std::to_string(fd);
        return open_entry(link.c_str(), found);
    }

    Unsynced* file_at(const std::string& path) {
        struct stat found {};
        if (!has(path) || stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
            return nullptr;
        }
        const auto at = files_.find({found.st_dev, found.st_ino});
        return at != files_.end() ? &at->second : open_entry(path.c_str(), found);
    }

    /// Keeps the disk's present content of these bytes, since they are about to change.
    static void keep(Unsynced& file, off_t from, off_t to) {
        for (off_t number = from / kSectorBytes; number * kSectorBytes < to; ++number) {
            const auto [at, is_new] = file.sectors.try_emplace(number);
            at->second.lost = false;
            const off_t start = number * kSectorBytes;
            if (!is_new || start >= file.size) continue;
            auto& old = at->second.old;
            old.resize(static_cast<std::size_t>(std::min(kSectorBytes, file.size - start)));
            const auto got = pread(file.fd, old.data(), old.size(), start);
            old.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        }
    }

    static void keep_all_from(Unsynced& file, off_t from) {
        struct stat now {};
        if (fstat(file.fd, &now) == 0 && from < now.st_size) keep(file, from, now.st_size);
    }

    /// The step fails: errno is set. Otherwise the caller makes it, and calls made().
    bool fails() {
        ++step_;
        if (step_ < fail_at_ || step_ >= fail_at_ + fails_) return false;
        errno = error_;
        return true;
    }

    /// The step was made; ends the process if it is the last. (One that fails is not.)
    void made(const char* call, const std::string& path) {
        if (cut_at_ != 0 && step_ >= cut_at_) cut(call, path);
    }

    /// The file's bytes are on the disk; of a range, with the pages that it touches.
    void synced(int fd, std::optional<std::pair<off_t, off_t>> range = std::nullopt) {
        struct stat now {};
        if (lies_ || fstat(fd, &now) != 0) return;
        keep_directories_of(target_of(fd));
        const auto at = files_.find({now.st_dev, now.st_ino});
        if (at == files_.end()) return;
        auto& file = at->second;
        const off_t from = range ? range->first / kPageBytes * kPageBytes : 0;
        const off_t to = range ? (range->second + kPageBytes - 1) / kPageBytes * kPageBytes
                               : std::max(now.st_size, file.size) + kSectorBytes;
        std::erase_if(file.sectors, [&](const auto& entry) {
            const auto& [number, sector] = entry;
            const off_t start = number * kSectorBytes;
            return !sector.lost && start >= from && start < to;
        });
        file.size = range ? std::max(file.size, std::min(range->second, now.st_size)) : now.st_size;
        if (!file.sectors.empty() || file.size != now.st_size) return;
        syscall(SYS_close, file.fd);
        files_.erase(at);
    }

    void sync_failed(int fd) {
        struct stat now {};
        if (fstat(fd, &now) != 0) return;
        const auto at = files_.find({now.st_dev, now.st_ino});
        if (at == files_.end()) return;
        for (auto& [number, sector] : at->second.sectors) sector.lost = true;
    }

    void directory_synced(const std::string& path) {
        if (lies_) return;
        keep_directories_of(path);
        std::erase_if(names_, [&](const NameChange& change) {
            return parent_of(change.path) == path ||
                   (!change.from.empty() && parent_of(change.from) == path);
        });
    }

    /// Another name for a file that is about to lose this one; empty if there is none.
    std::string save(const std::string& path) {
        auto saved = saved_ + "/" + std::to_string(getpid()) + "-" + std::to_string(++saves_);
        return syscall(SYS_link, path.c_str(), saved.c_str()) == 0 ? saved : std::string{};
    }

    void changed(NameChange change) { names_.push_back(std::move(change)); }

    std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }

private:
    Unsynced* open_entry(const char* path, const struct stat& found) {
        const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0));
        if (fd < 0) return nullptr;
        const FileId id{found.st_dev, found.st_ino};
        return &files_.try_emplace(id, Unsynced{fd, found.st_size, {}}).first->second;
    }

    void keep_directories_of(const std::string& path) {
        std::erase_if(names_, [&](const NameChange& change) {
            return change.kind == NameChange::Kind::made_directory && is_below(path, change.path);
        });
    }

    [[noreturn]] void cut(const char* call, const std::string& path) {
        std::size_t sectors = 0;
        for (auto& [id, file] : files_) {
            sectors += file.sectors.size();
            cut_file(file);
        }
        const auto all = names_.size();
        const auto kept = below(all + 1);
        for (; names_.size() > kept; names_.pop_back()) undo(names_.back());
        dprintf(2,
                "power cut at step %llu, %s of %s: %zu files with %zu sectors, %zu of %zu names "
                "undone\n",
                static_cast<unsigned long long>(step_), call, path.c_str(), files_.size(), sectors,
                all - kept, all);
        end_process(kCutStatus);
    }

    void cut_file(Unsynced& file) {
        enum { dropped, prefix, scattered, kept };
        struct stat now {};
        if (fstat(file.fd, &now) != 0) return;
        const bool grew = now.st_size > file.size;
        const auto way = below(4);
        off_t size = now.st_size;
        if (way == dropped) size = file.size;
        if (way == prefix || way == scattered) size = some_size(file.size, now.st_size);
        const off_t end = way == prefix && grew ? size / kSectorBytes + 1 : some_sector(file);
        for (const auto& [number, sector] : file.sectors) {
            const bool undone = sector.lost || way == dropped || (way == prefix && number >= end) ||
                                (way == scattered && below(2) == 0);
            if (!undone) continue;
            auto old = sector.old;
            old.resize(kSectorBytes);
            if (pwrite_here(file.fd, old, number * kSectorBytes) < 0)
                std::perror("power cut: undo");
        }
        syscall(SYS_ftruncate, file.fd, size);
    }

    /// The disk has the old length, the new one, or if the file grew one between.
    off_t some_size(off_t old, off_t now) {
        if (now <= old) return below(2) == 0 ? old : now;
        return old + static_cast<off_t>(below(static_cast<std::uint64_t>(now - old) + 1));
    }

    off_t some_sector(const Unsynced& file) {
        if (file.sectors.empty()) return 0;
        return std::next(file.sectors.begin(),
                         static_cast<std::ptrdiff_t>(below(file.sectors.size())))
            ->first;
    }

    static long pwrite_here(int fd, const std::string& bytes, off_t at) {
        return syscall(SYS_pwrite64, fd, bytes.data(), bytes.size(), at);
    }

    /// Calls fail where an earlier one of these changes was synced with another directory.
    static void undo(const NameChange& change) {
        switch (change.kind) {
            case NameChange::Kind::made: syscall(SYS_unlink, change.path.c_str()); break;
            case NameChange::Kind::made_directory: syscall(SYS_rmdir, change.path.c_str()); break;
            case NameChange::Kind::removed_directory:
                syscall(SYS_mkdir, change.path.c_str(), 0700);
                break;
            case NameChange::Kind::renamed:
                syscall(SYS_rename, change.path.c_str(), change.from.c_str());
                [[fallthrough]];
            case NameChange::Kind::removed:
                if (!change.saved.empty()) {
                    syscall(SYS_link, change.saved.c_str(), change.path.c_str());
                }
                break;
        }
    }

    std::mutex mutex_;
    std::string root_;
    std::string saved_;
    int error_ = EIO;
    const std::uint64_t cut_at_ = number_from("POWER_CUT_AT");
    const std::uint64_t fail_at_ = number_from("POWER_CUT_FAIL_AT");
    const std::uint64_t fails_ = number_from("POWER_CUT_FAILS");
    const bool lies_ = number_from("POWER_CUT_LIES") != 0;
    std::mt19937_64 random_{number_from("POWER_CUT_SEED")};
    std::uint64_t step_ = 0;
    std::uint64_t saves_ = 0;
    std::map<FileId, Unsynced> files_;
    std::vector<NameChange> names_;
};

Disk& disk() {
    static auto* const only =
        new Disk;  // for as long as the process: threads outlive its destructors
    return *only;
}

/// A write to a file below the directory, or any other.
/// @param at nothing: where the descriptor stands
ssize_t write_some(const char* call, int fd, const iovec* parts, int count, std::optional<off_t> at,
                   int flags) {
    const auto write_now = [&](const iovec* from, int n) -> ssize_t {
        if (!at) return syscall(SYS_writev, fd, from, n);
        return syscall(SYS_pwritev2, fd, from, n, *at, 0, flags);
    };
    struct stat found {};
    if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return write_now(parts, count);
    const std::scoped_lock lock{disk().mutex()};
    auto* const file = disk().file_of(fd);
    if (!file) return write_now(parts, count);
    off_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += static_cast<off_t>(parts[i].iov_len);
    fstat(fd, &found);
    const auto modes = fcntl(fd, F_GETFL);
    const bool appends = (modes & O_APPEND) != 0;
    const off_t from = appends ? found.st_size : at ? *at : lseek(fd, 0, SEEK_CUR);
    Disk::keep(*file, from, from + bytes);
    if (disk().fails()) {
        const int error = errno;
        const bool writes_some = disk().below(2) == 0 && count > 0;
        if (writes_some) {
            iovec some = parts[0];
            some.iov_len = some.iov_len / 2 / static_cast<std::size_t>(kPageBytes) *
                           static_cast<std::size_t>(kPageBytes);
            syscall(SYS_pwritev2, fd, &some, 1, from, 0, 0);
        }
        errno = error;
        return -1;
    }
    const auto written = write_now(parts, count);
    const int error = errno;
    disk().made(call, target_of(fd));
    const bool is_synced =
        (flags & (RWF_DSYNC | RWF_SYNC)) != 0 || (modes & (O_DSYNC | O_SYNC)) != 0;
    if (written > 0 && is_synced) disk().synced(fd, std::pair{from, from + written});
    errno = error;
    return written;
}

int sync_file(const char* call, int fd, long number) {
    struct stat found {};
    const auto path = target_of(fd);
    const bool is_file =
        fstat(fd, &found) == 0 && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
    if (!is_file || !disk().has(path)) return static_cast<int>(syscall(number, fd));
    const std::scoped_lock lock{disk().mutex()};
    if (disk().fails()) {
        disk().sync_failed(fd);
        return -1;
    }
    disk().made(call, path);
    // The kernel's own sync would only take time: no power is cut.
    if (S_ISDIR(found.st_mode)) {
        disk().directory_synced(path);
    } else {
        disk().synced(fd);
    }
    return 0;
}

/// Opens a file by `open_now`, which may make or empty it.
template <class Open>
auto open_some(const std::string& path, bool makes, bool empties,
               decltype(std::declval<Open>()()) failed, Open open_now) {
    const bool is_new = makes && !exists(path);
    if (!disk().has(path) || !(is_new || empties)) return open_now();
    const std::scoped_lock lock{disk().mutex()};
    if (disk().fails()) return failed;
    if (auto* const file = empties ? disk().file_at(path) : nullptr) Disk::keep_all_from(*file, 0);
    const auto opened = open_now();
    const int error = errno;
    if (is_new && opened != failed) disk().changed({NameChange::Kind::made, path, {}, {}});
    disk().made("open", path);
    errno = error;
    return opened;
}

int open_at(int directory, const char* name, int flags, mode_t mode) {
    const char* path = opened_as(name);
    return open_some(
        absolute(directory, path), (flags & O_CREAT) != 0, (flags & O_TRUNC) != 0, -1,
        [&] { return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode)); });
}

FILE* open_stream(const char* name, const char* mode) {
    const char* path = opened_as(name);
    static auto* const real =
        reinterpret_cast<FILE* (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "fopen64"));
    const bool empties = mode[0] == 'w';
    return open_some(absolute(AT_FDCWD, path), empties || mode[0] == 'a', empties,
                     static_cast<FILE*>(nullptr), [&] { return real(path, mode); });
}

/// A change of names by `change_now`; before it, `undone_by` returns how to undo it.
template <class Before, class Change>
int change_name(const char* call, const std::string& path, Before undone_by, Change change_now) {
    if (!disk().has(path)) return static_cast<int>(change_now());
    const std::scoped_lock lock{disk().mutex()};
    if (disk().fails()) return -1;
    NameChange change = undone_by();
    const auto result = static_cast<int>(change_now());
    const int error = errno;
    if (result == 0) disk().changed(std::move(change));
    disk().made(call, path);
    errno = error;
    return result;
}

int remove_at(int directory, const char* name, int flags) {
    const auto path = absolute(directory, name);
    const bool is_directory = (flags & AT_REMOVEDIR) != 0;
    return change_name(
        "unlink", path,
        [&]() -> NameChange {
            if (is_directory) return {NameChange::Kind::removed_directory, path, {}, {}};
            return {NameChange::Kind::removed, path, {}, disk().save(path)};
        },
        [&] { return syscall(SYS_unlinkat, directory, name, flags); });
}

int change_size(int fd, off_t size) {
    const std::scoped_lock lock{disk().mutex()};
    auto* const file = disk().file_of(fd);
    if (!file) return static_cast<int>(syscall(SYS_ftruncate, fd, size));
    if (disk().fails()) return -1;
    Disk::keep_all_from(*file, size);
    const auto result = static_cast<int>(syscall(SYS_ftruncate, fd, size));
    disk().made("ftruncate", target_of(fd));
    return result;
}

int allocate(int fd, int mode, off_t at, off_t bytes) {
    const std::scoped_lock lock{disk().mutex()};
    disk().file_of(fd);  // it knows the length that the disk has
    return static_cast<int>(syscall(SYS_fallocate, fd, mode, at, bytes));
}

void refuse_unseen(const char* call, int fd) {
    struct stat found {};
    if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || !disk().has(target_of(fd))) return;
    dprintf(2, "power_cut.cpp sees nothing of what %s writes to %s\n", call, target_of(fd).c_str());
    end_process(kUnseenStatus);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat(int directory, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_at(directory, path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) __attribute__((alias("openat")));
int creat(const char* path, mode_t mode) {
    return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
FILE* fopen(const char* path, const char* mode) { return open_stream(path, mode); }
FILE* fopen64(const char* path, const char* mode) { return open_stream(path, mode); }

ssize_t write(int fd, const void* bytes, size_t size) {
    const iovec part{const_cast<void*>(bytes), size};
    return write_some("write", fd, &part, 1, std::nullopt, 0);
}
ssize_t writev(int fd, const iovec* parts, int count) {
    return write_some("writev", fd, parts, count, std::nullopt, 0);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
    const iovec part{const_cast<void*>(bytes), size};
    return write_some("pwrite", fd, &part, 1, at, 0);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t at) {
    return pwrite(fd, bytes, size, at);
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t at) {
    return write_some("pwritev", fd, parts, count, at, 0);
}
ssize_t pwritev64(int fd, const iovec* parts, int count, off_t at) {
    return pwritev(fd, parts, count, at);
}
ssize_t pwritev2(int fd, const iovec* parts, int count, off_t at, int flags) {
    return write_some("pwritev2", fd, parts, count, at, flags);
}
ssize_t pwritev64v2(int fd, const iovec* parts, int count, off_t at, int flags) {
    return pwritev2(fd, parts, count, at, flags);
}

int fsync(int fd) { return sync_file("fsync", fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file("fdatasync", fd, SYS_fdatasync); }

int ftruncate(int fd, off_t size) noexcept { return change_size(fd, size); }
int ftruncate64(int fd, off_t size) noexcept { return change_size(fd, size); }
int truncate(const char* path, off_t size) noexcept {
    const int fd = open_at(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0) return -1;
    const int result = change_size(fd, size);
    const int error = errno;
    syscall(SYS_close, fd);
    errno = error;
    return result;
}
int truncate64(const char* path, off_t size) noexcept { return truncate(path, size); }
int fallocate(int fd, int mode, off_t at, off_t bytes) { return allocate(fd, mode, at, bytes); }
int fallocate64(int fd, int mode, off_t at, off_t bytes) { return allocate(fd, mode, at, bytes); }
int posix_fallocate(int fd, off_t at, off_t bytes) {
    return allocate(fd, 0, at, bytes) == 0 ? 0 : errno;
}
int posix_fallocate64(int fd, off_t at, off_t bytes) { return posix_fallocate(fd, at, bytes); }

int rename(const char* from, const char* to) noexcept {
    const auto path = absolute(AT_FDCWD, to);
    return change_name(
        "rename", path,
        [&]() -> NameChange {
            return {NameChange::Kind::renamed, path, absolute(AT_FDCWD, from), disk().save(path)};
        },
        [&] { return syscall(SYS_rename, from, to); });
}
int link(const char* from, const char* to) noexcept {
    const auto path = absolute(AT_FDCWD, to);
    return change_name(
        "link", path,
        [&]() -> NameChange {
            return {NameChange::Kind::made, path, {}, {}};
        },
        [&] { return syscall(SYS_link, from, to); });
}
int mkdir(const char* name, mode_t mode) noexcept {
    const auto path = absolute(AT_FDCWD, name);
    return change_name(
        "mkdir", path,
        [&]() -> NameChange {
            return {NameChange::Kind::made_directory, path, {}, {}};
        },
        [&] { return syscall(SYS_mkdir, name, mode); });
}
int unlink(const char* path) noexcept { return remove_at(AT_FDCWD, path, 0); }
int unlinkat(int directory, const char* path, int flags) noexcept {
    return remove_at(directory, path, flags);
}
int rmdir(const char* path) noexcept { return remove_at(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
    const int result = unlink(path);
    return result != 0 && (errno == EISDIR || errno == EPERM) ? rmdir(path) : result;
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t at) noexcept {
    if (fd >= 0 && (flags & MAP_SHARED) != 0 && (protection & PROT_WRITE) != 0)
        refuse_unseen("mmap", fd);
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, fd, at));
}
void* mmap64(void* address, size_t size, int protection, int flags, int fd, off_t at) noexcept {
    return mmap(address, size, protection, flags, fd, at);
}
ssize_t sendfile(int to, int from, off_t* at, size_t size) noexcept {
    refuse_unseen("sendfile", to);
    return syscall(SYS_sendfile, to, from, at, size);
}
ssize_t sendfile64(int to, int from, off_t* at, size_t size) noexcept {
    return sendfile(to, from, at, size);
}
ssize_t copy_file_range(int from, off_t* from_at, int to, off_t* to_at, size_t size,
                        unsigned flags) {
    refuse_unseen("copy_file_range", to);
    return syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags);
}

}  // extern "C"
