#include "log/embedded/sync_gate.hpp"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace beckon::test::sync_gate {

namespace {

/// A file, also when its inode number has been given to another one since.
using FileId = std::pair<std::uint64_t, std::int64_t>;  ///< inode, time of birth

struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool closed = false;
    int waiting = 0;
    int to_fail = 0;
    std::uint64_t count = 0;
    std::map<FileId, std::uint64_t> synced;  ///< how much of a file is on disk
};

struct FileState {
    FileId id;
    std::uint64_t size = 0;
    bool regular = false;
};

/// Of `path`, or of the open file if that is null.
FileState state_of(int file, const char* path) {
    struct statx status {};
    const int flags = path ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
    if (statx(path ? AT_FDCWD : file, path ? path : "", flags, STATX_BASIC_STATS | STATX_BTIME,
              &status) != 0) {
        return {};
    }
    return {{status.stx_ino, status.stx_btime.tv_sec * 1'000'000'000 + status.stx_btime.tv_nsec},
            status.stx_size,
            S_ISREG(status.stx_mode)};
}

Gate& gate() {
    static Gate the_gate;
    return the_gate;
}

int sync(int file, long number) {
    auto& g = gate();
    std::unique_lock lock{g.mutex};
    ++g.count;
    ++g.waiting;
    g.changed.notify_all();
    g.changed.wait(lock, [&] { return !g.closed; });
    --g.waiting;
    if (g.to_fail > 0) {
        --g.to_fail;
        errno = EIO;
        return -1;
    }
    const auto done = static_cast<int>(syscall(number, file));
    const auto state = state_of(file, nullptr);
    if (done >= 0) g.synced[state.id] = std::max(g.synced[state.id], state.size);
    return done;
}

std::string read_start(const std::filesystem::path& path, std::uint64_t bytes) {
    std::ifstream file{path, std::ios::binary};
    std::string content(bytes, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(file.gcount()));
    return content;
}

}  // namespace

void close() {
    const std::scoped_lock lock{gate().mutex};
    gate().closed = true;
}

void open() {
    const std::scoped_lock lock{gate().mutex};
    gate().closed = false;
    gate().changed.notify_all();
}

bool wait_until_somebody_waits() {
    std::unique_lock lock{gate().mutex};
    return gate().changed.wait_for(lock, std::chrono::seconds{20},
                                   [] { return gate().closed && gate().waiting > 0; });
}

void fail_next(int count) {
    const std::scoped_lock lock{gate().mutex};
    gate().to_fail = count;
}

std::uint64_t count() {
    const std::scoped_lock lock{gate().mutex};
    return gate().count;
}

void copy_what_is_synced(const std::filesystem::path& from, const std::filesystem::path& to) {
    namespace fs = std::filesystem;
    const std::scoped_lock lock{gate().mutex};
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(from)) {
        const auto state = state_of(-1, entry.path().c_str());
        if (!state.regular) continue;
        const auto synced = gate().synced.find(state.id);
        const auto bytes = synced == gate().synced.end() ? 0 : synced->second;
        std::ofstream copy{to / entry.path().filename(), std::ios::binary};
        copy << read_start(entry.path(), bytes);
        if (!copy.flush()) throw std::runtime_error("cannot copy " + entry.path().string());
    }
}

}  // namespace beckon::test::sync_gate

// The linker prefers these to the C library's, also for RocksDB.
extern "C" int fsync(int file) { return beckon::test::sync_gate::sync(file, SYS_fsync); }
extern "C" int fdatasync(int file) { return beckon::test::sync_gate::sync(file, SYS_fdatasync); }
