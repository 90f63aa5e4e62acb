#pragma once

#include "core/descriptors.hpp"
#include "core/result.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>

namespace beckon::app {

/// Ends a start-up: main prints the line and exits with the code.
struct StartupError : std::exception {
    explicit StartupError(std::string why, int exit_code = 1)
        : why_(std::move(why)), exit_code_(exit_code) {}
    const char* what() const noexcept override { return why_.c_str(); }
    int exit_code() const { return exit_code_; }

private:
    std::string why_;
    int exit_code_;
};

/// The value. Throws StartupError with the error's text behind `what`.
template <class T>
T must(core::Result<T> result, const std::string& what = {}) {
    if (!result) throw StartupError(what + result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A file that this user may not use as a process must.
struct ForeignFile {
    std::filesystem::path file;
    std::string owner;  ///< the names of users
    std::string self;

    /// For a service: with both users and the command that gives it the directory.
    std::string give(const std::filesystem::path& data) const;
    /// For a command: with both users and how to run it as the owner.
    std::string run_as_owner() const;

private:
    std::string why() const;
};
/// One in a data directory, in a directory in it, or on the way to it. nullopt: there is none.
std::optional<ForeignFile> foreign_file(const std::filesystem::path& data);

/// Makes the directory with mode 0700 if it is not there and locks it for this process as long as
/// the object lives. Throws StartupError: not writable, or in use by another process.
class DataDirectory {
public:
    explicit DataDirectory(const std::filesystem::path& path);

    /// Whether another process holds the directory. Changes nothing.
    static bool in_use(const std::filesystem::path& path);

private:
    core::Descriptor lock_;
};

/// SIGTERM and SIGINT ask for a stop, SIGHUP for rereading certificates. Blocks these signals in
/// the calling thread and in those it starts later: make it first in main.
class Signals {
public:
    Signals();
    /// Waits for a request to stop, calling `reload` at each SIGHUP, which must not block.
    /// Afterwards a second signal ends the process at once.
    void wait(const std::function<void()>& reload) const;
    /// During a start that waits for `what`: returns after `wait`. A signal that requests a stop
    /// ends the start as it ends the process later: throws StartupError with the exit code 0.
    void stop_start_within(std::chrono::milliseconds wait, const std::string& what) const;
    /// Has the effect of SIGTERM. Any thread.
    static void request_stop();
};

/// Rereads files at request, on a thread of its own: a file system that hangs then holds up neither
/// the next signal nor the stop, which StopWatchdog ends.
class Reloads {
public:
    explicit Reloads(std::function<void()> reload);
    /// Waits for a reload that is under way.
    ~Reloads();
    Reloads(const Reloads&) = delete;
    Reloads& operator=(const Reloads&) = delete;

    /// Reloads once more after a reload that is under way, however often it is called meanwhile.
    /// Any thread.
    void request();

private:
    void run(const std::stop_token& stop);

    const std::function<void()> reload_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    bool requested_ = false;
    std::jthread thread_;
};

/// Ends the process with code 1 if the object lives longer than `limit`: a stop that hangs is a
/// defect, and an orchestrator's SIGKILL would hide it.
class StopWatchdog {
public:
    explicit StopWatchdog(std::chrono::seconds limit);

private:
    std::jthread thread_;
};

}  // namespace beckon::app
