#include "app/process/process.hpp"

#include "core/contain.hpp"
#include "core/logger.hpp"
#include "core/pause.hpp"
#include "core/setup_error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace beckon::app {

namespace {

sigset_t handled_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

/// Whether the fault may pass without a change of the configuration.
bool is_full(const std::error_code& error) {
    return error == std::errc::no_space_on_device || error == std::errc::io_error ||
           error == std::errc::too_many_files_open_in_system;
}

[[noreturn]] void refuse_directory(const char* what, const std::filesystem::path& path,
                                   const std::error_code& error) {
    const auto why = std::string{"cannot "} + what + " the data directory " + path.string() + ": " +
                     error.message() + " (--data names another)";
    if (is_full(error)) throw StartupError(why);
    throw core::SetupError(why);
}

std::string name_of_user(::uid_t user) {
    const auto* known = ::getpwuid(user);
    return known ? known->pw_name : std::to_string(user);
}

/// Whether this user can use a file of the data directory as it must.
bool is_usable(const std::filesystem::directory_entry& file) {
    int wanted = R_OK;
    if (file.is_directory()) wanted |= W_OK | X_OK;
    // Of the other files new ones are written.
    const auto name = file.path().filename();
    if (name == "lock" || name == "LOCK") wanted |= W_OK;
    return ::faccessat(AT_FDCWD, file.path().c_str(), wanted, AT_EACCESS) == 0 || errno != EACCES;
}

/// nullopt: it has gone meanwhile, or its owner cannot be seen.
std::optional<ForeignFile> foreign(const std::filesystem::path& file) {
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0) return std::nullopt;
    return ForeignFile{file, name_of_user(found.st_uid), name_of_user(::geteuid())};
}

/// The process that holds the lock.
std::string pid_in(int file) {
    std::array<char, 64> text{};
    const auto size = ::pread(file, text.data(), text.size(), 0);
    return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Whether the process has a SIGKILL that it has not followed yet, or has given its memory back,
/// which the kernel does before it closes its files. False where nothing is known of it.
bool is_ending(const std::string& pid) {
    std::ifstream status{"/proc/" + pid + "/status"};
    constexpr std::uint64_t kKilled = 1ULL << (SIGKILL - 1);
    bool known = false;
    bool has_memory = false;
    for (std::string line; std::getline(status, line);) {
        known = true;
        has_memory |= line.starts_with("VmSize:");
        const bool pending = line.starts_with("SigPnd:") || line.starts_with("ShdPnd:");
        if (pending && (std::strtoull(line.c_str() + 7, nullptr, 16) & kKilled) != 0) return true;
    }
    return known && !has_memory;
}

/// A process that was killed holds the lock until the kernel has ended it.
constexpr std::chrono::seconds kEndingMost{10};

/// Locks the file; waits as long as the process that holds it is ending.
bool lock_or_wait(int file, const std::filesystem::path& data) {
    constexpr std::chrono::milliseconds kAgain{50};
    const auto until = std::chrono::steady_clock::now() + kEndingMost;
    bool said = false;
    while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        const auto pid = pid_in(file);
        // One that has just gone has let go too.
        const bool gone = !pid.empty() && ::access(("/proc/" + pid).c_str(), F_OK) != 0;
        const bool last_try = gone && ::flock(file, LOCK_EX | LOCK_NB) == 0;
        if (last_try) return true;
        if (gone || pid.empty() || !is_ending(pid)) return false;
        if (std::chrono::steady_clock::now() > until) return false;
        if (!std::exchange(said, true)) {
            core::log_info("app", "waiting_for_killed_process",
                           {{"data", data.string()}, {"pid", pid}});
        }
        std::this_thread::sleep_for(kAgain);
    }
    return true;
}

void log_stop(int signal) {
    core::log_info("app", "stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
}

extern "C" void leave_now(int signal) { _exit(128 + signal); }

}  // namespace

std::string ForeignFile::give(const std::filesystem::path& data) const {
    return why() + "chown -R " + self + " " + data.string();
}

std::string ForeignFile::run_as_owner() const {
    return why() + "run the command as that user (runuser -u " + owner + " -- beckon ...)";
}

std::string ForeignFile::why() const {
    return file.string() + " belongs to the user " + owner + ", and " + self +
           ", as which this runs, may not use it: ";
}

std::optional<ForeignFile> foreign_file(const std::filesystem::path& data) {
    constexpr int kDepth = 1;  // <data>/log/CURRENT
    std::error_code error;
    const std::filesystem::directory_entry top{data, error};
    if (error == std::errc::permission_denied) {
        for (auto above = std::filesystem::absolute(data).parent_path();
             above != above.parent_path(); above = above.parent_path()) {
            if (::access(above.c_str(), X_OK) == 0 || errno != EACCES) continue;
            if (auto found = foreign(above)) return found;
        }
    }
    if (error || !top.exists(error)) return std::nullopt;
    if (!is_usable(top)) return foreign(data);
    auto files = std::filesystem::recursive_directory_iterator{data, error};
    for (; !error && files != std::filesystem::recursive_directory_iterator{};
         files.increment(error)) {
        if (!is_usable(*files)) return foreign(files->path());
        if (files.depth() >= kDepth) files.disable_recursion_pending();
    }
    return std::nullopt;
}

DataDirectory::DataDirectory(const std::filesystem::path& path) {
    std::error_code error;
    const bool made = std::filesystem::create_directories(path, error);
    if (error) {
        refuse_directory("make", path, error);
    }
    if (made) ::chmod(path.c_str(), 0700);
    lock_.reset(::open((path / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock_) {
        refuse_directory("write to", path, {errno, std::generic_category()});
    }
    if (!lock_or_wait(lock_.get(), path)) {
        const auto owner = pid_in(lock_.get());
        throw StartupError("the data directory " + path.string() + " is in use by another process" +
                           (owner.empty() ? "" : " (pid " + owner + ")") +
                           "; stop it, or name another with --data");
    }
    const auto text = std::to_string(::getpid());
    if (::ftruncate(lock_.get(), 0) != 0 ||
        ::pwrite(lock_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        throw StartupError("cannot write to the data directory " + path.string() + ": " +
                           std::strerror(errno));
    }
}

bool DataDirectory::in_use(const std::filesystem::path& path) {
    const core::Descriptor file{::open((path / "lock").c_str(), O_RDONLY | O_CLOEXEC)};
    return file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Signals::Signals() {
    const auto set = handled_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

void Signals::wait(const std::function<void()>& reload) const {
    const auto set = handled_signals();
    for (;;) {
        int signal = 0;
        if (sigwait(&set, &signal) != 0) continue;
        if (signal == SIGHUP) {
            core::log_info("app", "reload", {{"signal", "SIGHUP"}});
            reload();
            continue;
        }
        log_stop(signal);
        break;
    }
    std::signal(SIGTERM, leave_now);
    std::signal(SIGINT, leave_now);
    sigset_t stop = handled_signals();
    sigdelset(&stop, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
}

void Signals::stop_start_within(std::chrono::milliseconds wait, const std::string& what) const {
    sigset_t stop = handled_signals();
    sigdelset(&stop, SIGHUP);
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(wait);
    const timespec limit{whole.count(), std::chrono::nanoseconds{wait - whole}.count()};
    const int signal = sigtimedwait(&stop, nullptr, &limit);
    if (signal < 0) return;
    log_stop(signal);
    throw StartupError("stopped while waiting for " + what, 0);
}

void Signals::request_stop() { ::kill(::getpid(), SIGTERM); }

Reloads::Reloads(std::function<void()> reload)
    : reload_(std::move(reload)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Reloads::~Reloads() {
    thread_.request_stop();
    thread_.join();
}

void Reloads::request() {
    {
        const std::scoped_lock lock{mutex_};
        requested_ = true;
    }
    wake_.notify_one();
}

void Reloads::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "reload");
    std::unique_lock lock{mutex_};
    while (wake_.wait(lock, stop, [this] { return requested_; })) {
        requested_ = false;
        lock.unlock();
        core::contain("reload", reload_);
        lock.lock();
    }
}

StopWatchdog::StopWatchdog(std::chrono::seconds limit)
    : thread_([limit](const std::stop_token& stop) {
          if (!core::pause(stop, limit)) return;
          core::log_error("app", "stop_timed_out", {{"limit_s", limit.count()}});
          _exit(1);
      }) {}

}  // namespace beckon::app
