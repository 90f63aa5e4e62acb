#pragma once

#include "core/result.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace beckon::app {

/// The command that runs `binary` again, as a person in `directory` types it: its name where the
/// search path `path` (PATH) finds it first, else its path, relative where it is below `directory`.
std::string command_for(const std::filesystem::path& binary, const std::filesystem::path& directory,
                        std::string_view path);
/// The command for this process's binary, in its working directory.
std::string own_command();

// Texts of others stand in what commands print, so all of it passes through core::terminal_text().

/// Prints one line on standard output and flushes it: the next line may take long, and the reader
/// may be a pipe.
void print_line(std::string_view line);
/// Prints one line on standard error.
void print_error(std::string_view line);
/// Prints a text of several lines on standard output. False: not all of it was written.
bool print_text(std::string_view text);

/// The error's text, with the options that mend it where the server's certificate is not trusted.
std::string with_remedy(const core::Error& error);

/// SIGINT and SIGTERM become a call of `on_stop` (on a thread of its own) as long as this lives.
/// A second signal ends the process at once.
class StopSignals {
public:
    explicit StopSignals(std::function<void()> on_stop);
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// The exit status that a shell expects of a process that a signal ended: 128 + its number; 0
    /// without a signal.
    int exit_code() const { return signal_ == 0 ? 0 : 128 + signal_; }

private:
    std::atomic<int> signal_ = 0;
    std::jthread thread_;
};

}  // namespace beckon::app
